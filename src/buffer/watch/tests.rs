//! The table alone.
