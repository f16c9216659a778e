//! The tables of folders in which skills, rules and memories are looked for, and what they come to for these roots and settings; nothing is looked at here.

use std::path::PathBuf;

use crate::protocol::Settings;
use crate::protocol::settings::RootScheme;
use crate::workspace::{Scope, path_of_settings, user_place};

/// Who gives something, in the order in which names are looked for: the workspace, which is not to be
/// trusted, replaces nothing of the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Giver {
    Settings,
    User,
    Workspace,
}

impl Giver {
    const ALL: [Giver; 3] = [Giver::Settings, Giver::User, Giver::Workspace];

    /// `details.provider`, and what stands before a name: `user:review`.
    pub fn name(self) -> &'static str {
        match self {
            Giver::Settings => "settings",
            Giver::User => "user",
            Giver::Workspace => "workspace",
        }
    }

    /// Who a name asks for, and the name itself.
    pub fn parted(name: &str) -> (Option<Giver>, &str) {
        let before = |giver: Giver| {
            let rest = name.strip_prefix(giver.name())?.strip_prefix(':')?;
            Some((Some(giver), rest))
        };
        Giver::ALL
            .into_iter()
            .find_map(before)
            .unwrap_or((None, name))
    }

    /// `false` where strangers may have written it.
    pub fn trusted(self) -> Option<bool> {
        (self == Giver::Workspace).then_some(false)
    }
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Skill,
    Rule,
    Memory,
}

/// A folder, or a file, in which something may be.
#[derive(Debug, Clone)]
pub struct LookupPlace {
    pub giver: Giver,
    /// Absolute.
    pub path: PathBuf,
    /// How messages name it.
    pub written: String,
    /// Of which workspace folder it is, or is for.
    pub root: Option<usize>,
    /// What the settings or the table call it.
    pub name: Option<String>,
    pub writable: bool,
}

/// Where something may be looked for, and which entries of the settings are none.
#[derive(Debug, Default)]
pub struct Places {
    pub places: Vec<LookupPlace>,
    pub problems: Vec<String>,
}

const USER_SKILLS: &[&str] = &[
    ".agents/skills",
    ".config/agents/skills",
    ".claude/skills",
    ".copilot/skills",
    ".cursor/skills",
    ".codex/skills",
    ".gemini/skills",
    ".config/opencode/skills",
];

const WORKSPACE_SKILLS: &[&str] = &[
    ".agents/skills",
    ".claude/skills",
    ".github/skills",
    ".cursor/skills",
    ".codex/skills",
    ".gemini/skills",
    ".opencode/skills",
    ".roo/skills",
    ".kiro/skills",
];

const USER_RULES: &[&str] = &[
    ".agents/AGENTS.md",
    ".claude/CLAUDE.md",
    ".codex/AGENTS.md",
    ".gemini/GEMINI.md",
    ".config/opencode/AGENTS.md",
    ".agents/rules",
    ".claude/rules",
    ".cursor/rules",
];

/// `.clinerules` is a file or a folder.
const WORKSPACE_RULES: &[&str] = &[
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    ".agents/rules",
    ".claude/rules",
    ".cursor/rules",
    ".windsurf/rules",
    ".roo/rules",
    ".kiro/steering",
    ".github/instructions",
];

/// Rules that hold from the folder down in which they lie, whichever that is.
pub const NESTED_RULES: &[&str] = &[
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
];

const WORKSPACE_MEMORIES: &[(&str, &str)] =
    &[(".serena/memories", "serena"), ("memory-bank", "bank")];

/// Where to look for something, in the order in which names are found.
pub fn places(sort: Sort, scope: &Scope, settings: &Settings) -> Places {
    let mut found = Places::default();
    of_settings(sort, settings, &mut found);
    if settings.internal.user {
        of_user(sort, scope, &mut found);
    }
    if settings.internal.workspace {
        of_workspace(sort, scope, &mut found);
    }
    found
}

fn of_settings(sort: Sort, settings: &Settings, found: &mut Places) {
    let scheme = match sort {
        Sort::Skill => RootScheme::Skill,
        Sort::Rule => RootScheme::Rule,
        Sort::Memory => RootScheme::Memory,
    };
    for root in settings
        .internal
        .roots
        .iter()
        .filter(|it| it.scheme == scheme)
    {
        if sort == Sort::Memory && !is_plain_name(&root.name) {
            found.problems.push(format!(
                "internal.roots, {}: a memory needs a name of 1 to 64 letters, digits, '.', '_', '-'",
                root.path
            ));
            continue;
        }
        if sort != Sort::Memory && root.writable {
            found.problems.push(format!(
                "internal.roots, {}: only memories can be changed by their addresses",
                root.path
            ));
        }
        match path_of_settings(&root.path) {
            Some(path) => found.places.push(LookupPlace {
                giver: Giver::Settings,
                path,
                written: root.path.clone(),
                root: None,
                name: Some(root.name.clone()),
                writable: root.writable && sort == Sort::Memory,
            }),
            None => found.problems.push(format!(
                "internal.roots, {}: neither absolute nor below ~/",
                root.path
            )),
        }
    }
}

fn of_user(sort: Sort, scope: &Scope, found: &mut Places) {
    let mut add = |below_home: &str, root: Option<usize>, name: Option<String>| {
        if let Some(place) = user_place(below_home) {
            found.places.push(LookupPlace {
                giver: Giver::User,
                path: place.path,
                written: place.written,
                root,
                name,
                writable: false,
            });
        }
    };
    match sort {
        Sort::Skill => USER_SKILLS.iter().for_each(|it| add(it, None, None)),
        Sort::Rule => USER_RULES.iter().for_each(|it| add(it, None, None)),
        Sort::Memory => {
            for (index, root) in scope.roots().iter().enumerate() {
                let project = root.spelled().to_string_lossy();
                let as_dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
                let project: String = project.chars().map(as_dash).collect();
                let name = name_for("claude", root.name(), index);
                let folder = format!(".claude/projects/{project}/memory");
                add(&folder, Some(index), Some(name));
            }
        }
    }
}

fn of_workspace(sort: Sort, scope: &Scope, found: &mut Places) {
    for (index, root) in scope.roots().iter().enumerate() {
        let mut add = |below: &str, name: Option<String>| {
            let path = root.spelled().join(below);
            found.places.push(LookupPlace {
                giver: Giver::Workspace,
                written: scope.display_of(&path),
                path,
                root: Some(index),
                name,
                writable: false,
            });
        };
        match sort {
            Sort::Skill => WORKSPACE_SKILLS.iter().for_each(|it| add(it, None)),
            Sort::Rule => WORKSPACE_RULES.iter().for_each(|it| add(it, None)),
            Sort::Memory => {
                for (below, name) in WORKSPACE_MEMORIES {
                    add(below, Some(name_for(name, root.name(), index)));
                }
            }
        }
    }
}

/// What a memory of a workspace folder is called: of the first one plainly.
fn name_for(plain: &str, root: &str, index: usize) -> String {
    let as_dash = |c: char| if is_plain(c) { c } else { '-' };
    match index {
        0 => plain.to_owned(),
        _ => format!("{plain}-{}", root.chars().map(as_dash).collect::<String>()),
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Whether a skill or a memory may be called so. A colon in front of a name comes from us alone.
pub fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(is_plain) && !matches!(name, "." | "..")
}
