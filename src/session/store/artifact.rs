//! One artifact: a file that is written once or added to, and what is known of it.
//!
//! Of what a terminal is to show there are two files: what came, and what is shown of it, which is
//! what is counted, searched and paged.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use memchr::memchr_iter;
use parking_lot::Mutex;

use crate::protocol::Refusal;
use crate::task::Work;
use crate::text::Terminal;
use crate::workspace::Handle;

use super::artifact_lock::{ArtifactLock, Reading, Writing};
use super::kept_on::Record;
use super::places;

/// Bytes between two looks at the cancel token.
const CHUNK: usize = 1024 * 1024;

/// First bytes in which a NUL says that it is no text.
const SAMPLE: usize = 8192;

/// What is put somewhere.
#[derive(Debug)]
pub enum Material {
    Text(String),
    Bytes(Vec<u8>),
    /// A file that was judged.
    Copy(Handle),
}

impl Material {
    /// Bytes, as far as is known before they are read.
    pub fn bytes(&self) -> u64 {
        match self {
            Material::Text(text) => text.len() as u64,
            Material::Bytes(bytes) => bytes.len() as u64,
            Material::Copy(handle) => handle.stamp().size,
        }
    }

    /// Keeps the first bytes alone, and no part of a character.
    pub(super) fn keep_head(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match self {
            Material::Text(text) => text.truncate(text.floor_char_boundary(bytes)),
            Material::Bytes(all) => all.truncate(bytes),
            Material::Copy(_) => {}
        }
    }
}

/// What does not change of an artifact.
#[derive(Debug, Clone)]
pub struct Label {
    /// What its caller calls it.
    pub title: Option<String>,
    pub mime_type: Option<String>,
    pub is_terminal: bool,
    /// It came as text: it is shown as that, whatever characters it has.
    pub is_text: bool,
    /// It is the whole of what was cut in an answer.
    pub is_spilled: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Artifact {
    pub label: Label,
    /// What is shown.
    pub path: PathBuf,
    /// What came, where that is not what is shown.
    raw: Option<PathBuf>,
    lock: Arc<ArtifactLock>,
    state: Mutex<ArtifactState>,
}

#[derive(Debug, Clone, Default)]
struct ArtifactState {
    facts: Facts,
    terminal: Terminal,
    /// Bytes of the lines that are ended, of what is shown.
    ended_bytes: u64,
    /// When something was added to it last.
    added_at: Option<Instant>,
}

/// Its files, opened to be written.
struct Files {
    shown: File,
    raw: Option<File>,
}

impl ArtifactState {
    /// Makes the files what they were.
    fn put_back(&self, files: &mut Files) -> io::Result<()> {
        let file = &mut files.shown;
        if let Some(raw) = &files.raw {
            raw.set_len(self.facts.came)?;
            file.seek(SeekFrom::Start(self.ended_bytes))?;
            file.write_all(self.terminal.open_line().as_bytes())?;
        }
        file.set_len(self.facts.bytes)
    }
}

/// What is known of what an artifact holds.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Of what is shown.
    pub bytes: u64,
    /// Of all its files.
    pub weight: u64,
    /// Bytes that came.
    pub came: u64,
    newlines: u64,
    is_line_open: bool,
    /// It has no lines.
    pub(super) is_binary: bool,
    pub written_at: SystemTime,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts {
            bytes: 0,
            weight: 0,
            came: 0,
            newlines: 0,
            is_line_open: false,
            is_binary: false,
            written_at: SystemTime::now(),
        }
    }
}

impl Facts {
    /// Lines of what is shown; `None` of what is no text.
    pub fn lines(&self) -> Option<u64> {
        let open = u64::from(self.is_line_open);
        (!self.is_binary).then_some(self.newlines + open)
    }

    fn count(&mut self, bytes: &[u8]) {
        if self.bytes < SAMPLE as u64 {
            let head = &bytes[..bytes.len().min(SAMPLE)];
            self.is_binary |= memchr::memchr(0, head).is_some();
        }
        self.bytes += bytes.len() as u64;
        self.newlines += memchr_iter(b'\n', bytes).count() as u64;
        if let Some(last) = bytes.last() {
            self.is_line_open = *last != b'\n';
        }
    }
}

