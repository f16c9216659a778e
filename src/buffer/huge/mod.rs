//! Files too large to hold: the lines one request can show, found by a sparse index; a file is never loaded and never mapped.
//!
//! What is proven. The lines of an excerpt are bytes that the file held during the request, and the
//! block they begin in is compared with what was counted of it. Their numbers rest on the blocks
//! before: those are known to be unchanged while the file's stamp is, once its times are more than
//! two seconds older than the look. While they are not, and where the file grew, the first, the last
//! and up to six blocks in between are compared by their hashes (an index of up to eight blocks is
//! thereby compared whole). Not proven: that a file which grew, or was written within two seconds of
//! its stamp, was not also rewritten in a block that was not compared; its lines are still right,
//! their numbers may be off by the lines gained or lost there. Any other change of the stamp
//! (smaller, another inode, other times) drops the index.

mod blocks;
mod head;
mod index;
mod index_cache;
mod line;
mod window;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use crate::protocol::Refusal;
use crate::protocol::read::Cache;
use crate::task::Work;
use crate::text::NotText;
use crate::view::Selector;
use crate::view::excerpt::Excerpt;
use crate::view::window::Limits;
use crate::workspace::{Handle, Stamp, now_ns};

use super::{EncodingHints, Store};
use blocks::{BlockReader, Halt};
pub use head::Head;
use index::{Counted, LineIndex};
pub use index_cache::IndexCache;

/// What of a file is to be shown.
#[derive(Debug, Clone, Copy)]
pub struct ExcerptRequest<'a> {
    pub selector: &'a Selector,
    pub limits: Limits,
    /// Whether all lines are to be counted, though fewer would do.
    pub counts_lines: bool,
    /// Encodings that others name; a caller's is remembered for the file.
    pub hints: EncodingHints,
}

/// The lines that a request can show, and what is known of the file.
#[derive(Debug)]
pub struct Excerpted {
    pub excerpt: Excerpt,
    pub head: Head,
    /// Whether some of these lines hold bytes that mean nothing in the encoding.
    pub lossy: bool,
    /// A hit where the index covered all that was asked for.
    pub cache: Cache,
}

/// What is kept of a huge file.
#[derive(Debug)]
struct HugeFile {
    head: Head,
    hints: EncodingHints,
    state: Mutex<IndexState>,
}

#[derive(Debug)]
struct IndexState {
    index: LineIndex,
    /// What the file was when the index was last known to be right.
    stamp: Stamp,
    /// When that was, in nanoseconds since the epoch.
    looked_at: i64,
}

/// Attempts to take an excerpt of a file that does not change meanwhile.
const STEADY_ATTEMPTS: usize = 5;
/// Looks that may end between the new time of a file and its new size, when nobody can tell yet that
/// it was only added to. Who appends without a pause is met there again and again; such a look costs
/// little, since what was counted stays.
const TORN_LOOKS: usize = 20;

/// A change so recent that the next one may bear the same time stamp (see `load`).
const TICK_NS: i128 = 20_000_000;

impl Store {
    /// The lines of an opened file that a request can show. `spelled` is the path as the caller
    /// wrote it, for refusals. What was counted is kept, also when the work is stopped.
    pub fn excerpt(
        &self,
        handle: &Handle,
        spelled: &str,
        asked: ExcerptRequest,
        work: &Work,
    ) -> Result<Excerpted, Refusal> {
        let hints = self.remembered(handle, asked.hints);
        let refuse = |error: std::io::Error| Refusal::io(spelled, &error);
        let mut previous: Option<Excerpted> = None;
        let (mut taken, mut torn, mut rewritten) = (0, 0, 0);
        while torn < TORN_LOOKS && rewritten < STEADY_ATTEMPTS {
            let at = now_ns();
            let stamp = handle.restamp().map_err(refuse)?;
            let file = handle.open_read().map_err(refuse)?;
            let mut blocks = BlockReader::new(file, stamp.size, spelled, work);
            let look = OpenedFile {
                handle,
                spelled,
                hints,
                stamp,
                at,
            };
            match self.look(&look, &asked, &mut blocks) {
                Ok((found, after)) => {
                    taken += 1;
                    let fresh = i128::from(at) - after.mtime_ns.max(after.ctime_ns) < TICK_NS;
                    let twice = previous
                        .as_ref()
                        .is_some_and(|previous| previous.excerpt.lines == found.excerpt.lines);
                    if !fresh || twice || taken == STEADY_ATTEMPTS {
                        self.counts.count(found.cache);
                        return Ok(found);
                    }
                    // The second look is warm by the first, which the caller has not seen.
                    let cache = previous.map_or(found.cache, |first| first.cache);
                    previous = Some(Excerpted { cache, ..found });
                }
                Err(Halt::Refused(refusal)) => return Err(refusal),
                Err(Halt::Shrunk) => torn += 1,
                Err(Halt::Rewritten) => {
                    rewritten += 1;
                    self.drop_index(handle);
                }
            }
        }
        Err(Refusal::Io {
            path: spelled.to_owned(),
            message: "it keeps changing while it is read".to_owned(),
        })
    }

