//! EDNS (RFC 6891) and its options.
