//! Writes and edits of 20 KB beside the least that keeps a file whole, taken in turns in one run, and plans of long patches; nothing here judges a time.
//!
//! The least: a temporary in the same directory, fsync, rename, fsync of the directory.

#[path = "support/mod.rs"]
mod support;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pilcrow::edit::disk::{DiskWriter, FileWrite, Planned, Target};
use pilcrow::protocol::Settings;
use pilcrow::task::{CancelToken, Work};
use pilcrow::workspace::Scope;
use serde_json::{Value, json};
use support::table::{self, row, timed};
use support::{Answer, Peer, request, serve_if_asked};

const ROUNDS: usize = 400;
const WARM_UP: usize = 20;
const PLANS: usize = 50;
const BYTES: usize = 20 * 1000;
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> Answer<()> {
    if serve_if_asked()? {
        return Ok(());
    }
    table::head();
    // Where the disk is, and where flushing costs nothing: there all that we add is seen.
    for (what, parent) in [
        ("disk", std::env::temp_dir()),
        ("memory", "/dev/shm".into()),
    ] {
        if parent.is_dir() {
            in_turns(what, &parent)?;
        }
    }
    edits()?;
    plans()
}

/// One-line edits of files of 20 KB, over pipes: of a text, and of code, of which the answer also says
/// whether it still parses.
fn edits() -> Answer<()> {
    let lines: Vec<String> = (1..=500)
        .map(|line| format!("{line:4} 34567890123456789012345678901234\n"))
        .collect();
    let text = Edited {
        what: "edit of one line of 20 KB of text, over pipes, on disk",
        name: "ours.txt",
        text: lines.concat(),
        lines: (1..=500).collect(),
        row: |round| format!("{round:4} edited"),
    };
    text.in_turns()?;
    let rust = include_str!("../fixtures/outline/rust/telemetry.rs").repeat(2);
    let statements = rust.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        line.starts_with("let ") && line.ends_with(';')
    });
    let code = Edited {
        what: "edit of one line of 19 KB of Rust, over pipes, on disk",
        name: "ours.rs",
        lines: statements.map(|(index, _)| index + 1).collect(),
        text: rust.clone(),
        row: |round| format!("        let edited = {round};"),
    };
    code.in_turns()?;
    first_edits(&rust)
}

/// A file whose lines are edited one after the other.
struct Edited {
    what: &'static str,
    name: &'static str,
    text: String,
    /// Those that are edited, in turn.
    lines: Vec<usize>,
    row: fn(usize) -> String,
}

impl Edited {
    fn in_turns(self) -> Answer<()> {
        let directory = tempfile::tempdir()?;
        let (ours, plain) = (
            directory.path().join(self.name),
            directory.path().join("plain"),
        );
        let mut text = self.text;
        fs::write(&ours, &text)?;
        fs::write(&plain, &text)?;
        let mut daemon = Peer::daemon(directory.path())?;
        let mut tag = read_tag(&mut daemon, &format!("{}:1-2000", self.name))?;
        let (mut edits, mut plains) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS + WARM_UP {
            let (line, row) = (self.lines[round % self.lines.len()], (self.row)(round));
            let patch = format!("¶{}#{tag}\nreplace {line}:\n+{row}\n", self.name);
            let frame = request("agent/edit", json!({ "patch": patch }));
            let (took, result) = timed(|| daemon.result(&frame))?;
            tag = tag_in(&result["details"]["files"][0]["tag"])?;
            text = {
                let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
                let edited = row + "\n";
                lines[line - 1] = &edited;
                lines.concat()
            };
            let least = timed(|| replace(&plain, text.as_bytes()))?.0;
            if round >= WARM_UP {
                edits.push(took);
                plains.push(least);
            }
        }
        if fs::read_to_string(&ours)? != text {
            return Err("the edited file is not what was written beside it".into());
        }
        row(
            self.what,
            "temporary, fsync, rename, fsync",
            (edits, plains),
        );
        Ok(())
    }
}

/// The first edits of files of which no summary was read: they are parsed for the first time.
fn first_edits(text: &str) -> Answer<()> {
    let directory = tempfile::tempdir()?;
    let plain = directory.path().join("plain");
    fs::write(&plain, text)?;
    let mut daemon = Peer::daemon(directory.path())?;
    let (mut edits, mut plains) = (Vec::new(), Vec::new());
    for round in 0..PLANS {
        let name = format!("ours{round}.rs");
        fs::write(directory.path().join(&name), text)?;
        let tag = read_tag(&mut daemon, &format!("{name}:1-2000"))?;
        let patch = format!("¶{name}#{tag}\nreplace 1:\n+// edited\n");
        let frame = request("agent/edit", json!({ "patch": patch }));
        edits.push(timed(|| daemon.result(&frame))?.0);
        plains.push(timed(|| replace(&plain, text.as_bytes()))?.0);
    }
    row(
        "first edit of 19 KB of Rust, over pipes, on disk",
        "temporary, fsync, rename, fsync",
        (edits, plains),
    );
    Ok(())
}

