//! One write of 20 KB beside the least that keeps a file whole, taken in turns in one run; nothing here judges a time.
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
use support::table::{self, row, timed};
use support::{Answer, serve_if_asked};

const ROUNDS: usize = 400;
const WARM_UP: usize = 20;
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
    Ok(())
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
            target: Target::Existing {
                handle: scope.open(&ours)?,
                planned: old,
            },
            bytes: text.as_slice().into(),
        };
        let work = Work::new(CancelToken::new(), LIMIT);
        let took = timed(|| Ok(writer.write(&scope, vec![change], &work)?))?.0;
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
