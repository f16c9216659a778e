//! Where the daemon keeps its own files; nothing of the user's is ever looked for there.

use std::path::PathBuf;

use super::access::home;

/// Where files lie that live no longer than the process: below the directory of its state, else, where
/// nobody has a home, below that of temporary files.
pub fn spool_directory() -> PathBuf {
    let state = state_directory().unwrap_or_else(|| std::env::temp_dir().join("pilcrow"));
    state.join("fetched")
}

/// Where what sessions have of their own lies, in a directory of each process: below the directory of
/// its state, else one of this user's among the temporary files.
pub fn sessions_directory() -> PathBuf {
    match state_directory() {
        Some(state) => state.join("sessions"),
        None => {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("pilcrow-sessions-{user}"))
        }
    }
}

/// A directory as a setting names it: absolute, or below `~`.
pub fn user_directory(named: &str) -> Option<PathBuf> {
    let path = match named.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            home()?.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(named),
    };
    path.is_absolute().then_some(path)
}

/// `$XDG_CACHE_HOME/pilcrow`, else the platform's place below the home directory: what may be lost.
pub fn cache_directory() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    if let Some(cache) = named.filter(|cache| cache.is_absolute()) {
        return Some(cache.join("pilcrow"));
    }
    let below = match cfg!(target_os = "macos") {
        true => "Library/Caches/pilcrow",
        false => ".cache/pilcrow",
    };
    Some(home()?.join(below))
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
