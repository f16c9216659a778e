//! Pilcrow: a per-workspace daemon that reads and edits files for coding agents; nothing in this file but the map.

pub mod hashline;
pub mod protocol;
pub mod rpc;
pub mod task;
pub mod text;
pub mod workspace;
