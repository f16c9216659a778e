//! The rules of ignore files, one directory at a time, cached; never older than a fifth of a second.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::handle::{FileType, Handle, Stamp, now_ns};
use super::patterns::Patterns;

/// The contract lets rules lag by one second; this is when they are looked at again.
const FRESH: Duration = Duration::from_millis(200);

/// Larger ignore files are not read, and so deny everything below them.
const MAX_BYTES: u64 = 1 << 20;

/// Bound of the cache in (estimated) bytes, and the directories it is laid out for.
const CACHE_BYTES: u64 = 32 << 20;
const CACHE_DIRECTORIES: usize = 4096;

/// The ignore files of one directory, in the order of the setting.
#[derive(Debug)]
pub(super) struct DirRules {
    checked: Mutex<Instant>,
    files: Vec<RuleFile>,
    bytes: u64,
}

#[derive(Debug)]
struct RuleFile {
    seen: FileLook,
    /// On a local file system, and old enough when it was read that its stamp can be believed.
    settled: bool,
    rules: PathRules,
}

impl RuleFile {
    fn nothing() -> RuleFile {
        RuleFile {
            seen: FileLook::Nothing,
            settled: true,
            rules: PathRules::Silent,
        }
    }
}

/// Whether a directory may have a file of that name.
pub(super) type MayHave<'a> = dyn Fn(&str) -> bool + 'a;

/// What is at an ignore file's name, as far as a `stat` can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileLook {
    Nothing,
    /// The name's own stamp, and that of a link's target.
    Something(Stamp, Option<Stamp>),
}

/// What one ignore file says.
#[derive(Debug)]
pub(super) enum PathRules {
    Silent,
    Patterns(Patterns),
    /// It is there and cannot be read as rules: everything below is denied.
    Unreadable,
}

impl DirRules {
    /// The rules of the ignore file that is `index`th in the setting.
    pub(super) fn of(&self, index: usize) -> &PathRules {
        self.files
            .get(index)
            .map_or(&PathRules::Silent, |file| &file.rules)
    }
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<PathBuf, Arc<DirRules>> for Weight {
    fn weight(&self, directory: &PathBuf, rules: &Arc<DirRules>) -> u64 {
        // A compiled pattern takes some ten times its text.
        512 + directory.as_os_str().len() as u64 + 10 * rules.bytes
    }
}

#[derive(Debug)]
pub(super) struct IgnoreFiles {
    names: Vec<String>,
    cache: Cache<PathBuf, Arc<DirRules>, Weight>,
}

impl IgnoreFiles {
    pub(super) fn new(names: &[String]) -> IgnoreFiles {
        let usable = |name: &&String| !name.is_empty() && !name.contains(['/', '\0']);
        IgnoreFiles {
            names: names.iter().filter(usable).cloned().collect(),
            cache: Cache::with_weighter(CACHE_DIRECTORIES, CACHE_BYTES, Weight),
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The rules in `directory`, a real path; what it may not have is not looked for. `open` opens an
    /// ignore file, judging only that its real path is inside: rules quoted in a refusal must not
    /// carry text from outside.
    pub(super) fn at(
        &self,
        directory: &Path,
        may_have: &MayHave<'_>,
        open: &dyn Fn(&Path) -> io::Result<Handle>,
    ) -> Arc<DirRules> {
        let known = self.cache.get(directory);
        if let Some(known) = &known {
            if known.checked.lock().elapsed() < FRESH {
                return known.clone();
            }
            let now = Instant::now();
            let unchanged = self.names.iter().zip(&known.files).all(|(name, file)| {
                let seen = match may_have(name) {
                    true => look(&directory.join(name)),
                    false => Ok(FileLook::Nothing),
                };
                file.settled && seen.is_ok_and(|seen| seen == file.seen)
            });
            if unchanged {
                *known.checked.lock() = now;
                return known.clone();
            }
        }
        let rules = Arc::new(self.load(directory, may_have, open));
        self.cache.insert(directory.to_path_buf(), rules.clone());
        rules
    }

    fn load(
        &self,
        directory: &Path,
        may_have: &MayHave<'_>,
        open: &dyn Fn(&Path) -> io::Result<Handle>,
    ) -> DirRules {
        let checked = Instant::now();
        let mut bytes = 0;
        let mut files = Vec::with_capacity(self.names.len());
        for name in &self.names {
            files.push(match may_have(name) {
                true => load_file(&directory.join(name), open, &mut bytes),
                false => RuleFile::nothing(),
            });
        }
        DirRules {
            checked: Mutex::new(checked),
            files,
            bytes,
        }
    }
}

fn load_file(path: &Path, open: &dyn Fn(&Path) -> io::Result<Handle>, bytes: &mut u64) -> RuleFile {
    let unreadable = |seen| RuleFile {
        seen,
        settled: false,
        rules: PathRules::Unreadable,
    };
    let seen = match look(path) {
        Ok(FileLook::Nothing) => return RuleFile::nothing(),
        Ok(seen) => seen,
        Err(_) => return unreadable(FileLook::Nothing),
    };
    let opened = open(path).and_then(|handle| Ok((text_of(&handle)?, handle.is_local())));
    let Ok((text, is_local)) = opened else {
        return unreadable(seen);
    };
    *bytes += text.len() as u64;
    let patterns = Patterns::compile(text.strip_prefix('\u{FEFF}').unwrap_or(&text).lines());
    let rules = match patterns.is_empty() {
        true => PathRules::Silent,
        false => PathRules::Patterns(patterns),
    };
    RuleFile {
        seen,
        settled: is_local && is_settled(seen),
        rules,
    }
}

/// Reads an ignore file whole. Errors for anything but a regular file of at most [`MAX_BYTES`].
fn text_of(handle: &Handle) -> io::Result<String> {
    if handle.file_type() != FileType::Regular || handle.stamp().size > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    handle
        .open_read()?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn look(path: &Path) -> io::Result<FileLook> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(FileLook::Nothing),
        Err(error) => return Err(error),
    };
    let target = match metadata.is_symlink() {
        true => Some(Stamp::of(&std::fs::metadata(path)?)),
        false => None,
    };
    Ok(FileLook::Something(Stamp::of(&metadata), target))
}

/// Nothing is there, or nothing below that directory can be reached anyway.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_loop
        || matches!(
            error.kind(),
            NotFound | NotADirectory | PermissionDenied | InvalidFilename
        )
}

fn is_settled(seen: FileLook) -> bool {
    let FileLook::Something(own, target) = seen else {
        return true;
    };
    let mut stamps = [Some(own), target].into_iter().flatten();
    stamps.all(|stamp| stamp.is_settled(now_ns()))
}

#[cfg(test)]
mod tests {
    use super::super::handle::Unjudged;
    use super::super::patterns::Verdict;
    use super::*;

