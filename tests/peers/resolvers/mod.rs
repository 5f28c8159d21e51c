//! Resolvers in front of Waypost: what their clients see is what Waypost says.

mod delegation;
mod drains;
mod internet;
mod port_53;
mod programs;
mod subnets;
