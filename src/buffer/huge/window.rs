//! Which lines of a huge file a request can show at most, and taking them; what is shown in the end is decided by the view.

use std::time::{Duration, Instant};

use crate::protocol::read::LineSpan;
use crate::view::Selector;
use crate::view::excerpt::{Excerpt, UNCOUNTED_END};
use crate::view::selector::Piece;
use crate::view::window::Spent;

use super::blocks::{BlockReader, Halt};
use super::index::BLOCK;
use super::line::{self, Cursor, LineShape};
use super::{ExcerptRequest, HugeFile};

/// Blocks that are searched from the end for the start of the last lines; for more of them all lines
/// are counted, once, and known from then on.
const TAIL_BLOCKS: u64 = 64;

/// How long all lines are counted for the sake of their number alone. The next request goes on where
/// this one stopped.
const COUNT_TIME: Duration = Duration::from_secs(10);

/// The lines taken so far.
#[derive(Debug, Default)]
pub struct LinesTaken {
    pub excerpt: Excerpt,
    pub lossy: bool,
}

/// The lines that `asked` can show: up to one more than its budget holds, and context.
pub fn take(
    entry: &HugeFile,
    asked: &ExcerptRequest,
    blocks: &mut BlockReader,
) -> Result<LinesTaken, Halt> {
    let mut taking = Taking {
        entry,
        asked,
        shape: LineShape {
            head: entry.head,
            raw: asked.selector.raw,
            columns: asked.limits.columns,
        },
        blocks,
        lines: LinesTaken::default(),
        spent: Spent::default(),
    };
    let is_from_end = taking.run()?;
    if asked.counts_lines && !is_from_end {
        taking.count_for_a_while()?;
    }
    let mut lines = taking.lines;
    lines.excerpt.total_bytes = blocks.size();
    // Lines that were counted from the end have those numbers, whoever has counted all by now.
    let total = entry.total_lines(blocks.size());
    lines.excerpt.total_lines = total.filter(|_| !is_from_end);
    Ok(lines)
}

impl HugeFile {
    fn total_lines(&self, size: u64) -> Option<u64> {
        let state = self.state.lock();
        state.index.total_lines(size, self.head.bom_bytes)
    }

    fn count_all(&self, blocks: &mut BlockReader) -> Result<(), Halt> {
        self.count_until(blocks, |_| false)
    }
}

struct Taking<'a, 'b> {
    entry: &'a HugeFile,
    asked: &'a ExcerptRequest<'a>,
    shape: LineShape,
    blocks: &'a mut BlockReader<'b>,
    lines: LinesTaken,
    spent: Spent,
}

impl Taking<'_, '_> {
    /// Whether the lines that were taken are counted from the end.
    fn run(&mut self) -> Result<bool, Halt> {
        let selector = self.asked.selector;
        let tails = only_tails(selector);
        if tails.is_some() && self.asked.counts_lines {
            self.count_for_a_while()?;
        }
        if let Some(count) = tails
            && self.entry.total_lines(self.blocks.size()).is_none()
        {
            if let Some(at) = self.start_of_tail(count)? {
                let number = UNCOUNTED_END - count + 1;
                let span = LineSpan {
                    start: number,
                    end: UNCOUNTED_END,
                };
                self.take_span(Cursor { at, number }, span, 0)?;
                return Ok(true);
            }
            self.entry.count_all(self.blocks)?;
        }
        self.count_to_starts()?;
        let total = self.entry.total_lines(self.blocks.size());
        let wanted = selector.resolve(total.unwrap_or(UNCOUNTED_END));
        let context = selector.bounded && !selector.raw;
        let rows = self.asked.limits.budget.lines;
        let limits = &self.asked.limits;
        let (leading, trailing) = match context {
            true => (limits.leading.min(rows), limits.trailing.min(rows)),
            false => (0, 0),
        };
        for span in wanted.lines.spans() {
            let first = span.start.saturating_sub(leading).max(1);
            let cursor = self.locate(first)?;
            if !self.take_span(cursor, *span, trailing)? {
                break;
            }
        }
        Ok(false)
    }

    fn count_for_a_while(&mut self) -> Result<(), Halt> {
        let until = Instant::now() + COUNT_TIME;
        self.entry
            .count_until(self.blocks, |_| Instant::now() >= until)
    }

