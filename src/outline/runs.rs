//! Neighbours that may stand as one row, the first and their number; every one begins and ends with a row of the outline.
//!
//! Of each node with rows inside, the children that begin lines of their own are siblings. Those of one
//! kind are gathered up to what one read shows comfortably, then further; then those of several kinds;
//! then what holds them. The order in which they fold (`Stage`, then what saves most) is decided here,
//! how many do by whoever knows the room.

use std::cmp::Reverse;

use tree_sitter::TreeCursor;

use crate::syntax::{ParsedPiece, Source};
use crate::task::{Stopped, Work};

use super::definitions::start_of;
use super::siblings::{SiblingKind, SiblingKinds};
use super::{OutlineRow, SiblingRun, span};

/// Lines of a run that is read again with ease, and of one that a single read still shows.
const EASY_LINES: usize = 300;
const MOST_LINES: usize = 1200;
const MOST_BYTES: usize = 45 * 1024;
/// Lines of a type whose members fold before types are gathered.
const SHORT_TYPE: usize = 100;
/// Rows of the outline that a run stands for at least.
const MIN_ROWS: usize = 3;
/// Runs that are told of.
pub const MAX_RUNS: usize = 10_000;
/// Nesting below which nothing is looked for; deeper than any code, and shallow for the stack.
const MAX_DEPTH: usize = 200;
/// Steps between two looks at the clock.
const STEPS_PER_CHECK: u32 = 256;

/// When a run folds: what readers look for least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FoldingStage {
    Statements,
    Data,
    /// The members of types that are not long.
    Types,
    Declarations,
    MuchData,
    ManyDeclarations,
    Mixed,
    Whole,
    Everything,
}

/// Siblings that are taken together, or one of them.
#[derive(Debug, Clone, Copy)]
struct Gathered {
    first: usize,
    last: usize,
    count: u64,
    what: SiblingKind,
}

/// What is in a node: how many siblings, of what kind, and whether that is one.
#[derive(Debug, Clone, Copy)]
struct ContainedSiblings {
    count: u64,
    what: SiblingKind,
    is_mixed: bool,
}

struct FoundRun {
    gathered: Gathered,
    stage: FoldingStage,
    saved: usize,
}

/// The runs of a parsed text whose outline has these folds, in the order in which they fold.
///
/// # Errors
///
/// `Stopped` when `work` is cancelled or out of time.
pub(super) fn runs(
    source: &Source,
    pieces: &[ParsedPiece],
    folds: &[OutlineRow],
    work: &Work,
) -> Result<Vec<SiblingRun>, Stopped> {
    let rows = RowLines::new(source, folds);
    let mut found = Vec::new();
    for piece in pieces {
        let mut search = RunSearch {
            source,
            piece,
            rows: &rows,
            work,
            steps: 0,
            kinds: SiblingKinds::default(),
            found: Vec::new(),
        };
        search.children(&mut piece.tree.root_node().walk(), 0, false)?;
        found.append(&mut search.found);
    }
    let mut found = nested(found);
    found.sort_by_key(|run| (run.stage, Reverse(run.saved), run.gathered.first));
    found.truncate(MAX_RUNS);
    let run = |FoundRun { gathered, .. }: FoundRun| SiblingRun {
        span: span(gathered.first, gathered.last),
        count: gathered.count,
        what: gathered.what,
    };
    Ok(found.into_iter().map(run).collect())
}

/// Each range once, and of two that overlap, as `} else {` has it, the first.
fn nested(mut found: Vec<FoundRun>) -> Vec<FoundRun> {
    found.sort_by_key(|run| {
        let Gathered { first, last, .. } = run.gathered;
        (first, Reverse(last), run.stage)
    });
    found.dedup_by_key(|run| (run.gathered.first, run.gathered.last));
    let mut around: Vec<usize> = Vec::new();
    found.retain(|run| {
        let Gathered { first, last, .. } = run.gathered;
        while around.last().is_some_and(|end| *end < first) {
            around.pop();
        }
        let is_within = around.last().is_none_or(|end| last <= *end);
        if is_within {
            around.push(last);
        }
        is_within
    });
    found
}

/// Which lines begin and end rows, and what rows cost.
struct RowLines {
    /// Of each line from 0, whether it begins a row, and whether it ends one.
    begins: Vec<bool>,
    ends: Vec<bool>,
    /// Bytes and number of the rows that begin before each line.
    bytes: Vec<usize>,
    rows: Vec<usize>,
}

