//! The verbs, one file each.

pub mod node;
pub mod operator;
