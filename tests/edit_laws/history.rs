//! An edit by the tag of any version there was: exactly the lines that it names change, by their identity, or it is refused; a line that only looks the same is never taken for one.

use std::cell::Cell;
use std::fs;

use proptest::prelude::*;
use serde_json::Value;

use crate::client::{Daemon, WireError};
use crate::tree::Tree;

use super::buffer::{Buffer, Hunk, Ids, Line, Place, carried_out, joined};
use super::{at_most, cases, edit_as, file_of, new_tag, patch, read, read_as};

/// Texts that many lines have.
pub const OFTEN: [&str; 4] = ["", "}", "    dup", "    😀 end"];

/// One step of a history, by shares of what there is at that time.
#[derive(Debug, Clone)]
enum Step {
    /// One `didChange` with these changes: kind, line, length, and places in lines.
    Type(Vec<(u8, usize, usize, usize, usize)>),
    /// The user takes the last step back.
    Undo,
    Save,
    Read(bool),
    /// By which session, by which tag, and what.
    Edit(bool, usize, Vec<Wish>),
}

/// Kind of hunk, lines between it and the one before, length, rows.
type Wish = (u8, usize, usize, usize);

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    prop::collection::vec((0u8..4, 0usize..6, 1usize..4, 1usize..3), 1..4)
}

fn step() -> impl Strategy<Value = Step> {
    let change = (0u8..7, 0usize..99, 0usize..4, 0usize..99, 0usize..99);
    prop_oneof![
        4 => prop::collection::vec(change, 1..3).prop_map(Step::Type),
        1 => Just(Step::Undo),
        1 => Just(Step::Save),
        3 => any::<bool>().prop_map(Step::Read),
        6 => (any::<bool>(), 0usize..99, wishes())
            .prop_map(|(session, tag, wishes)| Step::Edit(session, tag, wishes)),
    ]
}

/// Lines of which no two neighbours are the same.
pub fn line_kinds() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..OFTEN.len() * 3, 1..24)
}

pub fn first_lines(kinds: &[usize], ids: &mut Ids) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        let text = match OFTEN.get(*kind) {
            Some(often) if lines.last().is_none_or(|last| last.text != *often) => {
                (*often).to_owned()
            }
            _ => format!("é line {at}"),
        };
        lines.push(ids.line(text));
    }
    lines
}

/// A tag that was given out, by whom its lines were all seen, and what it names.
#[derive(Debug, Clone)]
struct Known {
    tag: String,
    session: &'static str,
    lines: Vec<Line>,
    /// All of its lines were shown to the session.
    whole: bool,
}

/// How often edits were made and refused.
#[derive(Default)]
pub struct Counts {
    pub made: Cell<usize>,
    pub refused: Cell<usize>,
}

impl Counts {
    pub fn count(&self, cell: &Cell<usize>) {
        cell.set(cell.get() + 1);
    }

    /// A law that is kept by refusing everything is none.
    pub fn check(&self) {
        let (made, refused) = (self.made.get(), self.refused.get());
        assert!(
            made * 5 > refused && refused * 20 > made,
            "{made} edits were made and {refused} refused"
        );
    }
}

/// A document with its history.
struct Story<'a> {
    daemon: &'a Daemon,
    name: String,
    buffer: Buffer<'a>,
    ids: Ids,
    known: Vec<Known>,
    /// Makes every typed text another one.
    typed: usize,
    /// A text came back, by a change that put other lines in its place.
    undone: bool,
    counts: &'a Counts,
}

