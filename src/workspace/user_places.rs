//! Where programs keep what their user gives them (rules, skills, memories): below the home directory, or where a program's own variable says.

use std::path::{Path, PathBuf};

use super::access::home;

/// Folders below the home directory that a variable may name instead.
const MOVED: &[(&str, &str)] = &[
    (".claude", "CLAUDE_CONFIG_DIR"),
    (".codex", "CODEX_HOME"),
    (".config", "XDG_CONFIG_HOME"),
];

/// A place of the user's, which need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPlace {
    /// Absolute.
    pub path: PathBuf,
    /// How messages name it: `~/.claude/skills`, `$CODEX_HOME/skills`.
    pub written: String,
}

/// The place of what is called so below the home directory; `None` where nobody has a home.
pub fn user_place(below_home: &str) -> Option<UserPlace> {
    let moved = MOVED.iter().find_map(|(folder, variable)| {
        let rest = below_home.strip_prefix(folder)?;
        let rest = rest.strip_prefix('/').or(rest.is_empty().then_some(""))?;
        let named = std::env::var_os(variable).map(PathBuf::from)?;
        named.is_absolute().then(|| UserPlace {
            path: named.join(rest),
            written: format!("${variable}/{rest}"),
        })
    });
    moved.or_else(|| {
        Some(UserPlace {
            path: home()?.join(below_home),
            written: format!("~/{below_home}"),
        })
    })
}

/// A path of the settings: absolute, or below the home directory (`~/notes`).
pub fn path_of_settings(written: &str) -> Option<PathBuf> {
    let path = match written.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            home()?.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(written),
    };
    path.is_absolute().then_some(path)
}

/// Whether a folder is the home directory or above it.
pub(super) fn holds_home(folder: &Path) -> bool {
    let Some(home) = home() else {
        return false;
    };
    home.starts_with(folder)
        || home
            .canonicalize()
            .is_ok_and(|home| home.starts_with(folder))
}
