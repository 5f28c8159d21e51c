//! Subnets.
