//! The network to observations; never decides health.
