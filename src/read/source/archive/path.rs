//! From what follows an archive's path to a member and what is asked of it; a member of exactly that name always wins.

use crate::protocol::Refusal;
use crate::view::Selector;
use crate::view::selector::SelectorError;
use crate::workspace::{Handle, measure};

use super::super::kind;
use super::Asked;
use super::index::{Entry, EntryKind, Index, IndexNode};
use super::names::{MAX_PATH_BYTES, link_destination, normalised};

/// Parts of a path that are tried as its end.
const MAX_SPLITS: usize = 32;

/// Links followed before they are taken for a loop.
const MAX_LINKS: usize = 40;

/// Names that are suggested for a missing one.
const MAX_SUGGESTIONS: usize = 3;

/// What is asked for.
#[derive(Debug)]
pub struct WantedMember<'a> {
    /// Its path within the archive, links not followed.
    pub path: String,
    pub place: MemberPlace<'a>,
    pub selector: Selector,
    /// What follows the path and is no selector, but may lead on within the member.
    pub inner: Option<&'a str>,
}

/// Where a path leads.
#[derive(Debug)]
pub enum MemberPlace<'a> {
    /// Of this member, under its own path.
    Member(&'a Entry, String),
    Directory(String),
    /// A link that leads nowhere: what is wrong with it.
    Dead(String),
}

/// Reads what a link says.
pub type ReadLink<'a> = &'a dyn Fn(&Entry) -> Result<Option<String>, Refusal>;

/// Finds what `inner`, with the character that parts it from the archive, names. Names that are
/// denied are refused before it is known whether they are there.
pub fn find<'a>(
    asked: &Asked<'a>,
    handle: &Handle,
    index: &'a Index,
    inner: &'a str,
    link: ReadLink,
) -> Result<WantedMember<'a>, Refusal> {
    let ends = inner.rmatch_indices([':', '?']).map(|(at, _)| at);
    let ends = std::iter::once(inner.len())
        .chain(ends)
        .filter(|at| *at > 0);
    for end in ends.take(MAX_SPLITS) {
        let (spelled, rest) = (&inner[1..end], &inner[end..]);
        if spelled.len() > MAX_PATH_BYTES {
            continue;
        }
        let Some(path) = normalised(spelled) else {
            continue;
        };
        if path.is_empty() {
            break;
        }
        judge(asked, handle, &path)?;
        let Some(place) = follow(index, &path, link)? else {
            continue;
        };
        let place = match place {
            MemberPlace::Member(..) if spelled.ends_with('/') => match index.is_directory(&path) {
                true => MemberPlace::Directory(path.clone()),
                false => continue,
            },
            place => place,
        };
        if let MemberPlace::Member(_, to) | MemberPlace::Directory(to) = &place
            && *to != path
        {
            judge(asked, handle, to)?;
        }
        let (selector, inner) = tail(asked, &path, rest)?;
        return Ok(WantedMember {
            path,
            place,
            selector,
            inner,
        });
    }
    // Nothing but slashes and dots: the archive itself.
    let first = inner[1..].find(':').map_or(inner.len(), |at| at + 1);
    let (root, rest) = match normalised(&inner[1..first]) {
        Some(path) if path.is_empty() => (true, &inner[first..]),
        _ => (false, inner),
    };
    match rest.strip_prefix(':').map(Selector::parse) {
        _ if rest.is_empty() || rest == ":" => Ok(archive_itself(Selector::default())),
        Some(Ok(selector)) => Ok(archive_itself(selector)),
        Some(Err(SelectorError::Invalid(message))) => Err(bad_selector(asked, message)),
        _ if root => Err(bad_selector(
            asked,
            SelectorError::Unknown(rest.to_owned()).to_string(),
        )),
        _ => Err(missing(asked, handle, index, inner)?),
    }
}

fn archive_itself<'a>(selector: Selector) -> WantedMember<'a> {
    WantedMember {
        path: String::new(),
        place: MemberPlace::Directory(String::new()),
        selector,
        inner: None,
    }
}

/// What follows the path of a member: a selector, or what leads on within it.
fn tail<'a>(
    asked: &Asked,
    path: &str,
    rest: &'a str,
) -> Result<(Selector, Option<&'a str>), Refusal> {
    let parsed = match rest.strip_prefix(':') {
        _ if rest.is_empty() => return Ok((asked.selector.clone(), None)),
        Some("") => return Ok((Selector::default(), None)),
        Some(text) => Selector::parse(text),
        None => Err(SelectorError::Unknown(rest.to_owned())),
    };
    match parsed {
        Ok(selector) => Ok((selector, None)),
        Err(_) if kind::splits(&format!("{path}{rest}")).contains(&path.len()) => {
            Ok((Selector::default(), Some(rest)))
        }
        Err(error) => Err(bad_selector(asked, error.to_string())),
    }
}

fn bad_selector(asked: &Asked, message: String) -> Refusal {
    Refusal::BadSelector {
        path: Some(asked.spelled.to_owned()),
        message,
    }
}

/// Refuses a member whose name is denied, as a file of that name beside the archive would be.
fn judge(asked: &Asked, handle: &Handle, path: &str) -> Result<(), Refusal> {
    let beside = handle.real().as_path().join(path);
    // Nothing is looked up for a name that no rule speaks of.
    if asked.means.scope.permits(&beside, false) {
        return Ok(());
    }
    match asked.means.scope.open(&beside) {
        Err(Refusal::Denied { rule, .. }) => Err(Refusal::Denied {
            path: asked.spelled.to_owned(),
            rule,
        }),
        _ => Ok(()),
    }
}

