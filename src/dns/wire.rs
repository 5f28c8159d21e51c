//! The message: parsed where it lies, written into the caller's buffer.
