//! An outline over its text: its rows, and how they fold further until they fit; whatever room there is, they name each line once.
//!
//! First the runs that came with the folds stand as one row each, in their order, as few as do. Where
//! that is not enough, rows are taken together evenly, whatever they are.

use std::borrow::Cow;

use crate::protocol::read::LineSpan;
use crate::text::Text;

use super::{Fold, Folding, OutlineRow, SiblingRun, ordinary};

/// A text with its long parts folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub language: &'static str,
    /// In line order; together they name every line exactly once.
    pub rows: Vec<OutlineRow>,
    runs: Vec<PlacedRun>,
    /// The first rows as they are written.
    written: RowTexts,
}

/// Rows that may stand as one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PlacedRun {
    row: OutlineRow,
    /// The first of the rows and the last.
    first: u32,
    last: u32,
}

/// The texts of rows, one after the other: a warm summary need not look for its lines in the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct RowTexts {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// Bytes of every row.
    bytes: Vec<u32>,
}

/// Bytes of rows that are kept written: more than a read without a budget of its own shows.
const WRITTEN: usize = 64 * 1024;

/// Folds and runs that cannot be those of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the folds are not in the lines of the text")]
pub struct Misplaced;

/// A row of an outline that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRow<'o> {
    pub row: Cow<'o, OutlineRow>,
    /// Its text, where it is kept, without regard to how long a row may be.
    pub written: Option<&'o str>,
    /// Bytes of its text.
    pub bytes: usize,
}

impl Outline {
    /// Of a text that is folded so.
    ///
    /// # Errors
    ///
    /// `Misplaced` where folds overlap, runs do other than contain each other, or something is not
    /// within the text.
    pub fn new(
        language: &'static str,
        folding: Folding,
        text: &Text,
    ) -> Result<Outline, Misplaced> {
        let total = text.len_lines() as u64;
        let mut rows = Vec::with_capacity(folding.folds.len() * 4);
        let mut next = 1;
        for row in folding.folds {
            let LineSpan { start, end } = row.span;
            if start < next || end < start || end > total || row.fold.is_none() {
                return Err(Misplaced);
            }
            rows.extend((next..start).map(ordinary));
            rows.push(row);
            next = end + 1;
        }
        rows.extend((next..=total).map(ordinary));
        let runs = folding.runs.iter();
        let runs = runs.map(|run| PlacedRun::new(run, &rows, text));
        let runs: Option<Vec<PlacedRun>> = runs.collect();
        Ok(Outline {
            language,
            written: RowTexts::of(&rows, text),
            runs: runs.filter(|runs| are_nested(runs)).ok_or(Misplaced)?,
            rows,
        })
    }

    /// Whether nothing of it is folded before room is short.
    pub fn is_whole_text(&self) -> bool {
        self.rows.iter().all(|row| row.fold.is_none())
    }

    /// A row as it stands, without regard to room.
    fn shown(&self, index: usize) -> Option<ShownRow<'_>> {
        Some(ShownRow {
            row: Cow::Borrowed(self.rows.get(index)?),
            written: self.written.get(index),
            bytes: *self.written.bytes.get(index)? as usize,
        })
    }

    /// All rows as they stand from the one that holds a line on.
    pub fn shown_from(&self, line: u64) -> impl Iterator<Item = ShownRow<'_>> {
        let from = self.rows.partition_point(|row| row.span.end < line);
        (from..self.rows.len()).filter_map(|index| self.shown(index))
    }

    /// Its rows, folded further as little as `fits` needs; in the end all are one row. Whether
    /// anything was folded further.
    pub fn fitted<'o>(
        &'o self,
        text: &Text,
        fits: impl Fn(&[ShownRow]) -> bool,
    ) -> (Vec<ShownRow<'o>>, bool) {
        let rows = self.with_runs(0);
        if fits(&rows) {
            return (rows, false);
        }
        let all = self.with_runs(self.runs.len());
        if !fits(&all) {
            return (taken_together(all, text, fits), true);
        }
        // Of the first so many: too few, and enough.
        let (mut few, mut enough) = (0, self.runs.len());
        while few + 1 < enough {
            let middle = few.midpoint(enough);
            match fits(&self.with_runs(middle)) {
                true => enough = middle,
                false => few = middle,
            }
        }
        (self.with_runs(enough), true)
    }

    /// The rows with the first so many runs as one row each.
    fn with_runs(&self, count: usize) -> Vec<ShownRow<'_>> {
        let mut outermost: Vec<Option<&PlacedRun>> = vec![None; self.rows.len()];
        for run in &self.runs[..count] {
            let at = &mut outermost[run.first as usize];
            if at.is_none_or(|held| held.last < run.last) {
                *at = Some(run);
            }
        }
        let mut rows = Vec::new();
        let mut index = 0;
        while index < self.rows.len() {
            match outermost[index] {
                None => {
                    rows.extend(self.shown(index));
                    index += 1;
                }
                Some(run) => {
                    rows.push(ShownRow {
                        bytes: run.row.fold.as_ref().map_or(0, Fold::bytes),
                        row: Cow::Borrowed(&run.row),
                        written: None,
                    });
                    index = run.last as usize + 1;
                }
            }
        }
        rows
    }

    /// Bytes in memory, about.
    pub fn weight(&self) -> usize {
        let of_fold = |row: &OutlineRow| row.fold.as_ref().map_or(0, Fold::bytes);
        let folds: usize = self.rows.iter().map(of_fold).sum();
        let runs = self.runs.iter().map(|run| of_fold(&run.row));
        let runs: usize = runs.map(|bytes| size_of::<PlacedRun>() + bytes).sum();
        let written = self.written.text.len() + self.written.ends.len() * size_of::<usize>();
        self.rows.len() * (size_of::<OutlineRow>() + size_of::<u32>()) + folds + runs + written
    }
}

