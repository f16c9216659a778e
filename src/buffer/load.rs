//! Getting a file's text: warm where the file proves unchanged, else from its bytes; a file that changes while it is read is never shown torn.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use encoding_rs::Encoding;
use xxhash_rust::xxh3::xxh3_128;

use crate::hashline::tag::Fingerprint;
use crate::protocol::Refusal;
use crate::protocol::read::Cache;
use crate::task::{Detour, Lane, Work};
use crate::text::{Decoded, NotText, Text, decode};
use crate::workspace::{Handle, RealPath, Stamp};

use super::watch::{Evicted, Seen};
use super::{Buffer, Counts, Loaded, MAX_BUFFER_BYTES, Store, now_ns};

/// What is said about a file's encoding by those who may know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Words {
    /// A caller's word, which is remembered for the file and counts before everything.
    pub declared: Option<&'static Encoding>,
    /// The editor's word, which counts after a BOM.
    pub editor: Option<&'static Encoding>,
}

impl Words {
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
    words: Words,
    lane: Lane,
    work: &'a Work,
    counts: &'a Counts,
    /// What was known of it before.
    seen: Seen,
    /// A request asks: it sees for itself what has changed, and tells the sessions.
    asked: bool,
}

/// Loads and parses over this many bytes belong in the long lane.
const SHORT_LANE_BYTES: u64 = 1024 * 1024;

/// Attempts to read a file that does not change meanwhile.
const STEADY_ATTEMPTS: usize = 5;

/// A change so recent that the next one may still bear the same time stamp on kernels whose file
/// times tick every 1-10 ms.
const TICK_NS: i128 = 20_000_000;

/// Bytes between two looks at the cancel token.
const READ_CHUNK: usize = 1024 * 1024;

impl Store {
    /// The text of an opened file. `spelled` is the path as the caller wrote it, for refusals.
    pub fn load(
        &self,
        handle: &Handle,
        spelled: &str,
        words: Words,
        lane: Lane,
        work: &Work,
    ) -> Result<Loaded, Detour> {
        self.renew(&Errand {
            handle,
            spelled,
            words: self.remembered(handle, words),
            lane,
            work,
            counts: &self.counts,
            seen: self.watch.look(handle.real(), true),
            asked: true,
        })
    }

    /// What was loaded in this very request, with the very bytes that it was decoded from.
    pub fn with_bytes(
        &self,
        (handle, loaded): (&Handle, Loaded),
        spelled: &str,
        words: Words,
        work: &Work,
    ) -> Result<(Arc<Buffer>, Vec<u8>), Detour> {
        let refuse = |error: std::io::Error| Detour::Refused(Refusal::io(spelled, &error));
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
            buffer = self.load(handle, spelled, words, Lane::Long, work)?.buffer;
        }
        let message = format!("'{spelled}' is being changed all the time.");
        Err(Refusal::Busy { message }.into())
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
    pub fn just_written(&self, real: &RealPath, stamp: Stamp) -> Option<Arc<Buffer>> {
        let warm = self.buffers.peek(real)?;
        let now = real.as_path().symlink_metadata().ok()?;
        (warm.stamp == stamp && Stamp::of(&now) == stamp).then_some(warm)
    }

    /// Reads a warm file again where it may have changed, for nobody in particular: it counts as
    /// neither hit nor miss.
    pub(super) fn rewarm(&self, handle: &Handle, work: &Work) -> Result<(), Detour> {
        let seen = self.watch.look(handle.real(), false);
        let Some(warm) = self.buffers.peek(handle.real()) else {
            return Ok(());
        };
        if warm.stamp == handle.stamp() && !seen.doubtful {
            return Ok(());
        }
        let renewed = self.renew(&Errand {
            handle,
            spelled: &handle.real().as_path().to_string_lossy(),
            words: warm.declared,
            lane: Lane::Long,
            work,
            counts: &Counts::default(),
            seen,
            asked: false,
        });
        renewed.map(drop)
    }

    fn renew(&self, errand: &Errand) -> Result<Loaded, Detour> {
        let Errand {
            handle, spelled, ..
        } = errand;
        let stamp = handle.stamp();
        let warm = self.buffers.get(handle.real());
        let warm = warm.filter(|buffer| buffer.declared == errand.words);
        if let Some(buffer) = &warm
            && buffer.stamp == stamp
            && buffer.stamp_is_proof()
            && !errand.seen.doubtful
        {
            errand.counts.hits.fetch_add(1, Ordering::Relaxed);
            if !errand.seen.known {
                self.watch.keep(handle.real(), errand.seen);
            }
            return Ok(hit(buffer.clone()));
        }
        if stamp.size > MAX_BUFFER_BYTES {
            return Err(too_large(spelled, stamp.size).into());
        }
        if errand.lane == Lane::Short && stamp.size > SHORT_LANE_BYTES {
            return Err(Detour::TakesLong);
        }
        let known = warm.as_ref().map(|buffer| buffer.bytes_hash);
        let (read, hash) = read_steady(handle, spelled, known, errand.work)?;
        if let Some(buffer) = warm
            && buffer.bytes_hash == hash
        {
            return Ok(self.confirm(errand, buffer, read));
        }
        self.take_in(errand, read, hash)
    }