impl RowLines {
    fn new(source: &Source, folds: &[OutlineRow]) -> RowLines {
        let total = source.len_lines();
        let mut begins = vec![true; total];
        let mut ends = vec![true; total];
        let mut head = vec![None; total];
        for row in folds {
            let (first, last) = (row.span.start as usize - 1, row.span.end as usize - 1);
            begins[first + 1..=last].fill(false);
            ends[first..last].fill(false);
            let fold = row.fold.as_ref();
            head[first] = fold.map(|fold| fold.head.len() + fold.tail.len());
        }
        let mut bytes = Vec::with_capacity(total + 1);
        let mut rows = Vec::with_capacity(total + 1);
        let (mut all, mut count) = (0, 0);
        for (line, (begins, head)) in begins.iter().zip(&head).enumerate() {
            bytes.push(all);
            rows.push(count);
            if *begins {
                all += head.unwrap_or_else(|| source.line(line).len()) + NUMBERS;
                count += 1;
            }
        }
        bytes.push(all);
        rows.push(count);
        RowLines {
            begins,
            ends,
            bytes,
            rows,
        }
    }

    fn rows_in(&self, first: usize, last: usize) -> usize {
        self.rows[last + 1] - self.rows[first]
    }

    fn are_rows(&self, first: usize, last: usize) -> bool {
        self.begins[first] && self.ends[last]
    }
}

/// What stands before a row, about.
const NUMBERS: usize = 8;

struct RunSearch<'a> {
    source: &'a Source,
    piece: &'a ParsedPiece,
    rows: &'a RowLines,
    work: &'a Work,
    steps: u32,
    kinds: SiblingKinds,
    found: Vec<FoundRun>,
}