/// Where a path leads, links followed as far as they stay within the archive; `None` where there
/// is nothing.
pub fn follow<'a>(
    index: &'a Index,
    path: &str,
    link: ReadLink,
) -> Result<Option<MemberPlace<'a>>, Refusal> {
    let mut at = path.to_owned();
    let mut said = String::new();
    for hop in 0..MAX_LINKS {
        let (entry, below) = match index.find(&at) {
            Some(IndexNode::Directory) => return Ok(Some(MemberPlace::Directory(at))),
            Some(IndexNode::Member(entry)) => match entry.kind {
                EntryKind::Symlink | EntryKind::Hardlink => (entry, ""),
                _ => return Ok(Some(MemberPlace::Member(entry, at))),
            },
            None => match link_above(index, &at) {
                Some(above) => above,
                None if hop == 0 => return Ok(None),
                None => {
                    return Ok(Some(MemberPlace::Dead(format!(
                        "{said}, which is not in the archive"
                    ))));
                }
            },
        };
        let Some(target) = link(entry)? else {
            return Ok(Some(MemberPlace::Dead(
                "a link that cannot be read".to_owned(),
            )));
        };
        if hop == 0 {
            said = format!("a link to {}", crate::view::in_header(&target));
        }
        let own = index.path(entry);
        let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
        let leads = match entry.kind {
            EntryKind::Hardlink => normalised(&target),
            _ => link_destination(folder, &target),
        };
        let Some(leads) = leads else {
            return Ok(Some(MemberPlace::Dead(format!(
                "{said}, which is outside the archive"
            ))));
        };
        at = match (leads.as_str(), below) {
            (leads, "") => leads.to_owned(),
            ("", below) => below.to_owned(),
            (leads, below) => format!("{leads}/{below}"),
        };
    }
    Ok(Some(MemberPlace::Dead(format!(
        "{said}, in a loop of links"
    ))))
}

/// The link on the way to `path`, and what of the path comes after it.
fn link_above<'a, 'p>(index: &'a Index, path: &'p str) -> Option<(&'a Entry, &'p str)> {
    path.match_indices('/')
        .find_map(|(slash, _)| match index.find(&path[..slash]) {
            Some(IndexNode::Member(entry)) if entry.kind == EntryKind::Symlink => {
                Some((entry, &path[slash + 1..]))
            }
            _ => None,
        })
}

/// That there is no such member, with the names that may have been meant.
fn missing(asked: &Asked, handle: &Handle, index: &Index, inner: &str) -> Result<Refusal, Refusal> {
    let spelled = inner.strip_prefix(':').unwrap_or(inner);
    let Some(path) = normalised(spelled) else {
        return Ok(Refusal::bad_params(
            "path",
            format!(
                "'{}' climbs out of the archive: a path within it has no '..'.",
                asked.spelled
            ),
        ));
    };
    if index.incomplete {
        return Ok(Refusal::TooLarge {
            path: asked.spelled.to_owned(),
            what: "it is not in the part of the archive that is looked at".to_owned(),
            instead: format!(
                "{}. Extract the archive to read the rest.",
                index.notices.join(". ")
            ),
        });
    }
    // A selector that does not belong to the name would spoil the search.
    let ends = Selector::splits(&path).into_iter().next_back();
    let path = ends.map_or(&*path, |(colon, _)| &path[..colon]);
    let real = handle.real().as_path();
    let permitted = |path: &str| asked.means.scope.permits(&real.join(path), false);
    let found = near(asked, index, path)?;
    let suggestions = found
        .into_iter()
        .filter(|path| permitted(path))
        .take(MAX_SUGGESTIONS);
    let display = asked.means.display;
    Ok(Refusal::NotFound {
        path: asked.spelled.to_owned(),
        suggestions: suggestions
            .map(|path| format!("{display}:{path}"))
            .collect(),
    })
}

/// Paths that may have been meant, best first: those that end in the one asked for, then those
/// with a near name in the deepest folder on its way that is there.
fn near(asked: &Asked, index: &Index, path: &str) -> Result<Vec<String>, Refusal> {
    let ending = format!("/{path}");
    let mut found = Vec::new();
    if path.len() > MAX_PATH_BYTES {
        return Ok(found);
    }
    for (count, entry) in index.entries().iter().enumerate() {
        if count % 65536 == 0 {
            asked.means.work.check()?;
        }
        let member = index.path(entry);
        if member.ends_with(&ending) && found.len() < 2 * MAX_SUGGESTIONS {
            found.push(member.to_owned());
        }
    }
    let mut folder = path;
    let mut name;
    loop {
        (folder, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        if index.is_directory(folder) {
            break;
        }
    }
    let mut near = Vec::new();
    for (count, child) in index
        .children(folder, asked.means.work)?
        .into_iter()
        .enumerate()
    {
        if count % 4096 == 0 {
            asked.means.work.check()?;
        }
        if let Some((distance, prefix)) = measure(name, child.name) {
            near.push((distance, std::cmp::Reverse(prefix), child.name));
        }
    }
    near.sort_unstable();
    for (_, _, name) in near.into_iter().take(4 * MAX_SUGGESTIONS) {
        let path = match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        if !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(found)
}
