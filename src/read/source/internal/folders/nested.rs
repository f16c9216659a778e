//! Rules that lie in folders on the way to a path (`packages/api/AGENTS.md`): found by looking into those folders alone, never by a walk through the tree.

use std::path::{Component, Path, PathBuf};

use crate::protocol::Refusal;
use crate::task::Work;
use crate::workspace::Scope;

use super::named::NamedThing;
use super::places::{Giver, LookupPlace, NESTED_RULES};
use super::rule::Rule;
use super::search::{Entered, Search};

/// Folders on the way that are looked into, the nearest.
const MAX_FOLDERS: usize = 64;

/// A path that rules are asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct RuledPath {
    /// In which workspace folder.
    pub root: usize,
    /// Relative to that, without `.` and `..`.
    pub path: String,
}

impl RuledPath {
    /// What a path string names, there or not.
    ///
    /// # Errors
    ///
    /// `badParams` for what is in no workspace folder.
    pub fn of(asked: &str, scope: &Scope) -> Result<RuledPath, Refusal> {
        let outside = || {
            let shown = super::super::one_line(asked);
            let message = format!(
                "'{shown}' is in no workspace folder; ?for= takes the path of a file or folder in one."
            );
            Refusal::bad_params("path", message)
        };
        if asked.is_empty() || asked.contains('\0') {
            return Err(outside());
        }
        let path = Path::new(asked);
        if path.is_absolute() {
            let plain = plain(path).ok_or_else(outside)?;
            let mut roots = scope.roots().iter().enumerate();
            let found = roots.find_map(|(index, root)| {
                let below = plain.strip_prefix(root.spelled()).ok()?;
                Some((index, below.to_owned()))
            });
            let (root, below) = found.ok_or_else(outside)?;
            return RuledPath::below(root, &below).ok_or_else(outside);
        }
        let below = plain(path).ok_or_else(outside)?;
        let strict = scope.of_roots_alone();
        let mut roots = scope.roots().iter();
        let there = roots.position(|root| strict.open(&root.spelled().join(&below)).is_ok());
        let named = || {
            let mut roots = scope.roots().iter().enumerate().skip(1);
            roots.find_map(|(index, root)| {
                let rest = below.strip_prefix(root.name()).ok()?;
                RuledPath::below(index, rest)
            })
        };
        if scope.roots().is_empty() {
            return Err(outside());
        }
        match there {
            Some(root) => RuledPath::below(root, &below).ok_or_else(outside),
            None => named()
                .or_else(|| RuledPath::below(0, &below))
                .ok_or_else(outside),
        }
    }

    fn below(root: usize, path: &Path) -> Option<RuledPath> {
        let path = path.to_str()?.to_owned();
        Some(RuledPath { root, path })
    }
}

/// By its text alone; `None` for what climbs out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !plain.pop() => return None,
            Component::ParentDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// The rules in the folders between the workspace folder and a path, the outermost first.
pub fn on_the_way(
    target: &RuledPath,
    scope: &Scope,
    work: &Work,
) -> Result<Vec<NamedThing<Rule>>, Refusal> {
    if !scope.settings().internal.workspace {
        return Ok(Vec::new());
    }
    let path = Path::new(&target.path);
    let folders = path.ancestors().filter(|at| !at.as_os_str().is_empty());
    let mut folders: Vec<&Path> = folders.take(MAX_FOLDERS).collect();
    folders.reverse();
    let mut search = Search::new(scope, work);
    let mut rules = Vec::new();
    for folder in folders {
        for file in NESTED_RULES {
            let found = at(&mut search, scope, target.root, &folder.join(file))?;
            rules.extend(found);
        }
    }
    Ok(rules)
}

/// The rule that has the path of a nested one as its name.
pub fn named(name: &str, scope: &Scope, work: &Work) -> Result<Option<NamedThing<Rule>>, Refusal> {
    let (giver, name) = Giver::parted(name);
    let is_workspaces = matches!(giver, None | Some(Giver::Workspace));
    let path = Path::new(name);
    let file = path.file_name().and_then(|name| name.to_str());
    let is_nested = file.is_some_and(|file| NESTED_RULES.contains(&file)) && path.is_relative();
    if !is_workspaces || !is_nested || !scope.settings().internal.workspace {
        return Ok(None);
    }
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || name.contains(['\\', '\0']) {
        let message =
            "A rule is named by its path in a workspace folder, without '..', '\\' and NUL.";
        return Err(Refusal::bad_params("path", message));
    }
    let mut search = Search::new(scope, work);
    for (index, root) in scope.roots().iter().enumerate() {
        // That of another folder than the first is named with the folder's name before it.
        let below = match index {
            0 => Some(path),
            _ => path.strip_prefix(root.name()).ok(),
        };
        if let Some(below) = below
            && let Some(rule) = at(&mut search, scope, index, below)?
        {
            return Ok(Some(rule));
        }
    }
    Ok(None)
}

fn at(
    search: &mut Search,
    scope: &Scope,
    index: usize,
    below: &Path,
) -> Result<Option<NamedThing<Rule>>, Refusal> {
    let Some(root) = scope.roots().iter().nth(index) else {
        return Ok(None);
    };
    let path = root.spelled().join(below);
    let written = scope.display_of(&path);
    let place = LookupPlace {
        giver: Giver::Workspace,
        path,
        written: written.clone(),
        root: Some(index),
        name: None,
        writable: false,
    };
    let found = search.enter(&place)?.filter(|it: &Entered| !it.is_folder());
    Ok(found.and_then(|file| {
        let rule = NamedThing::<Rule>::of(search, &file, written)?;
        Some(rule.nested())
    }))
}
