//! The model under a moved clock.