    /// These words with the one that a caller said before; a new one is remembered.
    pub(super) fn remembered(&self, handle: &Handle, words: Words) -> Words {
        if let Some(encoding) = words.declared {
            self.declared.insert(handle.real().clone(), encoding);
        }
        let declared = words.declared.or_else(|| self.declared.get(handle.real()));
        Words { declared, ..words }
    }

    /// The bytes are those of the warm buffer: its text serves on, under the newest stamp.
    fn confirm(&self, errand: &Errand, buffer: Arc<Buffer>, read: SteadyRead) -> Loaded {
        self.watch.keep(errand.handle.real(), errand.seen);
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

    fn take_in(
        &self,
        errand: &Errand,
        read: SteadyRead,
        bytes_hash: u128,
    ) -> Result<Loaded, Detour> {
        let real = errand.handle.real();
        errand.counts.misses.fetch_add(1, Ordering::Relaxed);
        let former = self.buffers.remove(real).map(|(_, former)| former);
        if former.is_some() {
            errand.counts.stale_avoided.fetch_add(1, Ordering::Relaxed);
        }
        let buffer = buffer_of(errand, &read, bytes_hash);
        let changed = former.is_some_and(|former| former.bytes_hash != bytes_hash);
        if changed {
            let news = (!errand.asked).then(|| buffer.as_ref().ok().cloned());
            self.watch.found_changed(real, errand.seen, news);
        }
        let buffer = buffer.inspect_err(|_| self.watch.forget(real))?;
        self.watch.keep(real, errand.seen);
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
fn decoded(bytes: &[u8], words: &Words) -> Result<Decoded, NotText> {
    let said = words.for_bytes(bytes);
    let decoded = decode(bytes, said);
    if said.is_none() || words.declared.is_some() {
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
fn buffer_of(errand: &Errand, read: &SteadyRead, bytes_hash: u128) -> Result<Arc<Buffer>, Refusal> {
    let total_bytes = read.bytes.len() as u64;
    let decoded = decoded(&read.bytes, &errand.words)
        .map_err(|NotText::Binary { what }| Refusal::not_text(errand.spelled, what))?;
    Ok(Arc::new(Buffer {
        text: decoded.text,
        encoding: decoded.encoding,
        confidence: decoded.confidence,
        bom: decoded.bom,
        bad_bytes: decoded.bad_bytes,
        total_bytes,
        fingerprint: OnceLock::new(),
        declared: errand.words,
        stamp: read.stamp,
        bytes_hash,
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

fn too_large(spelled: &str, size: u64) -> Refusal {
    Refusal::TooLarge {
        path: spelled.to_owned(),
        what: format!("{size} bytes, and text files are held up to 32 MiB"),
        instead: "Use a tool that streams, such as sed -n, for a part of it.".to_owned(),
    }
}

/// Bytes that the file held at one moment between the request and now.
struct SteadyRead {
    bytes: Vec<u8>,
    stamp: Stamp,
    /// Before the first byte was read, in nanoseconds since the epoch.
    at: i64,
}

/// Reads until the file's stamp is the same before and after. Where the last change is so fresh
/// that another could hide in the same tick of the clock, the bytes must also come out twice alike,
/// or be those that were `known`. Also gives their hash.
fn read_steady(
    handle: &Handle,
    spelled: &str,
    known: Option<u128>,
    work: &Work,
) -> Result<(SteadyRead, u128), Detour> {
    let refuse = |error: std::io::Error| Detour::Refused(Refusal::io(spelled, &error));
    let mut previous: Option<Vec<u8>> = None;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let at = now_ns();
        let before = handle.restamp().map_err(refuse)?;
        let mut file = handle.open_read().map_err(refuse)?;
        let bytes = read_all(&mut file, before.size, spelled, work)?;
        let after = handle.restamp().map_err(refuse)?;
        let fresh = i128::from(at) - after.mtime_ns.max(after.ctime_ns) < TICK_NS;
        let hash = xxh3_128(&bytes);
        let is_known = known == Some(hash);
        let steady = before == after && (!fresh || is_known || previous.as_ref() == Some(&bytes));
        if steady || attempt == STEADY_ATTEMPTS {
            let read = SteadyRead {
                bytes,
                stamp: after,
                at,
            };
            return Ok((read, hash));
        }
        if before != after {
            std::thread::sleep(Duration::from_millis(1));
        }
        previous = Some(bytes);
    }
}

/// Reads to the end whatever size the file claims (/proc says 0), up to the cap.
fn read_all(file: &mut File, size: u64, spelled: &str, work: &Work) -> Result<Vec<u8>, Detour> {
    // One byte more than the file claims: then its end is seen without making room for more.
    let mut bytes = vec![0; size.min(MAX_BUFFER_BYTES) as usize + 1];
    let mut count = 0;
    loop {
        work.check()?;
        if count == bytes.len() {
            bytes.resize(count + READ_CHUNK, 0);
        }
        let room = bytes.len().min(count + READ_CHUNK);
        match file.read(&mut bytes[count..room]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Refusal::io(spelled, &error).into()),
        }
        if count as u64 > MAX_BUFFER_BYTES {
            return Err(too_large(spelled, count as u64).into());
        }
    }
    bytes.truncate(count);
    Ok(bytes)
}
