//! The geo file: MaxMind DB bytes to networks, read once at load.