    /// One look at the file, and its stamp afterwards.
    fn look(
        &self,
        look: &OpenedFile,
        asked: &ExcerptRequest,
        blocks: &mut BlockReader,
    ) -> Result<(Excerpted, Stamp), Halt> {
        let (entry, warm) = match self.warm_entry(look, blocks)? {
            Some(entry) => (entry, true),
            None => (self.new_entry(look, blocks)?, false),
        };
        let frontier = entry.state.lock().index.frontier();
        let taken = window::take(&entry, asked, blocks);
        self.huge.trim(self.huge_budget());
        let taken = taken?;
        let covered = warm && entry.state.lock().index.frontier() == frontier;
        let after = look.restamp()?;
        if after != look.stamp {
            if after.size <= look.stamp.size {
                return Err(Halt::Shrunk);
            }
            entry.compare(blocks)?;
        }
        let cache = if covered { Cache::Hit } else { Cache::Miss };
        let head = entry.head;
        Ok((
            Excerpted {
                excerpt: taken.excerpt,
                head,
                lossy: taken.lossy,
                cache,
            },
            after,
        ))
    }

    /// The entry of this file, if what was counted still holds.
    fn warm_entry(
        &self,
        look: &OpenedFile,
        blocks: &mut BlockReader,
    ) -> Result<Option<Arc<HugeFile>>, Halt> {
        let Some(entry) = self.huge.get(look.handle.real()) else {
            return Ok(None);
        };
        if entry.hints != look.hints {
            self.huge.remove(look.handle.real());
            return Ok(None);
        }
        let (known, looked_at) = {
            let state = entry.state.lock();
            (state.stamp, state.looked_at)
        };
        if known == look.stamp && known.is_settled(looked_at) {
            return Ok(Some(entry));
        }
        let same_inode = (known.dev, known.ino) == (look.stamp.dev, look.stamp.ino);
        let grew = look.stamp.size > known.size;
        if same_inode && (grew || known == look.stamp) {
            entry.compare(blocks)?;
            entry.confirm(look.stamp, look.at);
            return Ok(Some(entry));
        }
        // Another request may have seen a later state of the file than this one's stamp.
        if look.restamp()? != look.stamp {
            return Err(Halt::Shrunk);
        }
        self.drop_index(look.handle);
        Ok(None)
    }

    fn new_entry(
        &self,
        look: &OpenedFile,
        blocks: &mut BlockReader,
    ) -> Result<Arc<HugeFile>, Halt> {
        let sample = blocks.block(0)?;
        let head = Head::of(sample, look.hints).map_err(|NotText::Binary { what }| {
            Halt::Refused(Refusal::not_text(look.spelled, what))
        })?;
        let mut index = LineIndex::default();
        if !sample.is_empty() {
            index.push(Counted::of(sample, head.newline));
        }
        let state = Mutex::new(IndexState {
            index,
            stamp: look.stamp,
            looked_at: look.at,
        });
        let entry = Arc::new(HugeFile {
            head,
            hints: look.hints,
            state,
        });
        self.huge.insert(look.handle.real().clone(), entry.clone());
        Ok(entry)
    }

    fn drop_index(&self, handle: &Handle) {
        if self.huge.remove(handle.real()) {
            self.counts.stale_avoided.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Bytes that indexes may take: a part of the budget of the buffers.
    fn huge_budget(&self) -> u64 {
        self.budget.load(Ordering::Relaxed) / 8
    }
}

/// A file at the moment a look at it began.
struct OpenedFile<'a> {
    handle: &'a Handle,
    spelled: &'a str,
    hints: EncodingHints,
    stamp: Stamp,
    at: i64,
}

impl OpenedFile<'_> {
    fn restamp(&self) -> Result<Stamp, Halt> {
        let refuse = |error| Halt::Refused(Refusal::io(self.spelled, &error));
        self.handle.restamp().map_err(refuse)
    }
}

impl HugeFile {
    /// Compares some of the counted blocks with the file.
    fn compare(&self, blocks: &mut BlockReader) -> Result<(), Halt> {
        let samples = self.state.lock().index.samples();
        for place in samples {
            blocks.counted(&place)?;
        }
        Ok(())
    }

    /// The index is right for the file as it was at `stamp`; a later state is not taken back.
    fn confirm(&self, stamp: Stamp, at: i64) {
        let mut state = self.state.lock();
        if stamp.size >= state.stamp.size {
            state.stamp = stamp;
            state.looked_at = at;
        }
    }

    /// Counts on until `enough`, or to the end of the file. Others may count at the same time: each
    /// block is entered once.
    fn count_until(
        &self,
        blocks: &mut BlockReader,
        enough: impl Fn(&LineIndex) -> bool,
    ) -> Result<(), Halt> {
        loop {
            let frontier = {
                let mut state = self.state.lock();
                if state.index.frontier() >= blocks.size() || enough(&state.index) {
                    return Ok(());
                }
                state.index.reopen();
                state.index.frontier()
            };
            let bytes = blocks.block(frontier / index::BLOCK)?;
            let counted = Counted::of(bytes, self.head.newline);
            let mut state = self.state.lock();
            if state.index.frontier() == frontier {
                state.index.push(counted);
            }
        }
    }
}
