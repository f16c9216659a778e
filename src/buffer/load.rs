//! Getting a file's text: warm where the file proves unchanged, else from its bytes; what was read while it changed is never taken for a text that the file had.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use encoding_rs::Encoding;
use xxhash_rust::xxh3::xxh3_128;

use crate::hashline::tag::Fingerprint;
use crate::protocol::Refusal;
use crate::protocol::read::Cache;
use crate::task::{LONG_FROM_BYTES, Work};
use crate::text::{Decoded, NotText, Text, decode};
use crate::workspace::{Handle, RealPath, Stamp, now_ns};

use super::proof::{Proof, hash_of, is_of_this_moment};
use super::steady::{STEADY_ATTEMPTS, SteadyRead, read_all, read_steady, too_large};
use super::watch::{Evicted, PriorState};
use super::{Buffer, Counts, Loaded, Looked, MAX_BUFFER_BYTES, Store};

/// What is said about a file's encoding by those who may know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodingHints {
    /// A caller's word, which is remembered for the file and counts before everything.
    pub declared: Option<&'static Encoding>,
    /// The editor's word, which counts after a BOM.
    pub editor: Option<&'static Encoding>,
}

impl EncodingHints {
    /// The encoding that bytes which begin like these are to be read in, if anyone named one.
    pub(super) fn for_bytes(&self, bytes: &[u8]) -> Option<&'static Encoding> {
        let editor = self.editor.filter(|_| Encoding::for_bom(bytes).is_none());
        self.declared.or(editor)
    }
}

/// One look at a file: for a request, or to warm it again.
struct Errand<'a> {
    handle: &'a Handle,
    spelled: &'a str,
    hints: EncodingHints,
    work: &'a Work,
    counts: &'a Counts,
    /// What was known of it before.
    seen: PriorState,
    /// A request asks: it sees for itself what has changed, and tells the sessions.
    asked: bool,
}

impl Store {
    /// The text of an opened file. `spelled` is the path as the caller wrote it, for refusals.
    ///
    /// Errors with `busy` where the file is written all the while it is read.
    pub fn load(
        &self,
        handle: &Handle,
        spelled: &str,
        hints: EncodingHints,
        work: &Work,
    ) -> Result<Loaded, Refusal> {
        match self.load_or_torn(handle, spelled, hints, work)? {
            Looked::Sound(loaded) => Ok(loaded),
            Looked::Torn(_) => Err(busy(spelled)),
        }
    }

    /// As [`Store::load`], with what was read of a file that is written all the while.
    pub fn load_or_torn(
        &self,
        handle: &Handle,
        spelled: &str,
        hints: EncodingHints,
        work: &Work,
    ) -> Result<Looked, Refusal> {
        self.renew(&Errand {
            handle,
            spelled,
            hints: self.remembered(handle, hints),
            work,
            counts: &self.counts,
            seen: self.watch.look(handle, true),
            asked: true,
        })
    }

    /// What was loaded in this very request, with the very bytes that it was decoded from.
    pub fn with_bytes(
        &self,
        (handle, loaded): (&Handle, Loaded),
        spelled: &str,
        hints: EncodingHints,
        work: &Work,
    ) -> Result<(Arc<Buffer>, Vec<u8>), Refusal> {
        let refuse = |error: std::io::Error| Refusal::io(spelled, &error);
        let Loaded {
            mut buffer, bytes, ..
        } = loaded;
        if let Some(bytes) = bytes {
            return Ok((buffer, bytes));
        }
        for _ in 0..STEADY_ATTEMPTS {
            let mut file = handle.open_read().map_err(refuse)?;
            let bytes = read_all(&mut file, buffer.total_bytes, spelled, work)?;
            if xxh3_128(&bytes) == buffer.bytes_hash {
                return Ok((buffer, bytes));
            }
            buffer = self.load(handle, spelled, hints, work)?.buffer;
        }
        Err(busy(spelled))
    }

    /// Takes in what we have just written over `old`, in its encoding: the next look need only see
    /// that the file still holds it.
    pub fn wrote(
        &self,
        real: &RealPath,
        old: &Buffer,
        (total_bytes, bytes_hash): (u64, u128),
        (text, fingerprint): (&Text, Option<Fingerprint>),
        stamp: Stamp,
    ) {
        let is_warm = self.buffers.peek(real).is_some();
        // Of damaged text only decoding tells how much damage is left.
        if !is_warm || old.bad_bytes > 0 {
            return;
        }
        let buffer = Buffer {
            text: text.clone(),
            encoding: old.encoding,
            confidence: old.confidence,
            bom: old.bom,
            bad_bytes: 0,
            total_bytes,
            fingerprint: fingerprint.map_or_else(OnceLock::new, OnceLock::from),
            declared: old.declared,
            stamp,
            bytes_hash,
            looked_at: AtomicI64::new(now_ns()),
        };
        self.put(real, Arc::new(buffer));
    }

