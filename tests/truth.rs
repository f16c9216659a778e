//! Whoever writes a file, and however: a read that begins after a write has returned shows that write or a later one. What is right is kept here and never asked of the daemon.

use std::ffi::c_void;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::Daemon;
use crate::databases::python;
use crate::fuse::{Fuse, Manners};
use crate::tree::{Tree, numbered_lines};

/// `PILCROW_LONG=1`: the long form of a test.
fn at_most<T>(few: T, many: T) -> T {
    match std::env::var_os("PILCROW_LONG") {
        Some(_) => many,
        None => few,
    }
}

/// Ends a wait that should have ended long before.
const HANG: Duration = Duration::from_secs(60);

/// After so long a stamp proves of a large file what it can.
const DOUBT: Duration = Duration::from_millis(2200);

/// Lines of one number: `lines` times the eight digits of `version`.
fn lines_of(version: u64, lines: usize) -> Vec<u8> {
    format!("{version:08}\n").repeat(lines).into_bytes()
}

/// A file that is mapped to be written, as databases and some editors do it.
struct Mapping {
    at: *mut u8,
    length: usize,
}

impl Mapping {
    fn of(path: &Path) -> Mapping {
        let options = OpenOptions::new().read(true).write(true).open(path);
        let file = options.expect("opened");
        let length = file.metadata().expect("its metadata").len() as usize;
        // SAFETY: a new mapping of an open file, of its length.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(at, libc::MAP_FAILED, "it is mapped");
        Mapping {
            at: at.cast(),
            length,
        }
    }

    /// A plain store: the kernel hears nothing of it but the first on a page that is clean.
    fn store(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.length);
        // SAFETY: within the mapping, which nobody else in this process has.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at.add(at), bytes.len()) };
    }

    fn sync(&self) {
        // SAFETY: it is this mapping.
        let outcome = unsafe { libc::msync(self.at.cast::<c_void>(), self.length, libc::MS_SYNC) };
        assert_eq!(outcome, 0, "it is synced");
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is this mapping, and nobody has a reference into it.
        unsafe { libc::munmap(self.at.cast(), self.length) };
    }
}

/// A file under test, and all that its writers hold.
struct Subject {
    name: String,
    lines: usize,
    version: u64,
    mapping: Option<Mapping>,
}

/// Ways to write all lines of a file anew. Each has returned when the next read begins.
const STYLES: &[fn(&Tree, &mut Subject)] = &[
    truncated,
    in_place_with_mtime_restored,
    renamed_over,
    saved_with_a_backup,
    appended,
    mapped,
    mapped_and_synced,
    through_another_name,
    back_dated,
    swapped_with_its_like,
];

impl Subject {
    fn next(&mut self) -> Vec<u8> {
        self.version += 1;
        lines_of(self.version, self.lines)
    }
}

fn truncated(tree: &Tree, subject: &mut Subject) {
    subject.mapping = None;
    let bytes = subject.next();
    tree.write(&subject.name, bytes);
}

fn open(tree: &Tree, name: &str) -> File {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .open(tree.join(name));
    opened.expect("opened")
}

fn in_place_with_mtime_restored(tree: &Tree, subject: &mut Subject) {
    let file = open(tree, &subject.name);
    let before = file.metadata().expect("its metadata");
    file.write_all_at(&subject.next(), 0).expect("written");
    file.set_modified(before.modified().expect("a time"))
        .expect("restored");
}

fn renamed_over(tree: &Tree, subject: &mut Subject) {
    subject.mapping = None;
    let bytes = subject.next();
    tree.replace(&subject.name, bytes);
}

fn saved_with_a_backup(tree: &Tree, subject: &mut Subject) {
    subject.mapping = None;
    let bytes = subject.next();
    let backup = tree.join(&format!("{}~", subject.name));
    fs::rename(tree.join(&subject.name), backup).expect("the old one has another name");
    tree.write(&subject.name, bytes);
}

fn appended(tree: &Tree, subject: &mut Subject) {
    subject.mapping = None;
    let bytes = subject.next();
    let file = File::create(tree.join(&subject.name)).expect("truncated");
    drop(file);
    let options = OpenOptions::new()
        .append(true)
        .open(tree.join(&subject.name));
    let mut file = options.expect("opened");
    for part in bytes.chunks(bytes.len().div_ceil(3)) {
        file.write_all(part).expect("appended");
    }
}

fn mapped(tree: &Tree, subject: &mut Subject) {
    let bytes = subject.next();
    let path = tree.join(&subject.name);
    let mapping = subject.mapping.get_or_insert_with(|| Mapping::of(&path));
    mapping.store(0, &bytes);
}