/// Plans of 100 hunks on 10,000 lines: by the live tag, and by one that 1,000 edits came after.
fn plans() -> Answer<()> {
    let directory = tempfile::tempdir()?;
    let text: String = (1..=10_000).map(|line| format!("line {line}\n")).collect();
    fs::write(directory.path().join("long.txt"), text)?;
    let mut daemon = Peer::daemon(directory.path())?;
    let whole =
        json!({ "path": "long.txt:1-10000", "budget": { "lines": 20000, "bytes": 1048576 } });
    let read = daemon.result(&request("agent/read", whole))?;
    let first = tag_in(&read["details"]["hashline"]["tag"])?;
    let fresh = dry_run(&mut daemon, &first)?;
    let mut tag = first.clone();
    for edit in 1..=1000 {
        // Lines that the dry runs leave alone.
        let line = (edit % 99) * 100 + 7;
        let patch = format!("¶long.txt#{tag}\nreplace {line}:\n+edit {edit}\n");
        let result = daemon.result(&request("agent/edit", json!({ "patch": patch })))?;
        tag = tag_in(&result["details"]["files"][0]["tag"])?;
    }
    let carried = dry_run(&mut daemon, &first)?;
    row(
        "plan of 100 hunks on 10,000 lines, numbered 1,000 edits ago, over pipes",
        "the same by the live tag",
        (carried, fresh),
    );
    Ok(())
}

fn dry_run(daemon: &mut Peer, tag: &str) -> Answer<Vec<Duration>> {
    let hunks: String = (0..100)
        .map(|hunk| format!("replace {}:\n+planned\n", hunk * 100 + 50))
        .collect();
    let patch = format!("¶long.txt#{tag}\n{hunks}");
    let frame = request("agent/edit", json!({ "patch": patch, "dryRun": true }));
    let mut times = Vec::new();
    for _ in 0..PLANS {
        times.push(timed(|| daemon.result(&frame))?.0);
    }
    Ok(times)
}

fn read_tag(daemon: &mut Peer, path: &str) -> Answer<String> {
    let read = daemon.result(&request("agent/read", json!({ "path": path })))?;
    tag_in(&read["details"]["hashline"]["tag"])
}

fn tag_in(value: &Value) -> Answer<String> {
    Ok(value.as_str().ok_or("no tag")?.to_owned())
}

fn in_turns(what: &str, parent: &Path) -> Answer<()> {
    let directory = tempfile::tempdir_in(parent)?;
    let top = directory.path().canonicalize()?;
    fs::create_dir(top.join("ws"))?;
    let scope = Scope::new(
        vec![top.join("ws")],
        Arc::new(Settings::default()),
        Arc::new(AtomicU64::new(0)),
    );
    let writer = DiskWriter::new(Some(top.join("state")));
    let path = |name: &str| top.join("ws").join(name);
    let (ours, plain) = (path("ours"), path("plain"));
    let mut text = vec![b'x'; BYTES];
    fs::write(&ours, &text)?;
    fs::write(&plain, &text)?;
    let (mut writes, mut plains) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + WARM_UP {
        let old = Planned::of(&text);
        text[100..104].copy_from_slice(format!("{round:04}").as_bytes());
        let change = FileWrite {
            target: Target::opened(&scope.open(&ours)?, old),
            bytes: text.as_slice().into(),
        };
        // What the work lets go of later is let go of in this time.
        let write = || {
            let work = Work::new(CancelToken::new(), LIMIT);
            Ok(writer.write(&scope, vec![change], &work)?)
        };
        let took = timed(write)?.0;
        let least = timed(|| replace(&plain, &text))?.0;
        if round >= WARM_UP {
            writes.push(took);
            plains.push(least);
        }
    }
    let what = format!("write of 20 KB, in process, on {what}");
    row(&what, "temporary, fsync, rename, fsync", (writes, plains));
    Ok(())
}

fn replace(path: &Path, text: &[u8]) -> Answer<()> {
    let temporary: PathBuf = path.with_extension("temporary");
    let mut file = File::create(&temporary)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    let parent = path.parent().ok_or("no parent")?;
    Ok(File::open(parent)?.sync_all()?)
}