    /// What [`Store::wrote`] took in under that stamp, if the file still has it. Somebody who
    /// wrote since, within one tick of the file system's clock, is found by the next look.
    #[expect(
        clippy::disallowed_methods,
        reason = "a handle would be opened for this look alone; the path was judged"
    )]
    pub fn just_written(&self, real: &RealPath, stamp: Stamp) -> Option<Arc<Buffer>> {
        let warm = self.buffers.peek(real)?;
        let now = real.as_path().symlink_metadata().ok()?;
        (warm.stamp == stamp && Stamp::of(&now) == stamp).then_some(warm)
    }

    /// Reads a warm file again where it may have changed, for nobody in particular: it counts as
    /// neither hit nor miss.
    pub(super) fn rewarm(&self, handle: &Handle, work: &Work) -> Result<(), Refusal> {
        let seen = self.watch.look(handle, false);
        let Some(warm) = self.buffers.peek(handle.real()) else {
            return Ok(());
        };
        if warm.stamp == handle.stamp() && !seen.doubtful {
            return Ok(());
        }
        let renewed = self.renew(&Errand {
            handle,
            spelled: &handle.real().as_path().to_string_lossy(),
            hints: warm.declared,
            work,
            counts: &Counts::default(),
            seen,
            asked: false,
        });
        renewed.map(drop)
    }

    fn renew(&self, errand: &Errand) -> Result<Looked, Refusal> {
        let Errand {
            handle, spelled, ..
        } = errand;
        let refuse = |error: std::io::Error| Refusal::io(*spelled, &error);
        let stamp = handle.current_stamp().map_err(refuse)?;
        let warm = self.buffers.get(handle.real());
        let warm = warm.filter(|buffer| buffer.declared == errand.hints);
        if let Some(buffer) = &warm
            && buffer.stamp == stamp
            && buffer.is_proven(handle, errand.seen.doubtful)
        {
            errand.counts.hits.fetch_add(1, Ordering::Relaxed);
            if !errand.seen.known || errand.seen.doubtful {
                self.watch.keep(handle, errand.seen);
            }
            return Ok(Looked::Sound(hit(buffer.clone())));
        }
        if stamp.size > MAX_BUFFER_BYTES {
            return Err(too_large(spelled, stamp.size));
        }
        if stamp.size > LONG_FROM_BYTES && errand.work.takes_long()? {
            let seen = self.watch.look(handle, errand.asked);
            return self.renew(&Errand { seen, ..*errand });
        }
        let known = warm.as_ref().map(|buffer| buffer.bytes_hash);
        let read = read_steady(handle, spelled, known, errand.work)?;
        if read.is_torn {
            // What is warm may be what the file will hold again: it stays, under its old stamp.
            errand.counts.misses.fetch_add(1, Ordering::Relaxed);
            return Ok(Looked::Torn(buffer_of(errand, &read)?));
        }
        if let Some(buffer) = warm
            && buffer.bytes_hash == read.hash
        {
            return Ok(Looked::Sound(self.confirm(errand, buffer, read)));
        }
        self.take_in(errand, read).map(Looked::Sound)
    }

    /// These hints with the one that a caller said before; a new one is remembered.
    pub(super) fn remembered(&self, handle: &Handle, hints: EncodingHints) -> EncodingHints {
        if let Some(encoding) = hints.declared {
            self.declared.insert(handle.real().clone(), encoding);
        }
        let declared = hints.declared.or_else(|| self.declared.get(handle.real()));
        EncodingHints { declared, ..hints }
    }

    /// The bytes are those of the warm buffer: its text serves on, under the newest stamp.
    fn confirm(&self, errand: &Errand, buffer: Arc<Buffer>, read: SteadyRead) -> Loaded {
        self.watch.keep(errand.handle, errand.seen);
        errand.counts.hits.fetch_add(1, Ordering::Relaxed);
        if buffer.stamp == read.stamp {
            buffer.looked_at.fetch_max(read.at, Ordering::Relaxed);
            return Loaded {
                bytes: Some(read.bytes),
                ..hit(buffer)
            };
        }
        let renewed = Arc::new(Buffer {
            text: buffer.text.clone(),
            fingerprint: buffer.fingerprint.clone(),
            stamp: read.stamp,
            looked_at: AtomicI64::new(read.at),
            ..*buffer
        });
        self.put(errand.handle.real(), renewed.clone());
        Loaded {
            bytes: Some(read.bytes),
            ..hit(renewed)
        }
    }

    /// Puts a buffer in the place of a former one of the same file, which stays watched.
    fn put(&self, real: &RealPath, buffer: Arc<Buffer>) {
        let mut evicted = Evicted::by(real);
        self.buffers
            .insert_with_lifecycle(real.clone(), buffer, &mut evicted);
        // It may be what did not fit.
        if self.buffers.peek(real).is_none() {
            self.watch.forget(real);
        }
    }

    fn take_in(&self, errand: &Errand, read: SteadyRead) -> Result<Loaded, Refusal> {
        let real = errand.handle.real();
        errand.counts.misses.fetch_add(1, Ordering::Relaxed);
        let former = self.buffers.remove(real).map(|(_, former)| former);
        if former.is_some() {
            errand.counts.stale_avoided.fetch_add(1, Ordering::Relaxed);
        }
        let buffer = buffer_of(errand, &read);
        let changed = former.is_some_and(|former| former.bytes_hash != read.hash);
        if changed {
            let news = (!errand.asked).then(|| buffer.as_ref().ok().cloned());
            self.watch.found_changed(real, errand.seen, news);
        }
        let buffer = buffer.inspect_err(|_| self.watch.forget(real))?;
        self.watch.keep(errand.handle, errand.seen);
        self.buffers.insert(real.clone(), buffer.clone());
        Ok(Loaded {
            buffer,
            cache: Cache::Miss,
            bytes: Some(read.bytes),
        })
    }
}

