//! Drains.