impl Story<'_> {
    fn unique(&mut self) -> String {
        self.typed += 1;
        format!("ü{}😀", self.typed)
    }

    fn session(first: bool) -> &'static str {
        if first { "one" } else { "two" }
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Type(changes) => self.type_in(changes),
            Step::Undo => self.undo(),
            Step::Save => self.buffer.save(),
            Step::Read(first) => {
                let session = Story::session(*first);
                let tag = read_as(self.daemon, session, &self.name);
                let lines = self.buffer.lines.clone();
                self.know(tag, session, lines, true);
            }
            Step::Edit(first, tag, wishes) => {
                let session = Story::session(*first);
                let known: Vec<Known> = self
                    .known
                    .iter()
                    .filter(|known| known.session == session)
                    .cloned()
                    .collect();
                if let Some(known) = known.get(tag % known.len().max(1)) {
                    return self.edit(known, wishes);
                }
            }
        }
        Ok(())
    }

    fn know(&mut self, tag: String, session: &'static str, lines: Vec<Line>, whole: bool) {
        self.known.push(Known {
            tag,
            session,
            lines,
            whole,
        });
    }

    fn type_in(&mut self, wishes: &[(u8, usize, usize, usize, usize)]) {
        let mut changes = Vec::new();
        for wish in wishes {
            let before = self.buffer.lines.clone();
            let Some((from, to, text)) = self.change(*wish) else {
                continue;
            };
            if self.buffer.is_ambiguous(from, to, &text) {
                continue;
            }
            let change = self.buffer.type_in(from, to, &text, &mut self.ids);
            if has_twins(&self.buffer.lines) {
                self.buffer.lines = before;
                continue;
            }
            changes.push(change);
        }
        if !changes.is_empty() {
            self.buffer.typed(changes);
        }
    }

    /// A range and the text that takes its place.
    fn change(
        &mut self,
        (kind, line, length, one, other): (u8, usize, usize, usize, usize),
    ) -> Option<(Place, Place, String)> {
        let new = self.unique();
        let total = self.buffer.lines.len();
        let line = line % (total + 1);
        if line == total || kind == 1 {
            return Some(((line, 0), (line, 0), format!("{new}\n  {new}\n")));
        }
        let last = (line + length).min(total - 1);
        let lines = &self.buffer.lines;
        let end = |at: usize| lines[at].text.len();
        let inside = |at: usize, share: usize| {
            let text = &lines[at].text;
            (at, text.floor_char_boundary(share % (text.len() + 1)))
        };
        Some(match kind {
            0 => {
                let (one, other) = (inside(line, one), inside(line, other));
                (one.min(other), one.max(other), new)
            }
            2 => ((line, 0), (last, 0), String::new()),
            3 => ((line, end(line)), (line, end(line)), format!("\n{new}")),
            4 => {
                let (one, other) = (inside(line, one), inside(last, other));
                (one.min(other), one.max(other), format!("{new}\n{new}"))
            }
            5 => ((line, 0), (last, 0), format!("{new}\n")),
            _ => ((line, end(line)), (last, end(last)), String::new()),
        })
    }

    /// The text comes back, and with it the lines that it was made of: the same text is the same
    /// version. That they are other ones, which nobody was shown, is as right.
    fn undo(&mut self) {
        // The last state is the one at hand.
        let before = self.buffer.past.len().checked_sub(2);
        let Some(old) = before.map(|at| self.buffer.past[at].clone()) else {
            return;
        };
        let now = &self.buffer.lines;
        let same = |(one, other): &(&Line, &Line)| one.text == other.text;
        let head = now.iter().zip(&old).take_while(same).count();
        let ends = now[head..].iter().rev().zip(old[head..].iter().rev());
        let tail = ends.take_while(same).count();
        if head + tail == old.len() && head + tail == now.len() {
            return;
        }
        // The least change may keep a line that only reads like the one it was: the editor says
        // then that it is the same one, and the user that it is not.
        let kept = now[..head].iter().chain(&now[now.len() - tail..]);
        let meant = old[..head].iter().chain(&old[old.len() - tail..]);
        if kept.ne(meant) {
            return;
        }
        let (from, to) = ((head, 0), (now.len() - tail, 0));
        let text = joined(&old[head..old.len() - tail]);
        if self.buffer.is_ambiguous(from, to, &text) {
            return;
        }
        let change = self.buffer.type_in(from, to, &text, &mut self.ids);
        self.buffer.typed(vec![change]);
        self.buffer.settle(old);
        self.undone = true;
    }

    /// Hunks on lines of a version, in ascending order, no two at one place. A line is only
    /// deleted where no other one could be meant.
    fn hunks(&mut self, tagged: &[Line], wishes: &[Wish]) -> Vec<Hunk> {
        let mut hunks = Vec::new();
        let mut free = 1;
        for (kind, skip, length, rows) in wishes {
            let start = free + skip;
            let end = start + length - 1;
            if end > tagged.len() {
                break;
            }
            let rows: Vec<String> = (0..*rows).map(|_| self.unique()).collect();
            let text = &tagged[start - 1].text;
            let live = self.buffer.lines.iter();
            let is_alone = live.filter(|line| line.text == *text).count() <= 1;
            hunks.push(match kind {
                0 if is_alone => Hunk::Replace(start, end, Vec::new()),
                0 | 1 => Hunk::Replace(start, end, rows),
                2 => Hunk::Before(start, rows),
                _ => Hunk::After(start, rows),
            });
            free = hunks.last().map_or(free, |hunk| hunk.lines().1 + 1);
        }
        hunks
    }

    fn edit(&mut self, known: &Known, wishes: &[Wish]) -> Result<(), TestCaseError> {
        let hunks = self.hunks(&known.lines, wishes);
        let live = self.buffer.lines.clone();
        let right = carried_out(&live, &known.lines, &hunks, &mut self.ids);
        if hunks.is_empty() || right.as_ref().is_some_and(|lines| has_twins(lines)) {
            return Ok(());
        }
        let text: String = hunks.iter().map(Hunk::text).collect();
        let text = patch(&self.name, &known.tag, &text);
        let (answer, asked) = self.buffer.edit(known.session, &text, &mut self.ids);
        let now = joined(&self.buffer.lines);
        let wrong = |what: String| {
            let (live, tagged) = (joined(&live), joined(&known.lines));
            TestCaseError::fail(format!("by {tagged:?} {live:?} {text} {what}"))
        };
        match answer {
            // The very same one was made before, and nothing has happened since.
            Ok(edited) if is_applied_before(&edited) => {
                prop_assert!(!asked);
                prop_assert_eq!(now, joined(&live));
            }
            Ok(edited) => {
                self.counts.count(&self.counts.made);
                let made = right.filter(|lines| joined(lines) == now);
                let made = made.ok_or_else(|| wrong(format!("gives {now:?}")))?;
                prop_assert!(asked);
                prop_assert_eq!(&file_of(&edited)["via"], "editor");
                self.buffer.settle(made.clone());
                self.know(new_tag(&edited), known.session, made, false);
            }
            Err(error) => {
                self.counts.count(&self.counts.refused);
                prop_assert!(!asked, "{:?}", error);
                if known.whole && right.is_some() && !self.undone {
                    return Err(wrong(format!("is refused: {error:?}")));
                }
                let kinds = ["stale", "notShown"];
                prop_assert!(kinds.contains(&error.kind()), "{:?}", error);
            }
        }
        Ok(())
    }
}