fn mapped_and_synced(tree: &Tree, subject: &mut Subject) {
    mapped(tree, subject);
    subject.mapping.as_ref().expect("it is mapped").sync();
}

fn through_another_name(tree: &Tree, subject: &mut Subject) {
    let outside = Tree::new();
    let link = outside.join("other");
    let is_linked = fs::hard_link(tree.join(&subject.name), &link).is_ok();
    assert!(is_linked, "a hard link");
    let mut file = OpenOptions::new().write(true).open(&link).expect("opened");
    file.seek(SeekFrom::Start(0)).expect("at its start");
    file.write_all(&subject.next()).expect("written");
}

fn back_dated(tree: &Tree, subject: &mut Subject) {
    let bytes = subject.next();
    let file = open(tree, &subject.name);
    file.write_all_at(&bytes, 0).expect("written");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.set_modified(long_ago).expect("dated back");
}

/// Another inode of the same size and the same mtime.
fn swapped_with_its_like(tree: &Tree, subject: &mut Subject) {
    subject.mapping = None;
    let before = fs::metadata(tree.join(&subject.name)).expect("its metadata");
    let spare = tree.join(".spare");
    fs::write(&spare, subject.next()).expect("written");
    let file = OpenOptions::new().write(true).open(&spare).expect("opened");
    file.set_modified(before.modified().expect("a time"))
        .expect("the same time");
    fs::rename(&spare, tree.join(&subject.name)).expect("swapped");
}

/// One line of a file, as it is.
fn line(daemon: &Daemon, path: &str, number: usize) -> String {
    daemon.read_text(format!("{path}:{number}-{number}:raw"))
}

#[test]
fn no_read_is_older_than_the_last_write() {
    // Up to the size in which bytes are compared.
    let sizes = [1, 9, 400, 7_000, 14_500];
    let tree = Tree::new();
    let mut subjects: Vec<Subject> = (0..10)
        .map(|number| Subject {
            name: format!("f{number}.txt"),
            lines: sizes[number % sizes.len()],
            version: 0,
            mapping: None,
        })
        .collect();
    for subject in &mut subjects {
        truncated(&tree, subject);
    }
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let mut chance = Chance(0x5eed);
    let (mut reads, begun) = (0, Instant::now());
    // At least until stamps are believed.
    while reads < at_most(2_000, 150_000) || begun.elapsed() < DOUBT {
        let index = chance.below(subjects.len());
        let subject = &mut subjects[index];
        // Most reads are warm; half of them follow a write.
        if chance.below(2) == 0 {
            // Some files have but one writer for long, which maps them.
            let style = match index {
                0..3 => mapped,
                _ => STYLES[chance.below(STYLES.len())],
            };
            style(&tree, subject);
        }
        let number = 1 + chance.below(subject.lines);
        let wanted = format!("{:08}\n", subject.version);
        let name = &subject.name;
        assert_eq!(line(&daemon, name, number), wanted, "{name}, read {reads}");
        reads += 1;
    }
}

#[test]
fn no_read_is_older_than_the_last_write_that_returned_meanwhile() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    const LINES: usize = 500;
    // Half of a store is in the file as much as all of it: there is nothing to be told from it.
    type Style = fn(&Tree, &mut Subject);
    let styles: [(&str, Style); 2] = [
        ("renamed", renamed_over),
        ("in-place", in_place_with_mtime_restored),
    ];
    for (name, style) in styles {
        let tree = Tree::new().file(name, lines_of(0, LINES));
        let daemon = Daemon::start(tree.path());
        daemon.ignore_changes();
        let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut subject = Subject {
                    name: name.to_owned(),
                    lines: LINES,
                    version: 0,
                    mapping: None,
                };
                while !stop.load(Ordering::Relaxed) {
                    style(&tree, &mut subject);
                    done.store(subject.version, Ordering::Relaxed);
                }
            });
            let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for _ in 0..at_most(200, 20_000) {
                    let before = done.load(Ordering::Relaxed);
                    let answer = daemon.read_with(json!({ "path": name, "selector": "raw" }));
                    let answer = answer.expect("a read");
                    if answer["details"]["hashline"].is_null() {
                        // What it says is for `torn` to test.
                        assert_eq!(name, "in-place", "what is renamed is whole");
                        continue;
                    }
                    let text = answer["content"][0]["text"].as_str().expect("a text");
                    let first = text.lines().next().unwrap_or_default();
                    let version: u64 = first.parse().expect("a number");
                    assert!(version >= before, "{name}: {version} after {before}");
                    let whole = lines_of(version, LINES);
                    assert_eq!(text.as_bytes(), whole, "{name}: a mixture has a tag");
                }
            }));
            stop.store(true, Ordering::Relaxed);
            if let Err(panic) = looked {
                std::panic::resume_unwind(panic);
            }
        });
    }
}

