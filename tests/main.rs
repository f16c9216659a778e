//! Protocol tests over a real process, one module per method or kind; nothing here looks inside the daemon.

mod access;
#[cfg(unix)]
mod access_documents;
#[cfg(target_os = "linux")]
mod alias_file_system;
mod archives;
mod chance;
mod client;
mod command_line;
#[cfg(unix)]
mod conflicts;
#[cfg(unix)]
mod databases;
#[cfg(unix)]
mod databases_asked;
#[cfg(unix)]
mod databases_beside;
#[cfg(unix)]
mod databases_hostile;
#[cfg(unix)]
mod dialects;
#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod directory_order;
#[cfg(unix)]
mod documents;
#[cfg(target_os = "linux")]
mod documents_hostile;
#[cfg(unix)]
mod edit_laws;
mod editor;
mod editor_writes;
mod encodings;
#[cfg(unix)]
mod file_ops;
mod frames;
mod fresh;
#[cfg(target_os = "linux")]
mod fuse;
mod github;
mod hostile;
mod huge;
mod images;
mod images_large;
mod intake;
mod internal;
#[cfg(unix)]
mod lifecycle;
#[cfg(target_os = "linux")]
mod long_paths;
mod many_documents;
#[cfg(target_os = "linux")]
mod mcp;
mod memory;
#[cfg(target_os = "linux")]
mod missing_names;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(unix)]
mod names;
mod notebook_cells;
mod notebook_edits;
mod notebook_laws;
mod notebooks;
mod notices;
mod odd_files;
mod order;
mod outlines_fit;
mod overlays;
mod paging;
mod places;
mod processes;
#[cfg(target_os = "linux")]
mod query_workers;
mod read_forms;
mod read_many;
mod readme;
mod resolve;
#[cfg(unix)]
mod scenarios;
#[cfg(target_os = "linux")]
mod search;
mod selectors;
mod settings;
mod summaries;
mod syntax_hostile;
mod syntax_workers;
mod tidy;
mod tools;
#[cfg(target_os = "linux")]
mod torn;
mod tree;
#[cfg(target_os = "linux")]
mod truth;
#[cfg(target_os = "linux")]
mod unlisted_names;
#[cfg(unix)]
mod watches;
#[cfg(unix)]
mod web;
mod workers;