impl PlacedRun {
    /// `None` where no row begins and none ends with it.
    fn new(run: &SiblingRun, rows: &[OutlineRow], text: &Text) -> Option<PlacedRun> {
        let LineSpan { start, end } = run.span;
        let first = rows
            .binary_search_by_key(&start, |row| row.span.start)
            .ok()?;
        let last = rows.binary_search_by_key(&end, |row| row.span.end).ok()?;
        let row = (first <= last).then(|| {
            let noun = run.what.noun(run.count);
            headed(run.span, text, format!("({} {noun})", run.count))
        });
        Some(PlacedRun {
            row: row?,
            first: first as u32,
            last: last as u32,
        })
    }
}

/// Whether two of them are always apart, or one within the other.
fn are_nested(runs: &[PlacedRun]) -> bool {
    let mut spans: Vec<(u32, u32)> = runs.iter().map(|run| (run.first, run.last)).collect();
    spans.sort_by_key(|(first, last)| (*first, u32::MAX - last));
    let mut around: Vec<u32> = Vec::new();
    spans.into_iter().all(|(first, last)| {
        while around.last().is_some_and(|end| *end < first) {
            around.pop();
        }
        let is_within = around.last().is_none_or(|end| last <= *end);
        around.push(last);
        is_within
    })
}

/// A range as its first line, and what there is of it.
fn headed(span: LineSpan, text: &Text, tail: String) -> OutlineRow {
    let first = text.line(span.start as usize - 1);
    let head = first.trim_end().to_owned();
    OutlineRow {
        span,
        fold: Some(Fold {
            shows_first: head.len() == first.len(),
            shows_last: false,
            head,
            tail,
        }),
    }
}

/// Ever more neighbours as one row, until they fit or are one.
fn taken_together<'o>(
    rows: Vec<ShownRow<'o>>,
    text: &Text,
    fits: impl Fn(&[ShownRow]) -> bool,
) -> Vec<ShownRow<'o>> {
    let mut rows = rows;
    while rows.len() > 1 {
        let pair = |pair: &[ShownRow<'o>]| match pair {
            [first, .., last] => {
                let span = LineSpan {
                    start: first.row.span.start,
                    end: last.row.span.end,
                };
                let row = headed(span, text, format!("({} lines)", span.count()));
                ShownRow {
                    bytes: row.fold.as_ref().map_or(0, Fold::bytes),
                    row: Cow::Owned(row),
                    written: None,
                }
            }
            _ => pair[0].clone(),
        };
        rows = rows.chunks(2).map(pair).collect();
        if fits(&rows) {
            break;
        }
    }
    rows
}

impl RowTexts {
    fn of(rows: &[OutlineRow], text: &Text) -> RowTexts {
        let mut written = RowTexts::default();
        let mut lines = text.lines_at(0);
        for row in rows {
            let first = lines.next().unwrap_or_default();
            if let Some(fold) = &row.fold {
                lines = text.lines_at(row.span.end as usize);
                written.bytes.push(fold.bytes() as u32);
            } else {
                written.bytes.push(first.len() as u32);
            }
            if written.text.len() > WRITTEN {
                continue;
            }
            match &row.fold {
                None => written.text.push_str(&first),
                Some(fold) => fold.write_between(&fold.head, &fold.tail, &mut written.text),
            }
            written.ends.push(written.text.len());
        }
        written
    }

    fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        let start = match row {
            0 => 0,
            _ => self.ends[row - 1],
        };
        self.text.get(start..end)
    }
}

impl Fold {
    /// `HEAD … TAIL`, `HEAD …` or `…`, with a head and a tail that may be cut.
    pub fn write_between(&self, head: &str, tail: &str, out: &mut String) {
        out.push_str(head);
        if !head.is_empty() {
            out.push(' ');
        }
        out.push('…');
        if !tail.is_empty() {
            out.push(' ');
        }
        out.push_str(tail);
    }

    /// Bytes as it is written.
    fn bytes(&self) -> usize {
        let gaps = usize::from(!self.head.is_empty()) + usize::from(!self.tail.is_empty());
        self.head.len() + gaps + '…'.len_utf8() + self.tail.len()
    }
}
