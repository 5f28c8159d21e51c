//! Sockets to pure functions.