/// Waits until the file's times are so old that they would prove something.
fn until_settled(path: &Path) {
    let begun = Instant::now();
    loop {
        let metadata = fs::metadata(path).expect("its metadata");
        let changed = Duration::new(metadata.ctime() as u64, metadata.ctime_nsec() as u32);
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed);
        if age.is_ok_and(|age| age > DOUBT) {
            return;
        }
        assert!(begun.elapsed() < HANG, "the clock goes on");
        std::thread::yield_now();
    }
}

const NOTEBOOK: &str = r##"{"cells":[{"cell_type":"code","execution_count":null,"id":"a","metadata":{},"outputs":[],"source":["x = 00000001"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"##;

/// A picture of 2×2 pixels whose colours stand in it as they are.
fn bitmap() -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    let mut push = |words: &[u32]| words.iter().for_each(|it| bytes.extend(it.to_le_bytes()));
    // Sizes and places of the header; 2×2 pixels, one plane, 32 bits, as they are.
    push(&[70, 0, 54, 40, 2, 2, 1 | 32 << 16, 0, 16, 2835, 2835, 0, 0]);
    // The last digit is the blue of a pixel: every fourth byte is of no colour.
    bytes.extend(b"x00000001xxxxxxx");
    bytes
}

/// One of each kind whose bytes can be changed by a store: its file, what is read of it, and
/// where in it `00000001` stands.
fn one_of_each_kind(tree: &Tree) -> Vec<(&'static str, &'static str)> {
    tree.write("inner/v.txt", "value=00000001\n");
    tree.write("t.csv", "a,b\n00000001,x\n");
    tree.write("n.ipynb", NOTEBOOK);
    tree.write("p.bmp", bitmap());
    tree.write("plain.txt", "00000001\n");
    let tar = Command::new("tar")
        .args(["--format=ustar", "-cf", "a.tar", "-C", "inner", "v.txt"])
        .current_dir(tree.path())
        .status();
    assert!(tar.expect("tar runs").success());
    python(
        tree,
        "c = sqlite3.connect('d.db')
c.execute('create table t(v text)')
c.execute(\"insert into t values('00000001')\")
c.commit()
c.close()",
    );
    vec![
        ("plain.txt", "plain.txt:raw"),
        ("a.tar", "a.tar:v.txt"),
        ("t.csv", "t.csv:table"),
        ("n.ipynb", "n.ipynb"),
        ("p.bmp", "p.bmp"),
        ("d.db", "d.db:t"),
    ]
}

#[test]
fn what_is_made_of_a_file_follows_stores_through_a_mapping() {
    let tree = Tree::new();
    let kinds = one_of_each_kind(&tree);
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let mappings: Vec<(Mapping, usize)> = kinds
        .iter()
        .map(|(file, _)| {
            let bytes = fs::read(tree.join(file)).expect("a file");
            let eight = bytes.windows(8);
            let at = eight.into_iter().rposition(|found| found == b"00000001");
            let mapping = Mapping::of(&tree.join(file));
            let at = at.expect("the value stands in it");
            // The first store on a page sets the times.
            mapping.store(at, b"00000001");
            (mapping, at)
        })
        .collect();
    let content = |path: &str| {
        let read = daemon
            .read(path)
            .unwrap_or_else(|error| panic!("{path}: {error:?}"));
        read["content"].to_string()
    };
    for (file, path) in &kinds {
        until_settled(&tree.join(file));
        assert_eq!(content(path), content(path), "{path}");
    }
    for round in 2..at_most(6, 200u64) {
        let value = format!("{round:08}");
        for ((file, path), (mapping, at)) in kinds.iter().zip(&mappings) {
            let before = content(path);
            mapping.store(*at, value.as_bytes());
            let after = content(path);
            match *file {
                // Its colours are written anew.
                "p.bmp" => assert_ne!(after, before, "{path}"),
                _ => assert!(after.contains(&value), "{path}: {after}"),
            }
            let again = daemon.read(path).expect("a read");
            assert_eq!(again["details"]["cache"], "hit", "{path}");
        }
    }
}

#[test]
fn an_edit_is_planned_on_what_was_stored_through_a_mapping() {
    let tree = Tree::new().file("f.txt", format!("00000001\n{}", numbered_lines(2, 20)));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let mapping = Mapping::of(&tree.join("f.txt"));
    mapping.store(0, b"00000001");
    until_settled(&tree.join("f.txt"));
    let tag = |read: &Value| {
        read["details"]["hashline"]["tag"]
            .as_str()
            .map(str::to_owned)
    };
    let tag = tag(&daemon.read("f.txt").expect("a read")).expect("a tag");
    mapping.store(0, b"00000002");
    let patch = format!("¶f.txt#{tag}\nreplace 1:\n+mine\n");
    let refused = daemon.call("agent/edit", json!({ "patch": patch }));
    assert_eq!(refused.expect_err("it is stale").kind(), "stale");
    let patch = format!("¶f.txt#{tag}\nreplace 9:\n+mine\n");
    let edited = daemon.call("agent/edit", json!({ "patch": patch }));
    edited.expect("the ninth line is as it was");
    let bytes = fs::read_to_string(tree.join("f.txt")).expect("a file");
    let wanted = numbered_lines(2, 20).replace("line 9\n", "mine\n");
    assert_eq!(bytes, format!("00000002\n{wanted}"));
}

/// Manners under which the stamps of changed files are those of before, in one way or another.
fn odd_manners() -> [Manners; 5] {
    let seconds = Duration::from_secs;
    [
        Manners {
            cached_for: seconds(20),
            ..Manners::default()
        },
        Manners {
            cached_for: seconds(20),
            direct: true,
            ..Manners::default()
        },
        Manners {
            cached_for: seconds(1),
            behind: seconds(10),
            coarse: true,
            ..Manners::default()
        },
        Manners {
            behind: seconds(10),
            coarse: true,
            ..Manners::default()
        },
        Manners {
            coarse: true,
            ..Manners::default()
        },
    ]
}

fn a_mount(manners: Manners) -> (Tree, Fuse) {
    let tree = Tree::new();
    fs::create_dir(tree.join("m")).expect("a directory");
    let fuse = Fuse::mount(&tree.join("m"), manners);
    (tree, fuse)
}

#[test]
fn files_that_are_changed_at_the_other_end_of_a_mount_are_never_stale() {
    for (kind, manners) in odd_manners().into_iter().enumerate() {
        let (tree, fuse) = a_mount(manners);
        // Up to the size in which bytes are compared on such file systems.
        let sizes = [1, 400, 30_000, 110_000];
        let mut versions = [0; 4];
        for (number, lines) in sizes.iter().enumerate() {
            fuse.put(&format!("f{number}.txt"), lines_of(0, *lines));
        }
        let daemon = Daemon::start(tree.path());
        daemon.ignore_changes();
        let mut chance = Chance(7 + kind as u64);
        for read in 0..at_most(120, 10_000) {
            let number = chance.below(sizes.len());
            let (lines, version) = (sizes[number], &mut versions[number]);
            if chance.below(2) == 0 {
                *version += 1;
                // Now and then of another size: the kernel may remember the old one.
                let more = if chance.below(4) == 0 { 1 } else { 0 };
                fuse.put(&format!("f{number}.txt"), lines_of(*version, lines + more));
            }
            let path = format!("m/f{number}.txt");
            let number = 1 + chance.below(lines);
            let wanted = format!("{version:08}\n");
            let found = line(&daemon, &path, number);
            assert_eq!(found, wanted, "{manners:?}: {path}, read {read}");
        }
    }
}

#[test]
fn of_a_mount_larger_files_and_what_is_made_of_files_are_kept_for_a_second() {
    let manners = Manners {
        behind: Duration::from_secs(10),
        coarse: true,
        ..Manners::default()
    };
    let (tree, fuse) = a_mount(manners);
    let lines = 200_000;
    let scratch = Tree::new();
    let tar = |value: &str| {
        scratch.write("v.txt", value);
        scratch.write("filler", vec![0; 1_200_000]);
        let made = Command::new("tar")
            .args(["--format=ustar", "-cf", "a.tar", "v.txt", "filler"])
            .current_dir(scratch.path())
            .status();
        assert!(made.expect("tar runs").success());
        fs::read(scratch.join("a.tar")).expect("the archive")
    };
    fuse.put("large.txt", lines_of(1, lines));
    fuse.put("a.tar", tar("first\n"));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let text = |path: &str| daemon.read_text(path);
    assert_eq!(text("m/large.txt:9-9:raw"), "00000001\n");
    assert!(text("m/a.tar:v.txt").contains("first"));
    fuse.put("large.txt", lines_of(2, lines));
    fuse.put("a.tar", tar("other\n"));
    let changed = Instant::now();
    let soon = |path: &str, wanted: &str| {
        while !text(path).contains(wanted) {
            assert!(changed.elapsed() < HANG, "{path} is never {wanted}");
        }
    };
    soon("m/large.txt:9-9:raw", "00000002");
    soon("m/a.tar:v.txt", "other");
}