fn is_applied_before(edited: &Value) -> bool {
    let text = edited["content"][0]["text"].as_str();
    text.is_some_and(|text| text.starts_with("[Already applied: "))
}

/// Whether a line is the same as the one above it: nobody can tell which of them was deleted.
fn has_twins(lines: &[Line]) -> bool {
    lines.windows(2).any(|pair| pair[0].text == pair[1].text)
}

fn editor() -> Value {
    serde_json::json!({ "workspace": {
        "applyEdit": true,
        "workspaceEdit": { "documentChanges": true },
    } })
}

#[test]
fn an_edit_by_any_tag_of_an_open_document_changes_the_lines_it_names() {
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(editor())
        .start();
    daemon.ignore_changes();
    let (made, counts) = (Cell::new(0), Counts::default());
    let stories = (
        line_kinds(),
        any::<bool>(),
        prop::collection::vec(step(), 4..24),
        wishes(),
    );
    proptest!(cases(400, 100_000), |((kinds, says, steps, last) in stories)| {
        let name = format!("{}.txt", made.replace(made.get() + 1));
        let mut ids = Ids::default();
        let lines = first_lines(&kinds, &mut ids);
        let mut story = Story {
            daemon: &daemon,
            buffer: Buffer::open(&daemon, &tree, &name, lines, says),
            name,
            ids,
            known: Vec::new(),
            typed: 0,
            undone: false,
            counts: &counts,
        };
        story.take(&Step::Read(true))?;
        for step in &steps {
            story.take(step)?;
        }
        for at in 0..story.known.len().min(3) {
            let known = story.known[at].clone();
            story.edit(&known, &last)?;
        }
        let text = daemon.read_text(format!("{}:raw", story.name));
        prop_assert_eq!(text, joined(&story.buffer.lines));
        story.buffer.close();
    });
    counts.check();
}

