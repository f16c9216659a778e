//! What each session is still to be told: lines that it was shown and that others changed since, and
//! edits that were made although they were called off. It stands at the end of the next answer.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::protocol::edit::EditResult;
use crate::protocol::read::LineSpan;
use crate::session::{Actor, Notice};

/// Sessions, and files of each, of which something is kept to be told.
const MAX_SESSIONS: usize = 256;
const MAX_FILES: usize = 256;

/// Changed files that an answer names, the others are counted; and characters of a path in that.
const NAMED: usize = 3;
const PATH_CHARS: usize = 80;

/// Characters of all that is told with one answer, at most.
pub const MOST_CHARS: u64 = 700;

/// Clones of the process's one are shared.
#[derive(Debug, Default)]
pub struct Tidings {
    sessions: Mutex<HashMap<String, Untold>>,
}

#[derive(Debug, Default)]
struct Untold {
    /// In the order of the first change of each.
    changes: Vec<Notice>,
    /// Changed more than once: which lines, only a read tells.
    again: Vec<String>,
    /// Files of which there was no room to remember the change.
    more: usize,
    made: Vec<String>,
}

impl Tidings {
    /// Takes in that lines which were shown have changed.
    pub fn hear(&self, notices: Vec<Notice>) {
        for notice in notices {
            // Its own edit is no news to a session.
            if notice.actor == Actor::Agent(notice.session.clone()) {
                continue;
            }
            let session = notice.session.clone();
            self.of(&session, |untold| untold.add(notice));
        }
    }

