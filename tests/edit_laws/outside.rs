//! An edit of a file that others wrote meanwhile: the line that changes has the addressed text and the proof that the specification asks for; a line that only looks the same is never taken for one.

use std::cell::Cell;
use std::fs;

use proptest::prelude::*;

use crate::client::{Daemon, WireError};
use crate::tree::Tree;

use super::buffer::{Hunk, Ids, Line, joined};
use super::history::{Counts, OFTEN, first_lines, line_kinds};
use super::{cases, edit, new_tag, patch, read};

/// One step in the history of a file that nobody has open.
#[derive(Debug, Clone)]
enum DiskStep {
    /// Somebody else writes: line, removed lines, and the texts that take their place.
    Rewrite(Vec<(usize, usize, Vec<usize>)>),
    /// By which version, and what.
    Edit(usize, u8, usize, usize),
}

fn disk_step() -> impl Strategy<Value = DiskStep> {
    let texts = prop::collection::vec(0..OFTEN.len() + 1, 0..4);
    let splice = (0usize..99, 0usize..4, texts);
    prop_oneof![
        2 => prop::collection::vec(splice, 1..4).prop_map(DiskStep::Rewrite),
        3 => (0usize..99, 0u8..4, 0usize..99, 1usize..4)
            .prop_map(|(tag, kind, line, length)| DiskStep::Edit(tag, kind, line, length)),
    ]
}

/// A version of the file, and whether the daemon itself made it of the one before.
#[derive(Debug, Clone)]
struct KnownVersion {
    tag: String,
    lines: Vec<Line>,
    ours: bool,
}

/// As many changes from outside as are each looked at on their own.
const MAX_REWRITES: usize = 7;

/// The places of a line of the version `from` in the newest version that the specification has a
/// proof for: by identity where the daemon made the change, else by an unbroken run of unchanged
/// lines with one offset to a line that is unique in both, which may be itself if a neighbour runs
/// with it.
fn proven(versions: &[KnownVersion], from: usize, line: usize) -> Vec<usize> {
    let mut places = vec![line];
    for pair in versions[from..].windows(2) {
        let (old, new) = (&pair[0].lines, &pair[1].lines);
        let carry = |line: &usize| -> Vec<usize> {
            let mut all = 0..new.len();
            match pair[1].ours {
                true => all
                    .find(|now| new[*now].id == old[*line].id)
                    .into_iter()
                    .collect(),
                false => all.filter(|now| has_proof(old, new, *line, *now)).collect(),
            }
        };
        places = places.iter().flat_map(carry).collect();
    }
    places
}

fn has_proof(old: &[Line], new: &[Line], line: usize, now: usize) -> bool {
    if old[line].text != new[now].text {
        return false;
    }
    let unique = |at: usize| {
        let count = |lines: &[Line]| {
            lines
                .iter()
                .filter(|other| other.text == old[at].text)
                .count()
        };
        count(old) == 1 && count(new) == 1
    };
    let up = (1..=line.min(now)).take_while(|step| old[line - step].text == new[now - step].text);
    let rest = (old.len() - line).min(new.len() - now);
    let down = (1..rest).take_while(|step| old[line + step].text == new[now + step].text);
    let mut run: Vec<usize> = up.map(|step| line - step).collect();
    run.extend(down.map(|step| line + step));
    !run.is_empty() && run.into_iter().chain([line]).any(unique)
}

/// A file with its history.
struct DiskStory<'a> {
    daemon: &'a Daemon,
    tree: &'a Tree,
    name: String,
    ids: Ids,
    versions: Vec<KnownVersion>,
    rewrites: usize,
    rows: usize,
    counts: &'a Counts,
}