/// 100 edits by the numbers of the first version, against the same ones by fresh numbers. `send`
/// makes an edit of a file and gives its answer.
fn first_numbers_equal_fresh_ones(
    names: [&str; 2],
    read: impl Fn(&str) -> String,
    mut send: impl FnMut(usize, &str) -> Result<Value, WireError>,
    first: &[Line],
    seed: u64,
) -> Vec<Line> {
    let mut numbers = super::Numbers(seed);
    let mut ids = Ids::default();
    for _ in first {
        ids.line("");
    }
    let tag = read(names[0]);
    let mut fresh = read(names[1]);
    let mut live = first.to_vec();
    for number in 0..100 {
        let line = numbers.below(first.len()) + 1;
        let rows = vec![format!("row {number}")];
        let hunk = match numbers.below(4) {
            0 => Hunk::Replace(line, line, rows),
            1 => Hunk::Replace(line, line, Vec::new()),
            2 => Hunk::Before(line, rows),
            _ => Hunk::After(line, rows),
        };
        let answer = send(0, &patch(names[0], &tag, &hunk.text()));
        let at = live.iter().position(|other| other.id == first[line - 1].id);
        let Some(at) = at else {
            let error = answer.expect_err("its line is gone");
            assert_eq!(error.kind(), "stale", "{error:?}");
            continue;
        };
        let remapped = answer.unwrap_or_else(|error| panic!("edit {number}: {error:?}"));
        let moved = &file_of(&remapped)["remapped"];
        match at + 1 == line {
            true => assert!(moved.is_null(), "{moved}"),
            false => assert_eq!(
                (&moved[0]["from"], &moved[0]["to"]),
                (&line.into(), &(at + 1).into())
            ),
        }
        let now = match hunk {
            Hunk::Replace(_, _, rows) => Hunk::Replace(at + 1, at + 1, rows),
            Hunk::Before(_, rows) => Hunk::Before(at + 1, rows),
            Hunk::After(_, rows) => Hunk::After(at + 1, rows),
        };
        let answer = send(1, &patch(names[1], &fresh, &now.text()));
        fresh = new_tag(&answer.unwrap_or_else(|error| panic!("edit {number}: {error:?}")));
        let before = live.clone();
        let done = carried_out(&before, &before, &[now], &mut ids);
        live = done.expect("its line is there");
    }
    live
}

fn repetitive(ids: &mut Ids) -> Vec<Line> {
    (0..150)
        .map(|line| ids.line(format!("line {}", line % 40)))
        .collect()
}