    /// Takes in that an edit was made whose call was cancelled: its answer is not heard.
    pub fn made(&self, session: &str, result: &EditResult) {
        if result.details.dry_run || result.details.files.is_empty() {
            return;
        }
        let files = result.details.files.iter().take(NAMED);
        let files: Vec<String> = files
            .map(|file| format!("{} is #{} now", short(&file.path), file.tag))
            .collect();
        let more = result.details.files.len().saturating_sub(NAMED);
        let more = match more {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let said = format!("[The cancelled edit was made: {}{more}.]", files.join(", "));
        self.of(session, |untold| {
            if untold.made.len() < NAMED {
                untold.made.push(said);
            }
        });
    }

    fn of(&self, session: &str, change: impl FnOnce(&mut Untold)) {
        let mut sessions = self.sessions.lock();
        if !sessions.contains_key(session) && sessions.len() >= MAX_SESSIONS {
            return;
        }
        change(sessions.entry(session.to_owned()).or_default());
    }

    /// Takes what is to be told to a session with an answer that shows these files: a line each.
    /// `tags` says whether its reads show tags.
    pub fn take(&self, session: &str, shows: &[String], tags: bool) -> Vec<String> {
        let Some(untold) = self.sessions.lock().remove(session) else {
            return Vec::new();
        };
        let Untold {
            mut changes,
            again,
            mut more,
            made,
        } = untold;
        changes.retain(|notice| !shows.contains(&notice.path));
        let mut said = made;
        let mut left = MOST_CHARS as usize;
        let mut named = 0;
        for notice in &changes {
            let line = words(notice, again.contains(&notice.path), tags);
            let length = line.chars().count() + 1;
            if named == NAMED || length + 40 > left {
                more += 1;
                continue;
            }
            left -= length;
            named += 1;
            said.push(line);
        }
        match (more, named) {
            (0, _) => {}
            (1, 0) => said.push("[1 file changed.]".to_owned()),
            (1, _) => said.push("[1 more file changed.]".to_owned()),
            (more, _) => said.push(format!("[{more} more files changed.]")),
        }
        // Cancelled edits of long paths: better cut than an answer that is too long.
        let mut left = MOST_CHARS as usize;
        said.retain(|line| {
            let length = line.chars().count() + 1;
            let fits = length <= left;
            left -= if fits { length } else { 0 };
            fits
        });
        said
    }
}

impl Untold {
    fn add(&mut self, notice: Notice) {
        let known = self.changes.iter().position(|it| it.path == notice.path);
        match known {
            Some(at) => {
                if !self.again.contains(&notice.path) {
                    self.again.push(notice.path.clone());
                }
                self.changes[at] = notice;
            }
            None if self.changes.len() >= MAX_FILES => self.more += 1,
            None => self.changes.push(notice),
        }
    }
}

fn words(notice: &Notice, again: bool, tags: bool) -> String {
    let path = short(&notice.path);
    let who = match &notice.actor {
        Actor::Editor => "the editor",
        Actor::Disk => "another program",
        Actor::Agent(_) => "another agent",
    };
    if let Some(to) = &notice.moved_to {
        let to = short(to);
        return format!("[{path} was moved to {to} after you read it, by {who}.]");
    }
    let Some(tag) = notice.new_tag else {
        return format!("[{path} was removed after you read it, by {who}.]");
    };
    let lines = match again {
        true => String::new(),
        false => format!(": {}", spans(&notice.changed)),
    };
    let tag = match tags {
        true => format!(" Its tag is now {tag}."),
        false => String::new(),
    };
    format!("[{path} changed after you read it{lines}, by {who}.{tag}]")
}

fn spans(changed: &[LineSpan]) -> String {
    let mut said: Vec<String> = changed
        .iter()
        .take(NAMED)
        .map(|span| match span.start == span.end {
            true => span.start.to_string(),
            false => format!("{}-{}", span.start, span.end),
        })
        .collect();
    if changed.len() > NAMED {
        said.push("…".to_owned());
    }
    match changed {
        [only] if only.start == only.end => format!("line {}", said.join(", ")),
        _ => format!("lines {}", said.join(", ")),
    }
}

/// The end of a path is what tells it from others.
fn short(path: &str) -> String {
    let count = path.chars().count();
    match count <= PATH_CHARS {
        true => path.to_owned(),
        false => {
            let kept: String = path.chars().skip(count - PATH_CHARS).collect();
            format!("…{kept}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(path: &str, actor: Actor) -> Notice {
        let tag = |text: &str| text.parse().expect("a tag");
        Notice {
            session: "a".to_owned(),
            path: path.to_owned(),
            tag: tag("C3DE"),
            new_tag: Some(tag("B85D")),
            moved_to: None,
            changed: vec![LineSpan { start: 10, end: 14 }],
            actor,
        }
    }

    #[test]
    fn each_change_is_told_once_and_three_are_named() {
        let told = Tidings::default();
        told.hear(vec![notice("src/a.ts", Actor::Editor)]);
        assert_eq!(
            told.take("a", &[], true),
            [
                "[src/a.ts changed after you read it: lines 10-14, by the editor. Its tag is now B85D.]"
            ]
        );
        assert!(told.take("a", &[], true).is_empty());
        let names = ["a", "b", "c", "d", "e", "f"];
        told.hear(names.map(|name| notice(name, Actor::Disk)).to_vec());
        told.hear(vec![notice("b", Actor::Disk)]);
        let said = told.take("a", &["a".to_owned()], false);
        assert_eq!(
            said,
            [
                "[b changed after you read it, by another program.]",
                "[c changed after you read it: lines 10-14, by another program.]",
                "[d changed after you read it: lines 10-14, by another program.]",
                "[2 more files changed.]"
            ]
        );
    }

    #[test]
    fn its_own_edits_are_no_news_and_long_paths_are_cut() {
        let told = Tidings::default();
        let own = Actor::Agent("a".to_owned());
        told.hear(vec![notice("a", own)]);
        assert!(told.take("a", &[], true).is_empty());
        let long = |name: &str| notice(&format!("{}{name}", "x/".repeat(3000)), Actor::Disk);
        told.hear(["a", "b", "c", "d"].map(long).to_vec());
        let said = told.take("a", &[], true);
        assert!(said[0].contains("x/a changed"), "{said:?}");
        let chars: usize = said.iter().map(|line| line.chars().count() + 1).sum();
        assert!(chars as u64 <= MOST_CHARS, "{said:?}");
    }
}
