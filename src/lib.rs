//! Pilcrow, a per-workspace daemon that reads and edits files for coding agents: the map of its rooms; nothing here does anything.
//!
//! A room may name only rooms that come before it; `tests/tidy.rs` holds the exact rule.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

/// Pictures as bytes, decoded and made to fit. Never opens a file.
pub mod picture;
/// Wire types and the one mapping from refusals to codes. Never any behaviour.
pub mod protocol;
/// Cancel tokens, deadlines, threads and pools of blocking work. Never waits without a limit.
pub mod task;

/// Issues and pull requests: repositories, logins, requests, what is kept. Never decides what is shown.
#[allow(
    clippy::disallowed_methods,
    reason = "it keeps a database of its own, and logins are in the environment"
)]
pub mod github;
/// Resources of MCP servers that the settings name. Never knows how they are shown.
#[allow(
    clippy::disallowed_methods,
    reason = "it starts servers in an environment of their own"
)]
pub mod mcp_client;
/// Who may be asked over the network, and the client that asks. Never knows what a body is for.
#[allow(
    clippy::disallowed_methods,
    reason = "it keeps bodies in files of its own"
)]
pub mod net;
/// Framing and transport of JSON-RPC. Never knows a method.
pub mod rpc;
/// Encodings, line ends, the rope behind our own type. Never does I/O.
pub mod text;

/// Confined child processes for parsers of other people's files.
#[allow(clippy::disallowed_methods, reason = "it confines processes")]
pub mod worker;

/// Languages as data, grammars, parsing with a deadline. Never decides what is shown.
pub mod syntax;

/// Documents to Markdown in workers. Never parses one in the process that serves.
pub mod convert;

/// Tags, patches, line maps, splices. Never identifies a text by its tag.
pub mod hashline;
/// Notebooks as editable text, and edits of it as splices of the JSON. Never touches another byte.
pub mod notebook;
/// Source files with their long parts folded. Never drops a line unnamed.
pub mod outline;
/// Which lines of a text a pattern matches. Never opens a file.
pub mod search;

/// What syntax trees tell, in workers. Never parses a text in the process that serves.
pub mod structure;

/// What is asked, what of it is shown, how it is written. Never touches a file.
pub mod view;

/// SQLite databases, asked in workers. Never opens one in the process that serves.
pub mod sqlite;

/// Roots, path resolution and access. Nothing else opens a path of the user's.
#[allow(clippy::disallowed_methods, reason = "it judges paths")]
pub mod workspace;

/// Warm text, validated by a look at its file in every request. Never served on a watcher's word.
pub mod buffer;

/// Versions and what was shown to whom. Never gives one tag to two texts.
pub mod session;

/// The pipeline of a read and its sources. Nothing later goes back to an earlier stage.
pub mod read;

/// Edits: planned, then committed by the one writer of each file. Never half of a plan.
pub mod edit;

/// The LSP face, one file per method. Never decides order after the first await.
pub mod server;

/// The Model Context Protocol: the engine for agents that are no editors. Never a second engine.
pub mod mcp;

/// One-shot commands over the same engine. Never prints.
#[allow(clippy::disallowed_methods, reason = "it starts the process")]
pub mod cli;

/// What the fuzz targets run. In no build but theirs and that of the unit tests.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;

/// The numbers of the tests over the wire, for those in here.
#[cfg(test)]
#[path = "../tests/chance.rs"]
mod chance;
