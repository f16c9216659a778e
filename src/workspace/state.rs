//! Where the daemon keeps its own files; nothing of the user's is ever looked for there.

use std::path::PathBuf;

use super::access::home;

/// Where files lie that live no longer than the process: below the directory of its state, else, where
/// nobody has a home, below that of temporary files.
pub fn spool_directory() -> PathBuf {
    let state = state_directory().unwrap_or_else(|| std::env::temp_dir().join("pilcrow"));
    state.join("fetched")
}

/// `$XDG_STATE_HOME/pilcrow`, else the platform's place below the home directory. `None` where
/// neither variable is set to an absolute path.
pub fn state_directory() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    if let Some(state) = named.filter(|state| state.is_absolute()) {
        return Some(state.join("pilcrow"));
    }
    let below = match cfg!(target_os = "macos") {
        true => "Library/Application Support/pilcrow",
        false => ".local/state/pilcrow",
    };
    Some(home()?.join(below))
}
