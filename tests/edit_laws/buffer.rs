//! A document in an editor of the tests' own, line by line with identities; it never asks the daemon what a line is.

use serde_json::{Value, json};

use crate::client::{Daemon, Id, Next, WireError, file_uri};
use crate::tree::Tree;

/// A line that is told from every other one, also from one with the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub id: u64,
    pub text: String,
}

/// What an edit does to lines of the version that it is numbered by.
#[derive(Debug, Clone)]
pub enum Hunk {
    Replace(usize, usize, Vec<String>),
    Before(usize, Vec<String>),
    After(usize, Vec<String>),
}

impl Hunk {
    pub fn text(&self) -> String {
        let rows =
            |rows: &[String]| -> String { rows.iter().map(|row| format!("+{row}\n")).collect() };
        match self {
            Hunk::Replace(start, end, none) if none.is_empty() => {
                format!("delete {start}..{end}\n")
            }
            Hunk::Replace(start, end, new) => format!("replace {start}..{end}:\n{}", rows(new)),
            Hunk::Before(line, new) => format!("insert before {line}:\n{}", rows(new)),
            Hunk::After(line, new) => format!("insert after {line}:\n{}", rows(new)),
        }
    }

    /// First and last line, from 1.
    pub fn lines(&self) -> (usize, usize) {
        match self {
            Hunk::Replace(start, end, _) => (*start, *end),
            Hunk::Before(line, _) | Hunk::After(line, _) => (*line, *line),
        }
    }

    pub fn rows(&self) -> &[String] {
        match self {
            Hunk::Replace(.., rows) | Hunk::Before(_, rows) | Hunk::After(_, rows) => rows,
        }
    }
}

/// Gives out identities.
#[derive(Debug, Default)]
pub struct Ids(u64);

impl Ids {
    pub fn line(&mut self, text: impl Into<String>) -> Line {
        self.0 += 1;
        Line {
            id: self.0,
            text: text.into(),
        }
    }

    pub fn lines(&mut self, texts: &[String]) -> Vec<Line> {
        texts.iter().map(|text| self.line(text)).collect()
    }
}

pub fn joined(lines: &[Line]) -> String {
    lines
        .iter()
        .map(|line| format!("{}\n", line.text))
        .collect()
}

/// What `live` is once the hunks, numbered by `tagged`, are carried out on exactly the lines that
/// they name, in ascending order; `None` where one of these is gone or parted from its range.
pub fn carried_out(
    live: &[Line],
    tagged: &[Line],
    hunks: &[Hunk],
    ids: &mut Ids,
) -> Option<Vec<Line>> {
    let mut new = live.to_vec();
    for hunk in hunks {
        let (start, end) = hunk.lines();
        let at = new
            .iter()
            .position(|line| line.id == tagged[start - 1].id)?;
        let named = tagged[start - 1..end].iter().map(|line| line.id);
        let found = new[at..].iter().take(end - start + 1).map(|line| line.id);
        if !named.eq(found) {
            return None;
        }
        let rows = ids.lines(hunk.rows());
        let range = match hunk {
            Hunk::Replace(..) => at..at + (end - start + 1),
            Hunk::Before(..) => at..at,
            Hunk::After(..) => at + 1..at + 1,
        };
        new.splice(range, rows);
    }
    Some(new)
}

/// A place: a line and UTF-8 bytes into it, both from 0.
pub type Place = (usize, usize);

/// An open document. Every line of it is ended, by LF.
pub struct Buffer<'a> {
    daemon: &'a Daemon,
    tree: &'a Tree,
    name: String,
    uri: String,
    version: i64,
    pub lines: Vec<Line>,
    /// Whether the editor says what is unsaved.
    says: bool,
    /// Every state so far.
    pub past: Vec<Vec<Line>>,
}

