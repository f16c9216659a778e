//! Searching: what files hold, as a read would show it, gone through for a pattern; each row that is shown counts as read.
//!
//! A tree is looked through by several threads ([`tree`]), file by file ([`look`]); what they find is
//! opened as by a read and written down in the order of path ([`answer`], [`rows`]).

mod answer;
mod ask;
mod look;
mod new_files;
mod rows;
mod tree;

use std::path::Path;
use std::time::Duration;

use ignore::overrides::{Override, OverrideBuilder};

use crate::buffer::Overlays;
use crate::hashline::Tag;
use crate::protocol::Refusal;
use crate::protocol::read::ResourceKind;
use crate::protocol::search::{LeftOut, SearchResult};
use crate::search::{Finder, Pattern};
use crate::session::Notice;
use crate::task::{LONG_FROM_BYTES, Stopped, Work};
use crate::view::Style;
use crate::workspace::{FileType, Handle, RealPath, Scope};

use self::answer::{Answer, FoundIn, Unfinished};
use self::look::{SearchContext, find, text_shown};
use self::new_files::NewFiles;
use self::tree::{Resume, Top, Trees, names_below};
use super::ask::Ask;
use super::obtained::StageResult;
use super::places::go_on_mount;
use super::plan::locate_any;
use super::reader::Reader;
use super::target::TargetKind;

pub use ask::SearchAsk;

/// What a search may take; then it answers with what it has, and how to go on.
const LIMIT: Duration = Duration::from_secs(5);

/// Where a search goes on.
struct ResumedAt {
    real: RealPath,
    line: Option<(u64, Option<Tag>)>,
}

impl Reader {
    /// Searches. Blocking. Also tells which sessions must hear that what they were shown has changed.
    pub fn search(
        &self,
        ask: &SearchAsk,
        scope: &Scope,
        overlays: &Overlays,
        work: &Work,
    ) -> Result<(SearchResult, Vec<Notice>), Refusal> {
        let pattern = Pattern::new(&ask.pattern, ask.matching)?;
        let context = SearchContext {
            reader: self,
            scope,
            overlays,
            pattern: &pattern,
            counts: ask.counts,
            // One more tells that there are more.
            most: ask.budget.lines + 1,
            work,
        };
        let read = ask.read();
        let mut understood = Vec::new();
        let folders = match &ask.path {
            None => roots(scope)?,
            Some(_) => {
                go_on_mount(&read, scope, &|_| ())?;
                let read_context = self.context(&read, (scope, overlays), None, work);
                let located = locate_any(&read, &read_context)?;
                match located.target_kind {
                    TargetKind::OnDisk(found)
                        if found.handle.file_type() == FileType::Directory =>
                    {
                        understood = located.understood;
                        vec![found.handle]
                    }
                    _ => return self.search_one(ask, &read, context),
                }
            }
        };
        work.takes_long()?;
        let limited = work.within(LIMIT);
        let context = SearchContext {
            work: &limited,
            ..context
        };
        self.search_trees(ask, folders, understood, context, work)
    }

    /// Searches one thing that is no folder.
    fn search_one(
        &self,
        ask: &SearchAsk,
        read: &Ask,
        context: SearchContext,
    ) -> Result<(SearchResult, Vec<Notice>), Refusal> {
        let SearchContext {
            scope,
            overlays,
            work,
            ..
        } = context;
        let prepared = match self.prepare(read, None, scope, overlays, work, &|_| ())? {
            StageResult::Ready(prepared) => prepared,
            StageResult::Lacks(_) => return Err(not_searched(read.path(), "not on this machine")),
        };
        let opened = &prepared.opened;
        let document = &opened.document;
        let Some(text) = text_shown(opened) else {
            return Err(match document.kind {
                ResourceKind::File if document.style == Style::Lines => Refusal::TooLarge {
                    path: read.path().to_owned(),
                    what: "files up to 32 MiB are searched".to_owned(),
                    instead: "Use a tool that streams, such as grep.".to_owned(),
                },
                kind => not_searched(read.path(), kind.with_article()),
            });
        };
        if text.len_bytes() as u64 > LONG_FROM_BYTES {
            work.takes_long()?;
        }
        let resumed = match &prepared.located.target_kind {
            TargetKind::OnDisk(found) => {
                let resumed = resumed_at(ask, scope)?;
                let other = resumed
                    .as_ref()
                    .filter(|it| it.real != *found.handle.real());
                if let Some(other) = other {
                    return Err(not_in_it(&scope.display(&other.real)));
                }
                resumed.map(|resumed| resumed.line)
            }
            TargetKind::InEditor(..) | TargetKind::Internal(_) | TargetKind::Web(_) => {
                ask.after.as_ref().map(|after| after.line)
            }
        };
        let after = resumed.map_or(0, |line| line.map_or(u64::MAX, |(line, _)| line));
        let found = find(&mut Finder::new(context.pattern), text, context, after)?;
        let mut understood = prepared.located.understood.clone();
        understood.extend(document.notices.iter().cloned());
        let mut answer = Answer::new(self, ask, context.pattern, understood);
        if found.count > 0 || !found.spans.is_empty() {
            answer.add(FoundIn {
                name: prepared.name().to_owned(),
                resolved_path: document.location.resolved_path.clone(),
                found: &found,
                opened: (!ask.counts).then_some(opened),
                after,
                had: resumed.flatten().and_then(|(_, tag)| tag),
            });
        }
        Ok(answer.finish((1, LeftOut::default()), None))
    }