impl Artifact {
    /// Writes its files beside their places and puts them there.
    pub(super) fn write(
        path: PathBuf,
        label: Label,
        material: &Material,
        limit: u64,
        work: &Work,
    ) -> Result<Artifact, Refusal> {
        let raw = label.is_terminal.then(|| path.with_extension("raw"));
        let artifact = Artifact {
            lock: Arc::default(),
            state: Mutex::default(),
            label,
            path,
            raw,
        };
        // Not in its place before it is whole.
        let beside = places::beside(&artifact.path);
        let beside_raw = artifact.raw.as_deref().map(places::beside);
        let put = || -> Result<(), Refusal> {
            let raw = beside_raw.as_deref().map(places::create_file);
            let mut files = Files {
                shown: places::create_file(&beside).map_err(unwritten)?,
                raw: raw.transpose().map_err(unwritten)?,
            };
            let mut state = ArtifactState::default();
            artifact.take_in(&mut files, &mut state, material, limit, work)?;
            *artifact.state.lock() = state;
            let places = [
                (Some(&beside), Some(&artifact.path)),
                (beside_raw.as_ref(), artifact.raw.as_ref()),
            ];
            for (from, to) in places {
                if let (Some(from), Some(to)) = (from, to) {
                    std::fs::rename(from, to).map_err(unwritten)?;
                }
            }
            Ok(())
        };
        if let Err(refusal) = put() {
            let files = [
                Some(&beside),
                beside_raw.as_ref(),
                Some(&artifact.path),
                artifact.raw.as_ref(),
            ];
            for path in files.into_iter().flatten() {
                let _ = std::fs::remove_file(path);
            }
            return Err(refusal);
        }
        Ok(artifact)
    }

    /// What stands beside its file where that outlives this process.
    pub(super) fn record(&self, agent: Option<&str>) -> Record {
        let label = &self.label;
        let since = self
            .facts()
            .written_at
            .duration_since(SystemTime::UNIX_EPOCH);
        Record {
            agent: agent.map(str::to_owned),
            name: label.title.clone(),
            mime_type: label.mime_type.clone(),
            terminal: label.is_terminal,
            text: label.is_text,
            spilled: label.is_spilled,
            written_at: since.map_or(0, |since| since.as_secs()),
        }
    }