impl RunSearch<'_> {
    /// Gathers the children of the node under the cursor, and what is in them.
    fn children(
        &mut self,
        cursor: &mut TreeCursor<'_>,
        depth: usize,
        in_type: bool,
    ) -> Result<Option<ContainedSiblings>, Stopped> {
        if depth > MAX_DEPTH || !cursor.goto_first_child() {
            return Ok(None);
        }
        let mut siblings: Vec<Gathered> = Vec::new();
        let mut inner = None;
        loop {
            self.steps += 1;
            if self.steps.is_multiple_of(STEPS_PER_CHECK) {
                self.work.check()?;
            }
            if let Some(sibling) = self.sibling(cursor, in_type) {
                let has_rows = self.rows.rows_in(sibling.first, sibling.last) > 1;
                let within = match has_rows {
                    true => {
                        self.children(cursor, depth + 1, is_type(cursor.node().kind(), in_type))?
                    }
                    false => None,
                };
                self.add(sibling, within, &mut siblings);
                inner = within.or(inner);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
        let inside = self.gather(&siblings);
        // What only wraps one thing has inside what that has.
        Ok(match siblings.len() {
            0 | 1 => inner,
            _ => inside,
        })
    }

    /// The node under the cursor, where it begins a row.
    fn sibling(&self, cursor: &TreeCursor<'_>, in_type: bool) -> Option<Gathered> {
        let node = cursor.node();
        let kind = node.kind();
        // Neither what says something of the next nor the name of what is around.
        let others = [
            "comment",
            "attribute",
            "annotation",
            "decorator",
            "identifier",
        ];
        if !node.is_named() || node.is_extra() || others.iter().any(|it| kind.contains(it)) {
            return None;
        }
        let own = node.start_position().row;
        let end = node.end_position();
        let mut last = end.row.min(self.piece.lines.end.checked_sub(1)?);
        if last > own && end.column == 0 && last == end.row {
            last -= 1;
        }
        while last > own && self.source.line(last).trim().is_empty() {
            last -= 1;
        }
        let mut first = own.max(self.piece.lines.start);
        if last < first {
            return None;
        }
        if last > own
            && let Some(declared) = start_of(node)
        {
            let line = self.source.line_of(declared);
            if line > first && line <= last && self.rows.begins[line] {
                first = line;
            }
        }
        Some(Gathered {
            first,
            last,
            count: 1,
            what: self.kinds.of(node, in_type),
        })
    }

    /// Takes a sibling in, with what holds others as one row.
    fn add(
        &mut self,
        sibling: Gathered,
        within: Option<ContainedSiblings>,
        siblings: &mut Vec<Gathered>,
    ) {
        if let Some(inside) = within {
            let ContainedSiblings { count, what, .. } = inside;
            let gathered = Gathered {
                count,
                what,
                ..sibling
            };
            let is_small = sibling.last - sibling.first < EASY_LINES;
            let is_short_type =
                sibling.what == SiblingKind::Type && sibling.last - sibling.first < SHORT_TYPE;
            let is_data = !what.is_looked_for() && !inside.is_mixed;
            let stage = match (what.is_plain(), is_data, is_small) {
                (true, _, _) => FoldingStage::Statements,
                (_, true, true) => FoldingStage::Data,
                (_, true, false) => FoldingStage::MuchData,
                (_, false, _) if is_short_type => FoldingStage::Types,
                (_, false, _) => FoldingStage::Whole,
            };
            self.found_one(gathered, stage);
        }
        match siblings.last_mut() {
            // Several of one line are one row.
            Some(before) if before.last >= sibling.first => {
                before.last = before.last.max(sibling.last);
                if before.what.is_plain() {
                    before.what = sibling.what;
                }
            }
            _ => siblings.push(sibling),
        }
    }

    /// Gathers siblings: those of one kind, then all.
    fn gather(&mut self, siblings: &[Gathered]) -> Option<ContainedSiblings> {
        let mut alike = Vec::new();
        for group in siblings.chunk_by(|one, two| one.what == two.what) {
            let stages = match group.first()?.what {
                what if what.is_plain() => [FoldingStage::Statements; 3],
                what if what.is_looked_for() => [
                    FoldingStage::Declarations,
                    FoldingStage::ManyDeclarations,
                    FoldingStage::Whole,
                ],
                _ => [
                    FoldingStage::Data,
                    FoldingStage::MuchData,
                    FoldingStage::MuchData,
                ],
            };
            alike.extend(self.gather_by_size(group, stages));
        }
        let stages = [
            FoldingStage::Mixed,
            FoldingStage::Everything,
            FoldingStage::Everything,
        ];
        let all = self.gather_by_size(&alike, stages);
        let [all] = all[..] else { return None };
        Some(ContainedSiblings {
            count: all.count,
            what: all.what,
            is_mixed: alike.len() > 1,
        })
    }

    /// Gathers neighbours up to an easy size, then up to a large one, then to any.
    fn gather_by_size(
        &mut self,
        siblings: &[Gathered],
        stages: [FoldingStage; 3],
    ) -> Vec<Gathered> {
        let mut level = siblings.to_vec();
        for (limit, stage) in [EASY_LINES, MOST_LINES, usize::MAX].into_iter().zip(stages) {
            if level.len() < 2 {
                break;
            }
            level = self.gather_up_to(&level, limit, stage);
        }
        level
    }

    /// Whether lines are so many at most, and such that a single read shows them; where all are to be
    /// one they need not be.
    fn is_within(&self, limit: usize, first: usize, last: usize) -> bool {
        let bytes = self.source.line_start(last + 1) - self.source.line_start(first);
        limit == usize::MAX || last - first < limit && bytes <= MOST_BYTES
    }

    fn gather_up_to(
        &mut self,
        siblings: &[Gathered],
        limit: usize,
        stage: FoldingStage,
    ) -> Vec<Gathered> {
        let mut together: Vec<Gathered> = Vec::new();
        let mut is_several = false;
        for sibling in siblings {
            match together.last_mut() {
                Some(run) if self.is_within(limit, run.first, sibling.last) => {
                    run.last = sibling.last;
                    run.count += sibling.count;
                    run.what = run.what.with(sibling.what);
                    is_several = true;
                }
                last => {
                    if let (Some(run), true) = (last.copied(), is_several) {
                        self.found_one(run, stage);
                    }
                    together.push(*sibling);
                    is_several = false;
                }
            }
        }
        if let (Some(run), true) = (together.last().copied(), is_several) {
            self.found_one(run, stage);
        }
        together
    }

    /// Keeps a run that begins and ends with a row and is worth it.
    fn found_one(&mut self, gathered: Gathered, stage: FoldingStage) {
        let Gathered { first, last, .. } = gathered;
        if !self.rows.are_rows(first, last) || self.rows.rows_in(first, last) < MIN_ROWS {
            return;
        }
        let bytes = self.rows.bytes[last + 1] - self.rows.bytes[first];
        let own = self.rows.bytes[first + 1] - self.rows.bytes[first];
        self.found.push(FoundRun {
            gathered,
            stage,
            saved: bytes - own,
        });
    }
}

/// Whether functions in a node of this kind are methods.
fn is_type(kind: &str, in_type: bool) -> bool {
    let of_type = [
        "class",
        "struct",
        "interface",
        "impl",
        "trait",
        "enum",
        "union",
        "record",
        "protocol",
        "object_d",
    ];
    let ends = ["function", "method", "module", "namespace"];
    let is_one_of = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    !is_one_of(&ends) && (in_type || is_one_of(&of_type))
}