    /// Counts until every piece is known to begin within the file or beyond it.
    fn count_to_starts(&mut self) -> Result<(), Halt> {
        let pieces = &self.asked.selector.pieces;
        let start = pieces.iter().map(|piece| match *piece {
            Piece::From(start) | Piece::Range(start, _) => start,
            // Beside others the last lines have a place only when all are counted.
            Piece::Tail(_) => u64::MAX,
        });
        let start = start.max().unwrap_or(1);
        self.entry
            .count_until(self.blocks, |index| index.newlines() >= start - 1)
    }

    /// Where a line begins that the index covers.
    fn locate(&mut self, number: u64) -> Result<Cursor, Halt> {
        let head = self.entry.head;
        if number <= 1 {
            return Ok(Cursor {
                at: head.bom_bytes,
                number: 1,
            });
        }
        let place = self.entry.state.lock().index.place_of_newline(number - 1);
        // Without a place the index is of an earlier or later state than this look.
        let place = place.ok_or(Halt::Shrunk)?;
        let nth = number - 1 - place.newlines_before;
        let bytes = self.blocks.counted(&place)?;
        let end = head.newline.ends(bytes).nth(nth as usize - 1);
        let end = end.ok_or(Halt::Rewritten)? as u64;
        Ok(Cursor {
            at: place.block * BLOCK + end,
            number,
        })
    }

    /// Takes lines up to the end of the span and its context, or one more than fits: then `false`.
    /// Where the end of the file is reached, all its lines are counted.
    fn take_span(
        &mut self,
        mut cursor: Cursor,
        span: LineSpan,
        trailing: u64,
    ) -> Result<bool, Halt> {
        let numbered = span.end != UNCOUNTED_END || span.start < UNCOUNTED_END / 2;
        let budget = self.asked.limits.for_selector(self.asked.selector);
        let mut room = true;
        while room && cursor.number <= span.end + trailing {
            let wanted = span.lines().contains(&cursor.number);
            let Some(taken) = line::take(self.blocks, &mut cursor, &self.shape)? else {
                break;
            };
            if wanted {
                self.spent.lines += 1;
                self.spent.bytes += taken.line.text.len() as u64 + 1;
                room = self.spent.lines <= budget.lines && self.spent.bytes <= budget.bytes;
                // The first line is shown whatever its length.
                room |= self.spent.lines == 1;
            }
            self.lines.lossy |= taken.lossy;
            self.lines.excerpt.lines.push(taken.line);
        }
        if numbered && cursor.at >= self.blocks.size() {
            self.entry.count_all(self.blocks)?;
        }
        Ok(room)
    }

    /// Where the last `count` lines begin. `None` where that is far from the end or was counted
    /// already: then all lines should be.
    fn start_of_tail(&mut self, count: u64) -> Result<Option<u64>, Halt> {
        let newline = self.entry.head.newline;
        let counted = self.entry.state.lock().index.frontier();
        let size = self.blocks.size();
        let Some(last) = size.checked_sub(1).map(|byte| byte / BLOCK) else {
            return Ok(None);
        };
        // The newline that ends the file begins no line.
        let mut needed = count;
        for block in (0..=last).rev().take(TAIL_BLOCKS as usize) {
            if block * BLOCK < counted {
                return Ok(None);
            }
            let bytes = self.blocks.block(block)?;
            if block == last && newline.ends(bytes).last() == Some(bytes.len()) {
                needed = needed.saturating_add(1);
            }
            let here = newline.count(bytes);
            if here >= needed {
                let nth = (here - needed) as usize;
                let end = newline.ends(bytes).nth(nth).unwrap_or(bytes.len());
                return Ok(Some(block * BLOCK + end as u64));
            }
            needed -= here;
        }
        Ok(None)
    }
}

/// The count of a selector that asks for nothing but the last lines.
fn only_tails(selector: &Selector) -> Option<u64> {
    let counts = selector.pieces.iter().map(|piece| match piece {
        Piece::Tail(count) => Some(*count),
        _ => None,
    });
    let counts: Option<Vec<u64>> = counts.collect();
    counts?.into_iter().max()
}