    /// One that an earlier process put there.
    pub(super) fn found(path: PathBuf, record: &Record) -> io::Result<Artifact> {
        let raw = record.terminal.then(|| path.with_extension("raw"));
        let mut facts = Facts {
            written_at: record.written_at(),
            ..Facts::default()
        };
        let mut file = File::open(&path)?;
        let mut chunk = vec![0; CHUNK];
        let (mut tail, mut ended) = (Vec::new(), 0);
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            let bytes = &chunk[..read];
            match memchr::memrchr(b'\n', bytes) {
                Some(at) => {
                    ended = facts.bytes + at as u64 + 1;
                    tail = bytes[at + 1..].to_vec();
                }
                None if record.terminal => tail.extend_from_slice(bytes),
                None => {}
            }
            facts.count(bytes);
        }
        facts.is_binary &= !record.text;
        facts.came = match &raw {
            Some(raw) => std::fs::metadata(raw)?.len(),
            None => facts.bytes,
        };
        facts.weight = facts.bytes + raw.as_ref().map_or(0, |_| facts.came);
        Ok(Artifact {
            label: Label {
                title: record.name.clone(),
                mime_type: record.mime_type.clone(),
                is_terminal: record.terminal,
                is_text: record.text,
                is_spilled: record.spilled,
            },
            lock: Arc::default(),
            state: Mutex::new(ArtifactState {
                facts,
                terminal: Terminal::in_line(&String::from_utf8_lossy(&tail)),
                ended_bytes: ended,
                added_at: None,
            }),
            path,
            raw,
        })
    }

    pub fn facts(&self) -> Facts {
        self.state.lock().facts
    }

    /// Whether something may be added to it any moment, so that what is made of it is soon of no use.
    pub fn grows(&self) -> bool {
        const STILL: std::time::Duration = std::time::Duration::from_secs(5);
        let added = self.state.lock().added_at;
        added.is_some_and(|at| at.elapsed() < STILL)
    }

    /// The file that is shown, or the one that has what came, and what keeps it as it is.
    pub fn open(&self, as_it_came: bool, work: &Work) -> Result<(Handle, Reading), Refusal> {
        let reading = ArtifactLock::read(&self.lock, work)?;
        let path = match &self.raw {
            Some(raw) if as_it_came => raw,
            _ => &self.path,
        };
        let opened = Handle::of_own_file(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((opened.map_err(|error| Refusal::io(name, &error))?, reading))
    }

    /// Adds to it. What cannot be written leaves it as it was.
    pub(super) fn append(
        &self,
        material: &Material,
        limit: u64,
        work: &Work,
    ) -> Result<(), Refusal> {
        let _writing: Writing = self.lock.write(work)?;
        let open = |path: &Path| {
            let file = OpenOptions::new().read(true).write(true).open(path);
            file.map_err(unwritten)
        };
        let mut files = Files {
            shown: open(&self.path)?,
            raw: self.raw.as_deref().map(open).transpose()?,
        };
        let before = self.state.lock().clone();
        let mut state = before.clone();
        state.added_at = Some(Instant::now());
        let added = self.take_in(&mut files, &mut state, material, limit, work);
        match &added {
            Ok(()) => *self.state.lock() = state,
            // What does not come back now is cut off by the next piece.
            Err(_) => drop(before.put_back(&mut files)),
        }
        added
    }

    /// Writes at the end of its files, and counts. Nobody waits for the disk meanwhile.
    fn take_in(
        &self,
        files: &mut Files,
        state: &mut ArtifactState,
        material: &Material,
        limit: u64,
        work: &Work,
    ) -> Result<(), Refusal> {
        let mut take = |bytes: &[u8]| -> Result<(), Refusal> {
            work.check()?;
            self.add(files, state, bytes).map_err(unwritten)
        };
        match material {
            Material::Text(text) => text.as_bytes().chunks(CHUNK).try_for_each(take),
            Material::Bytes(bytes) => bytes.chunks(CHUNK).try_for_each(take),
            Material::Copy(handle) => {
                let mut from = handle.open_read().map_err(unwritten)?.take(limit + 1);
                let mut chunk = vec![0; CHUNK];
                let mut copied = 0;
                loop {
                    let read = from.read(&mut chunk).map_err(unwritten)?;
                    copied += read as u64;
                    if copied > limit {
                        return Err(Refusal::Busy {
                            message: "The file grew while it was copied.".to_owned(),
                        });
                    }
                    if read == 0 {
                        return Ok(());
                    }
                    take(&chunk[..read])?;
                }
            }
        }
    }

    fn add(&self, files: &mut Files, state: &mut ArtifactState, bytes: &[u8]) -> io::Result<()> {
        let ArtifactState {
            facts,
            terminal,
            ended_bytes,
            ..
        } = state;
        let file = &mut files.shown;
        match &mut files.raw {
            None => {
                file.seek(SeekFrom::Start(facts.bytes))?;
                file.write_all(bytes)?;
                facts.count(bytes);
                facts.weight += bytes.len() as u64;
            }
            Some(raw) => {
                raw.seek(SeekFrom::Start(facts.came))?;
                raw.write_all(bytes)?;
                let mut lines = terminal.lines(bytes);
                let ended = lines.len() as u64;
                lines.push_str(terminal.open_line());
                file.seek(SeekFrom::Start(*ended_bytes))?;
                file.write_all(lines.as_bytes())?;
                let came = facts.came + bytes.len() as u64;
                *facts = Facts {
                    bytes: *ended_bytes,
                    is_line_open: false,
                    is_binary: false,
                    ..*facts
                };
                facts.count(lines.as_bytes());
                file.set_len(facts.bytes)?;
                *ended_bytes += ended;
                facts.weight = facts.bytes + came;
            }
        }
        facts.came += bytes.len() as u64;
        facts.is_binary &= !self.label.is_text;
        facts.written_at = SystemTime::now();
        Ok(())
    }

    /// Removes its files. Who reads it still may.
    pub(super) fn remove(&self) {
        let record = Record::place(&self.path);
        for path in [Some(&self.path), self.raw.as_ref(), Some(&record)]
            .into_iter()
            .flatten()
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// It could not be written; nothing of it is there.
pub(super) fn unwritten(error: io::Error) -> Refusal {
    let text = error.to_string();
    let message = text.split(" (os error").next().unwrap_or(&text);
    Refusal::Write {
        path: "artifact://".to_owned(),
        message: message.to_owned(),
        state: "Nothing was put there; read the text from where it is.".to_owned(),
    }
}