    fn open(path: &Path) -> io::Result<Handle> {
        Unjudged::open(path).map(|opened| opened.allowed(path))
    }

    #[test]
    fn rules_follow_the_file_within_a_second() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let files = IgnoreFiles::new(&[".agentignore".into(), String::new(), "a/b".into()]);
        assert_eq!(files.names(), [".agentignore"]);
        let denies = |name: &str| match files.at(temp.path(), &|_| true, &open).of(0) {
            PathRules::Silent => false,
            PathRules::Unreadable => true,
            PathRules::Patterns(patterns) => {
                matches!(patterns.verdict(name, false), Verdict::Denied(_))
            }
        };
        let write = |text: &str| {
            std::fs::write(temp.path().join(".agentignore"), text).expect("written");
            std::thread::sleep(Duration::from_millis(250));
        };
        assert!(!denies("key"));
        write("key\n");
        assert!(denies("key") && !denies("ink"));
        // The same size within the same clock tick is noticed too.
        write("ink\n");
        assert!(denies("ink") && !denies("key"));
        write("\u{FEFF}# only\r\nkey\r\n");
        assert!(denies("key") && !denies("ink"));
        write(&"x\n".repeat(600_000));
        assert!(denies("anything"));
        std::fs::remove_file(temp.path().join(".agentignore")).expect("removed");
        std::thread::sleep(Duration::from_millis(250));
        assert!(!denies("key"));
    }

    #[test]
    fn what_is_no_regular_file_denies_and_does_not_hang() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join(".agentignore");
        super::super::tests::make_fifo(&path);
        let files = IgnoreFiles::new(&[".agentignore".into()]);
        assert!(matches!(
            files.at(temp.path(), &|_| true, &open).of(0),
            PathRules::Unreadable
        ));
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/nowhere", &path).expect("linked");
        let files = IgnoreFiles::new(&[".agentignore".into()]);
        assert!(matches!(
            files.at(temp.path(), &|_| true, &open).of(0),
            PathRules::Unreadable
        ));
    }
}