impl DiskStory<'_> {
    fn live(&self) -> Vec<Line> {
        self.versions
            .last()
            .map_or_else(Vec::new, |version| version.lines.clone())
    }

    fn row(&mut self) -> String {
        self.rows += 1;
        format!("row {}", self.rows)
    }

    fn rewrite(&mut self, splices: &[(usize, usize, Vec<usize>)]) {
        self.rewrites += 1;
        let mut lines = self.live();
        for (at, removed, texts) in splices {
            let at = at % (lines.len() + 1);
            let end = (at + removed).min(lines.len());
            let mut texts: Vec<String> = texts
                .iter()
                .map(|kind| {
                    OFTEN
                        .get(*kind)
                        .map_or_else(|| self.row(), |text| (*text).to_owned())
                })
                .collect();
            // No text is there twice, or its tag would name two histories.
            texts.push(self.row());
            lines.splice(at..end, self.ids.lines(&texts));
        }
        self.tree.replace(&self.name, joined(&lines));
        let tag = read(self.daemon, &self.name);
        self.versions.push(KnownVersion {
            tag,
            lines,
            ours: false,
        });
    }

    fn edit(
        &mut self,
        tag: usize,
        kind: u8,
        line: usize,
        length: usize,
    ) -> Result<(), TestCaseError> {
        let from = tag % self.versions.len();
        let named = self.versions[from].clone();
        if named.lines.is_empty() {
            return Ok(());
        }
        let start = line % named.lines.len() + 1;
        let end = (start + length - 1).min(named.lines.len());
        let row = self.row();
        let rows = vec![row.clone()];
        let hunk = match kind {
            0 | 1 => Hunk::Replace(start, end, rows),
            2 => Hunk::Before(start, rows),
            _ => Hunk::After(start, rows),
        };
        let live = self.live();
        let text = patch(&self.name, &named.tag, &hunk.text());
        let answer = edit(self.daemon, &text);
        let now = fs::read_to_string(self.tree.join(&self.name)).expect("the file");
        let edited = match answer {
            Ok(edited) => edited,
            Err(error) => return self.refused(from, &error, &now),
        };
        self.counts.count(&self.counts.made);
        let lines = self.made(&hunk, &row, &now);
        let Some(lines) = lines.filter(|lines| joined(lines) == now) else {
            let message = format!("{:?} became {now:?} by {text}", joined(&live));
            return Err(TestCaseError::fail(message));
        };
        let at = lines.iter().position(|line| line.text == row).unwrap_or(0);
        let first = match hunk {
            Hunk::After(..) => at - 1,
            Hunk::Replace(..) | Hunk::Before(..) => at,
        };
        for (found, line) in (first..).zip(hunk.lines().0..=hunk.lines().1) {
            prop_assert!(
                proven(&self.versions, from, line - 1).contains(&found),
                "{text} was applied at {found} of {live:?}, for which {:?} has no proof",
                &self.versions[from..]
            );
        }
        let tag = new_tag(&edited);
        prop_assert_eq!(&tag, &read(self.daemon, &self.name));
        self.versions.push(KnownVersion {
            tag,
            lines,
            ours: true,
        });
        Ok(())
    }

    /// Nothing was done to the file, as there was reason not to.
    fn refused(&self, from: usize, error: &WireError, now: &str) -> Result<(), TestCaseError> {
        self.counts.count(&self.counts.refused);
        prop_assert_eq!(error.kind(), "stale", "{:?}", error);
        prop_assert_eq!(now, joined(&self.live()));
        // By the live tag nothing is stale.
        prop_assert!(from + 1 < self.versions.len(), "{:?}", error);
        Ok(())
    }

    /// The lines as they are if the hunk was carried out where its row is found.
    fn made(&mut self, hunk: &Hunk, row: &str, now: &str) -> Option<Vec<Line>> {
        let at = now.lines().position(|line| line == row)?;
        let mut lines = self.live();
        let length = match hunk {
            Hunk::Replace(start, end, _) => end - start + 1,
            Hunk::Before(..) | Hunk::After(..) => 0,
        };
        let end = at + length;
        (end <= lines.len()).then(|| lines.splice(at..end, [self.ids.line(row)]).for_each(drop))?;
        Some(lines)
    }
}

#[test]
fn where_others_wrote_the_file_an_edit_has_the_proof_of_its_line() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let (made, counts) = (Cell::new(0), Counts::default());
    let stories = (line_kinds(), prop::collection::vec(disk_step(), 3..16));
    proptest!(cases(120, 20_000), |((kinds, steps) in stories)| {
        let name = format!("{}.txt", made.replace(made.get() + 1));
        let mut ids = Ids::default();
        let lines = first_lines(&kinds, &mut ids);
        tree.write(&name, joined(&lines));
        let tag = read(&daemon, &name);
        let mut story = DiskStory {
            daemon: &daemon,
            tree: &tree,
            name,
            ids,
            versions: vec![KnownVersion { tag, lines, ours: false }],
            rewrites: 0,
            rows: 0,
            counts: &counts,
        };
        for step in &steps {
            match step {
                DiskStep::Rewrite(splices) if story.rewrites < MAX_REWRITES => story.rewrite(splices),
                DiskStep::Rewrite(_) => {}
                DiskStep::Edit(tag, kind, line, length) => story.edit(*tag, *kind, *line, *length)?,
            }
        }
    });
    counts.check();
}
