//! The geo file: MaxMind DB bytes to networks, read once at load.

/// STUB
pub struct Database;
#[derive(Debug)]
pub struct MmdbError;
impl std::fmt::Display for MmdbError { fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) } }
impl Database { pub fn parse(bytes: Vec<u8>, wall_s: i64) -> Result<Self, MmdbError> { let _ = (bytes, wall_s); Err(MmdbError) } }