impl<'a> Buffer<'a> {
    pub fn open(
        daemon: &'a Daemon,
        tree: &'a Tree,
        name: &str,
        lines: Vec<Line>,
        says: bool,
    ) -> Buffer<'a> {
        tree.write(name, joined(&lines));
        let uri = file_uri(&tree.join(name));
        let document = json!({
            "uri": uri, "languageId": "plaintext", "version": 1, "text": joined(&lines),
        });
        daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
        let buffer = Buffer {
            daemon,
            tree,
            name: name.to_owned(),
            uri,
            version: 1,
            past: vec![lines.clone()],
            lines,
            says,
        };
        buffer.say(false);
        buffer
    }

    fn say(&self, dirty: bool) {
        if self.says {
            let params = json!({ "uri": self.uri, "version": self.version, "dirty": dirty });
            self.daemon.notify("agent/documentState", params);
        }
    }

    pub fn save(&self) {
        self.tree.replace(&self.name, joined(&self.lines));
        let document = json!({ "textDocument": { "uri": self.uri } });
        self.daemon.notify("textDocument/didSave", document);
        self.say(false);
    }

    pub fn close(self) {
        let document = json!({ "textDocument": { "uri": self.uri } });
        self.daemon.notify("textDocument/didClose", document);
    }

    fn line(&self, at: usize) -> &str {
        self.lines.get(at).map_or("", |line| &line.text)
    }

    /// A place as the LSP counts it.
    fn position(&self, (line, byte): Place) -> Value {
        let before = &self.line(line)[..byte];
        json!({ "line": line, "character": before.encode_utf16().count() })
    }

    /// The place of a position.
    fn place(&self, position: &Value) -> Place {
        let number = |key: &str| position[key].as_u64().expect("a number") as usize;
        let (line, units) = (number("line"), number("character"));
        let mut rest = units;
        let mut bytes = 0;
        for c in self.line(line).chars() {
            if rest == 0 {
                break;
            }
            rest -= c.len_utf16().min(rest);
            bytes += c.len_utf8();
        }
        assert_eq!(rest, 0, "{position} is past the end of its line");
        (line, bytes)
    }

    /// The lines of a change, before and after, with what is on both of its sides in them.
    fn block(&self, from: Place, to: Place, text: &str) -> (Vec<String>, Vec<String>) {
        let old = (from.0..=to.0).map(|at| self.line(at).to_owned()).collect();
        let whole = [&self.line(from.0)[..from.1], text, &self.line(to.0)[to.1..]].concat();
        (old, whole.split('\n').map(str::to_owned).collect())
    }

    /// Whether which lines such a change keeps could be told in two ways.
    pub fn is_ambiguous(&self, from: Place, to: Place, text: &str) -> bool {
        let (old, new) = self.block(from, to, text);
        let keeps = self.kept(from, to, text);
        let is_both = from.0 == to.0 && keeps == (true, true);
        let other_first = old.first() == new.first() && !keeps.0;
        let other_last = old.last() == new.last() && !keeps.1;
        is_both || other_first || other_last
    }

    /// Whether the first line of a change stays as it is, and whether the last one does.
    fn kept(&self, from: Place, to: Place, text: &str) -> (bool, bool) {
        let ends_first = from.1 == self.line(from.0).len();
        let first = ends_first
            && (text.starts_with('\n') || (text.is_empty() && to.1 == self.line(to.0).len()));
        let last = to.1 == 0 && (text.ends_with('\n') || (text.is_empty() && from.1 == 0));
        // One line that could be either is the first.
        (first, last && (!first || text.contains('\n')))
    }

    /// Changes a range of the model and gives it as a `didChange` has it.
    fn change(&mut self, from: Place, to: Place, text: &str, ids: &mut Ids) -> Value {
        let range = json!({ "start": self.position(from), "end": self.position(to) });
        let (_, new) = self.block(from, to, text);
        let (keeps_first, keeps_last) = self.kept(from, to, text);
        let mut new: Vec<Line> = ids.lines(&new);
        if keeps_first && let Some(first) = new.first_mut() {
            first.id = self.lines[from.0].id;
        }
        let end = (to.0 + 1).min(self.lines.len());
        let has_last = to.0 < self.lines.len();
        match (keeps_last, has_last, new.last_mut()) {
            (true, true, Some(last)) => last.id = self.lines[to.0].id,
            // What follows the last newline is no line.
            (_, false, _) => drop(new.pop()),
            _ => {}
        }
        self.lines.splice(from.0.min(end)..end, new);
        json!({ "range": range, "text": text })
    }

    /// Tells which lines its text is made of, where that is known better than by ranges.
    pub fn settle(&mut self, lines: Vec<Line>) {
        assert_eq!(joined(&self.lines), joined(&lines));
        if let Some(last) = self.past.last_mut() {
            last.clone_from(&lines);
        }
        self.lines = lines;
    }

    /// The user types: several changes, one after the other, in one notification.
    pub fn typed(&mut self, changes: Vec<Value>) {
        self.version += 1;
        self.past.push(self.lines.clone());
        let document = json!({ "uri": self.uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.daemon.notify("textDocument/didChange", params);
        self.say(true);
    }

    pub fn type_in(&mut self, from: Place, to: Place, text: &str, ids: &mut Ids) -> Value {
        self.change(from, to, text, ids)
    }

    /// Sends an edit and does what the daemon asks of an editor meanwhile. Also tells whether it
    /// asked for anything.
    pub fn edit(
        &mut self,
        session: &str,
        patch: &str,
        ids: &mut Ids,
    ) -> (Result<Value, WireError>, bool) {
        let params = json!({ "session": session, "patch": patch });
        let id = self.daemon.request("agent/edit", params);
        let mut asked = false;
        loop {
            match self.daemon.answer_or_request(&id, "workspace/applyEdit") {
                Next::Answer(answer) => return (answer, asked),
                Next::Request(request, params) => {
                    asked = true;
                    self.apply(request, &params, ids);
                }
            }
        }
    }

    /// Applies the daemon's edit as an editor does: by the version, then the word of it, then the
    /// answer.
    pub fn apply(&mut self, request: Id, params: &Value, ids: &mut Ids) {
        let changes = params["edit"]["documentChanges"].as_array();
        let [change] = changes.expect("documentChanges").as_slice() else {
            panic!("several documents in {params}");
        };
        assert_eq!(change["textDocument"]["uri"], self.uri.as_str());
        assert_eq!(change["textDocument"]["version"], self.version, "{params}");
        let edits = change["edits"].as_array().expect("edits");
        let mut edits: Vec<(Place, Place, &str)> = edits
            .iter()
            .map(|edit| {
                let place = |end: &str| self.place(&edit["range"][end]);
                let text = edit["newText"].as_str().expect("a text");
                (place("start"), place("end"), text)
            })
            .collect();
        // All of them name places of the same text, so the last one is made first.
        edits.sort_by_key(|(from, ..)| *from);
        assert!(edits.is_sorted_by(|one, next| one.1 <= next.0), "{params}");
        let changes = edits.into_iter().rev();
        let changes: Vec<Value> = changes
            .map(|(from, to, text)| self.change(from, to, text, ids))
            .collect();
        self.typed(changes);
        self.daemon.respond(request, json!({ "applied": true }));
    }
}
