//! The verbs, one file each.

pub mod check;
pub mod node;
pub mod operator;
pub mod serve;