    /// Searches folders with all that is below them.
    fn search_trees(
        &self,
        ask: &SearchAsk,
        folders: Vec<Handle>,
        understood: Vec<String>,
        context: SearchContext,
        work: &Work,
    ) -> Result<(SearchResult, Vec<Notice>), Refusal> {
        let scope = context.scope;
        let resumed = resumed_at(ask, scope)?;
        let trees = Trees {
            context,
            new_files: NewFiles::of(context.overlays),
            most: ask.budget.lines,
        };
        let tops = tops(ask, folders, resumed.as_ref(), scope)?;
        let harvest = trees.search(tops);
        if let Some(stopped) = harvest.stopped
            && stopped != Stopped::TimedOut
        {
            return Err(stopped.into());
        }
        work.check()?;
        let mut answer = Answer::new(self, ask, context.pattern, understood);
        for hit in &harvest.hits {
            work.check()?;
            if answer.is_full() {
                break;
            }
            let resumed = resumed.as_ref().filter(|it| it.real == hit.real);
            let line = resumed.and_then(|it| it.line);
            answer.add(FoundIn {
                name: scope.display(&hit.real),
                resolved_path: Some(hit.real.as_path().display().to_string()),
                found: &hit.found,
                opened: hit.opened.as_ref(),
                after: line.map_or(0, |(line, _)| line),
                had: line.and_then(|(_, tag)| tag),
            });
        }
        let last = harvest.last.as_deref().map(|last| scope.display_of(last));
        let unfinished = (!harvest.is_complete).then_some(Unfinished {
            last,
            out_of_time: harvest.stopped.is_some(),
        });
        Ok(answer.finish((harvest.searched, harvest.left_out), unfinished))
    }
}

/// The workspace folders that can be opened.
fn roots(scope: &Scope) -> Result<Vec<Handle>, Refusal> {
    let mut folders = Vec::new();
    let mut refused = None;
    for root in scope.roots().iter() {
        match scope.open(root.spelled()) {
            Ok(handle) if handle.file_type() == FileType::Directory => folders.push(handle),
            Ok(_) => {}
            Err(refusal) => refused = Some(refusal),
        }
    }
    match (folders.is_empty(), refused) {
        (false, _) => Ok(folders),
        (true, Some(refusal)) => Err(refusal),
        (true, None) => Err(Refusal::NotFound {
            path: ".".to_owned(),
            suggestions: Vec::new(),
        }),
    }
}

/// The folders, each with where the search goes on in it; those before that are left out.
fn tops<'a>(
    ask: &SearchAsk,
    folders: Vec<Handle>,
    resumed: Option<&ResumedAt>,
    scope: &'a Scope,
) -> Result<Vec<Top<'a>>, Refusal> {
    let below = |handle: &Handle| {
        let resumed = resumed?;
        let names = names_below(handle.real(), &resumed.real)?;
        let line = resumed.line.filter(|_| !ask.counts);
        let line = line.map(|(line, _)| line);
        Some(Resume { names, line })
    };
    let first = folders.iter().position(|handle| below(handle).is_some());
    if let (Some(resumed), None) = (resumed, first) {
        return Err(not_in_it(&scope.display(&resumed.real)));
    }
    let folders = folders.into_iter().skip(first.unwrap_or(0));
    let mut tops = Vec::new();
    for (at, handle) in folders.enumerate() {
        let folder = scope.tree(&handle);
        tops.push(Top {
            folder: folder.map_err(|error| Refusal::io(scope.display(handle.real()), &error))?,
            globs: globs(ask, handle.real(), scope)?,
            resume: below(&handle).filter(|_| at == 0),
        });
    }
    Ok(tops)
}

/// The globs, which are of paths below the workspace folder that is searched, or searched in. One with a
/// slash may also begin in the folder that is searched.
fn globs(ask: &SearchAsk, folder: &RealPath, scope: &Scope) -> Result<Option<Override>, Refusal> {
    if ask.globs.is_empty() {
        return Ok(None);
    }
    let bad = |error: ignore::Error| {
        Refusal::bad_params("glob", format!("'glob' cannot be meant: {error}."))
    };
    let root = scope.folder_over(folder);
    let root = root.as_deref().unwrap_or(folder.as_path());
    let searched = folder.as_path().strip_prefix(root).ok();
    let searched = searched.and_then(Path::to_str).filter(|it| !it.is_empty());
    let mut builder = OverrideBuilder::new(root);
    for glob in &ask.globs {
        let glob = glob.trim_start_matches("./");
        builder.add(glob).map_err(bad)?;
        let (not, path) = match glob.strip_prefix('!') {
            Some(path) => ("!", path),
            None => ("", glob),
        };
        if let Some(searched) = searched
            && path.trim_end_matches('/').contains('/')
        {
            let path = path.trim_start_matches('/');
            // A backslash is no special character to `escape`, and escapes in a glob.
            let searched = globset::escape(searched).replace('\\', "\\\\");
            let below = format!("{not}/{searched}/{path}");
            builder.add(&below).map_err(bad)?;
        }
    }
    builder.build().map(Some).map_err(bad)
}

/// Where the search goes on, as a file that is there or was.
fn resumed_at(ask: &SearchAsk, scope: &Scope) -> Result<Option<ResumedAt>, Refusal> {
    let Some(after) = &ask.after else {
        return Ok(None);
    };
    if super::scheme::looks_like_address(&after.path) {
        return Ok(None);
    }
    Ok(Some(ResumedAt {
        real: scope.destination(&after.path)?,
        line: after.line,
    }))
}

fn not_in_it(name: &str) -> Refusal {
    Refusal::bad_params(
        "after",
        format!(
            "'after' names {name}, which is not in what is searched. Copy it from the last line of an answer to this very search."
        ),
    )
}

fn not_searched(path: &str, what: &str) -> Refusal {
    Refusal::Unsupported {
        path: Some(path.to_owned()),
        message: format!(
            "'{path}' is {what}; what is searched is the text of files, notebooks and artifacts. Read it instead."
        ),
    }
}