#[test]
fn a_hundred_edits_by_the_first_tag_equal_those_by_fresh_ones() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for seed in 0..at_most(3, 200) {
        let first = repetitive(&mut Ids::default());
        // Other files each time: an edit that was made before is not made again.
        let names = [format!("a{seed}.txt"), format!("b{seed}.txt")];
        let names = [names[0].as_str(), names[1].as_str()];
        for name in names {
            tree.write(name, joined(&first));
        }
        let session = format!("session {seed}");
        let read = |name: &str| read_as(&daemon, &session, name);
        let send = |_, text: &str| edit_as(&daemon, &session, text);
        let live = first_numbers_equal_fresh_ones(names, read, send, &first, seed);
        for name in names {
            let text = fs::read_to_string(tree.join(name)).expect("the file");
            assert_eq!(text, joined(&live), "{name} {seed}");
        }
    }
}

#[test]
fn a_hundred_edits_of_an_open_document_by_the_first_tag_equal_those_by_fresh_ones() {
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(editor())
        .start();
    daemon.ignore_changes();
    for seed in 0..at_most(3, 200) {
        let mut ids = Ids::default();
        let first = repetitive(&mut ids);
        let names = [format!("a{seed}.txt"), format!("b{seed}.txt")];
        let mut buffers: Vec<Buffer> = names
            .iter()
            .map(|name| Buffer::open(&daemon, &tree, name, first.clone(), false))
            .collect();
        let send = |at: usize, text: &str| buffers[at].edit("default", text, &mut ids).0;
        let read = |name: &str| read(&daemon, name);
        let live = first_numbers_equal_fresh_ones([&names[0], &names[1]], read, send, &first, seed);
        for buffer in buffers {
            assert_eq!(joined(&buffer.lines), joined(&live), "{seed}");
            buffer.close();
        }
    }
}

/// An open document of these lines, and the tag of a read of it.
fn opened<'a>(
    daemon: &'a Daemon,
    tree: &'a Tree,
    texts: &[&str],
    ids: &mut Ids,
) -> (Buffer<'a>, String) {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let buffer = Buffer::open(daemon, tree, "a.txt", ids.lines(&texts), false);
    (buffer, read(daemon, "a.txt"))
}

#[test]
fn what_is_typed_into_a_clean_document_is_no_change_from_outside() {
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(editor())
        .start();
    daemon.ignore_changes();
    let mut ids = Ids::default();
    let (mut buffer, tag) = opened(&daemon, &tree, &["}", "x", "}", "y", "}"], &mut ids);
    // By their text alone the brackets cannot be told from each other.
    let typed = [
        ((0, 0), (0, 1), "typed"),
        ((2, 0), (2, 0), "new\n"),
        ((4, 0), (4, 1), "also"),
    ];
    for (from, to, text) in typed {
        let change = buffer.type_in(from, to, text, &mut ids);
        buffer.typed(vec![change]);
    }
    let hunks = "replace 3..3:\n+end\n";
    let (answer, _) = buffer.edit("default", &patch("a.txt", &tag, hunks), &mut ids);
    answer.expect("its line is there");
    assert_eq!(joined(&buffer.lines), "typed\nx\nnew\nend\nalso\n}\n");
}

#[test]
fn a_deletion_that_is_sent_twice_is_made_once() {
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(editor())
        .start();
    daemon.ignore_changes();
    let twice = patch("a.txt", "TAG", "delete 2\n");
    tree.write("a.txt", "x\n}\n}\ny\n");
    let twice = twice.replace("TAG", &read(&daemon, "a.txt"));
    edit_as(&daemon, "default", &twice).expect("the first time");
    let again = edit_as(&daemon, "default", &twice).expect("the second time");
    assert!(is_applied_before(&again), "{again}");
    // The lines that are left look like those that were named.
    let mut ids = Ids::default();
    let (mut buffer, _) = opened(&daemon, &tree, &["x", "}", "}", "y"], &mut ids);
    let (first, _) = buffer.edit("default", &twice, &mut ids);
    first.expect("the first time");
    let (again, asked) = buffer.edit("default", &twice, &mut ids);
    let again = again.expect("the second time");
    assert!(!asked && is_applied_before(&again), "{again}");
    assert_eq!(joined(&buffer.lines), "x\n}\ny\n");
}