/// The text of these bytes. An editor says UTF-8 of every file that it knows nothing of: a word of
/// its own that the bytes do not bear out counts for less than what they say themselves.
fn decoded(bytes: &[u8], hints: &EncodingHints) -> Result<Decoded, NotText> {
    let said = hints.for_bytes(bytes);
    let decoded = decode(bytes, said);
    if said.is_none() || hints.declared.is_some() {
        return decoded;
    }
    let damage = |decoded: &Result<Decoded, NotText>| match decoded {
        Ok(decoded) => decoded.bad_bytes,
        Err(_) => usize::MAX,
    };
    if damage(&decoded) == 0 {
        return decoded;
    }
    let by_itself = decode(bytes, None);
    match damage(&by_itself) < damage(&decoded) {
        true => by_itself,
        false => decoded,
    }
}

/// Decodes what was read; refuses what is no text.
fn buffer_of(errand: &Errand, read: &SteadyRead) -> Result<Arc<Buffer>, Refusal> {
    let total_bytes = read.bytes.len() as u64;
    let decoded = decoded(&read.bytes, &errand.hints)
        .map_err(|NotText::Binary { what }| Refusal::not_text(errand.spelled, what))?;
    Ok(Arc::new(Buffer {
        text: decoded.text,
        encoding: decoded.encoding,
        confidence: decoded.confidence,
        bom: decoded.bom,
        bad_bytes: decoded.bad_bytes,
        total_bytes,
        fingerprint: OnceLock::new(),
        declared: errand.hints,
        stamp: read.stamp,
        bytes_hash: read.hash,
        looked_at: AtomicI64::new(read.at),
    }))
}

fn hit(buffer: Arc<Buffer>) -> Loaded {
    Loaded {
        buffer,
        cache: Cache::Hit,
        bytes: None,
    }
}

fn busy(spelled: &str) -> Refusal {
    Refusal::Busy {
        message: format!("'{spelled}' is being changed all the time."),
    }
}

impl Buffer {
    /// Whether the file, which has the stamp of this buffer, still holds its bytes. `is_doubtful`
    /// where something was heard of it since it was read.
    fn is_proven(&self, handle: &Handle, is_doubtful: bool) -> bool {
        // In /proc and /sys the size says nothing.
        if self.stamp.size != self.total_bytes {
            return false;
        }
        let looked_at = self.looked_at.load(Ordering::Relaxed);
        match Proof::of(handle, self.total_bytes) {
            Proof::Bytes => self.is_in(handle),
            Proof::Stamp => self.stamp.is_settled(looked_at) && !is_doubtful,
            Proof::Moment => is_of_this_moment(looked_at) && !is_doubtful,
        }
    }

    /// Whether the file holds these bytes, and had this stamp after they were read. What cannot be
    /// read is for the next step to refuse.
    fn is_in(&self, handle: &Handle) -> bool {
        let hash = hash_of(handle, self.total_bytes);
        hash.is_ok_and(|hash| hash == Some(self.bytes_hash))
            && handle.restamp().is_ok_and(|after| after == self.stamp)
    }
}
