//! One table of what is large: a log, a folder, a tree, a storm of writes, many open documents, many reads; it never measures in process.

mod documents;
#[path = "../support/mod.rs"]
mod support;
mod trees;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use support::table::{self, lone_row, row, shown, timed};
use support::{Answer, Peer, numbered_request, request};
use trees::{Log, Sizes, Trees};

const SLICE_LINES: u64 = 50;
const LATER_SLICES: usize = 200;
const LISTINGS: usize = 20;
const LOOKUPS: usize = 20;

/// A storm and a quiet time alternate; each is this long.
const SPELL: Duration = Duration::from_secs(2);
const SPELLS: usize = 2;
const BETWEEN_READS: Duration = Duration::from_millis(2);
const WRITES_A_SECOND: usize = 1000;

/// Reads that are sent at once.
const WINDOW: usize = 100;

fn main() -> Answer<()> {
    if support::serve_if_asked()? {
        return Ok(());
    }
    let sizes = Sizes::asked();
    let (took, trees) = timed(|| Trees::new(&sizes))?;
    eprintln!("trees made in {}", shown(took));
    table::head();
    slices(&trees.log, &sizes)?;
    listing(&trees.root("listed"), &sizes)?;
    lookups(&trees.root("sought"), &sizes)?;
    storm(&trees.root("stormy"))?;
    documents::documents(&trees.root("read"))?;
    many_reads(&trees.root("read"), &sizes)
}

fn read(path: &str) -> Vec<u8> {
    request("agent/read", json!({ "path": path }))
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn slices(log: &Log, sizes: &Sizes) -> Answer<()> {
    let root = log.path.parent().ok_or("the log is in a root")?;
    let before = sizes.log_mib as u64 * 9 / 10;
    let first = slice_at(before * log.lines_in_block + 1);
    let bytes = before * log.bytes_in_block;
    plain_reads(&log.path, bytes)?;
    let mut times = (Vec::new(), Vec::new());
    let mut daemon = Peer::daemon(root)?;
    for round in 0..sizes.log_rounds {
        if round > 0 {
            daemon = Peer::daemon(root)?;
        }
        let (took, answer) = timed(|| daemon.result(&first))?;
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        if !text.contains(":INFO 00000000 request") {
            return Err(format!("not the slice: {answer}").into());
        }
        times.0.push(took);
        times.1.push(timed(|| plain_reads(&log.path, bytes))?.0);
    }
    let mib = sizes.log_mib;
    row(
        &format!("{SLICE_LINES} lines at 90 % of {mib} MiB, first"),
        "plain reads of 1 MiB up to there",
        times,
    );
    later_slices(&mut daemon, log)
}

fn slice_at(line: u64) -> Vec<u8> {
    read(&format!("big.log:{line}+{SLICE_LINES}"))
}

fn plain_reads(path: &Path, bytes: u64) -> Answer<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    while done < bytes {
        match file.read(&mut buffer)? {
            0 => return Err("the log is too short".into()),
            count => done += count as u64,
        }
    }
    Ok(done)
}

fn later_slices(daemon: &mut Peer, log: &Log) -> Answer<()> {
    // What lies behind the first slice is indexed off the clock.
    let (tail, _) = timed(|| daemon.result(&slice_at(log.lines - SLICE_LINES)))?;
    lone_row("then the last lines (the rest is indexed)", &shown(tail));
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut times = Vec::new();
    for _ in 0..LATER_SLICES {
        let line = dice.below((log.lines - SLICE_LINES) as usize) as u64 + 1;
        times.push(timed(|| daemon.result(&slice_at(line)))?.0);
    }
    let middle = table::median(&mut times);
    let slowest = times.last().copied().unwrap_or_default();
    lone_row(
        &format!(
            "then {SLICE_LINES} lines anywhere (slowest {})",
            shown(slowest)
        ),
        &shown(middle),
    );
    lone_row("memory after the slices", &mib(daemon.resident()?));
    Ok(())
}

fn listing(root: &Path, sizes: &Sizes) -> Answer<()> {
    let mut daemon = Peer::daemon(root)?;
    let ask = read("many");
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..LISTINGS {
        let (took, answer) = timed(|| daemon.result(&ask))?;
        if answer["details"]["isDirectory"] != true {
            return Err(format!("not a listing: {answer}").into());
        }
        times.0.push(took);
        times.1.push(timed(|| look_at_all(&root.join("many")))?.0);
    }
    row(
        &format!("listing of {} files", sizes.listed),
        "`read_dir` and a `metadata` for each",
        times,
    );
    Ok(())
}

fn look_at_all(folder: &Path) -> Answer<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

fn lookups(root: &Path, sizes: &Sizes) -> Answer<()> {
    let mut daemon = Peer::daemon(root)?;
    let (first, _) = timed(|| daemon.result(&read("file1.rs")))?;
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let mut unique = (Vec::new(), Vec::new());
    let mut missing = (Vec::new(), Vec::new());
    for round in 0..LOOKUPS {
        let ask = read(&format!("file{}.rs", dice.below(sizes.sought)));
        let (took, answer) = timed(|| daemon.result(&ask))?;
        if answer["details"]["suffixResolution"].is_null() {
            return Err(format!("not looked for: {answer}").into());
        }
        unique.0.push(took);
        unique.1.push(timed(|| walked(root))?.0);
        let ask = read(&format!("nowhere{round}.toml"));
        let (took, answer) = timed(|| Ok(daemon.exchange(&ask)?.to_vec()))?;
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        if answer["error"].is_null() {
            return Err(format!("found what is not there: {answer}").into());
        }
        missing.0.push(took);
        missing.1.push(timed(|| walked(root))?.0);
    }
    let files = sizes.sought;
    lone_row(
        &format!("first unique name among {files} files"),
        &shown(first),
    );
    row(
        &format!("unique name among {files} files"),
        "`read_dir` of the tree",
        unique,
    );
    row(
        &format!("missing name among {files} files"),
        "`read_dir` of the tree",
        missing,
    );
    names_that_come(&mut daemon, root, files)
}

/// Each is asked for before it is there, and the moment after.
fn names_that_come(daemon: &mut Peer, root: &Path, files: usize) -> Answer<()> {
    let mut times = (Vec::new(), Vec::new());
    for round in 0..LOOKUPS {
        let name = format!("came{round}.toml");
        daemon.exchange(&read(&name))?;
        fs::write(root.join(trees::name(round)).with_file_name(&name), "x\n")?;
        let (took, answer) = timed(|| daemon.result(&read(&name)))?;
        if answer["details"]["suffixResolution"].is_null() {
            return Err(format!("not looked for: {answer}").into());
        }
        times.0.push(took);
        times.1.push(timed(|| walked(root))?.0);
    }
    row(
        &format!("name that just came among {files} files"),
        "`read_dir` of the tree",
        times,
    );
    Ok(())
}

fn walked(root: &Path) -> Answer<usize> {
    let mut folders = vec![root.to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => files += 1,
            }
        }
    }
    Ok(files)
}

/// One side of the storm: times of reads, and the daemon's processor time.
#[derive(Default)]
struct Side {
    times: Vec<Duration>,
    reading: Duration,
    idle: Duration,
    written: usize,
}

fn storm(root: &Path) -> Answer<()> {
    let mut daemon = Peer::daemon(root)?;
    for _ in 0..WINDOW {
        daemon.result(&read("quiet.rs"))?;
    }
    let (mut quiet, mut stormy) = (Side::default(), Side::default());
    for _ in 0..SPELLS {
        spell(&mut daemon, &mut quiet)?;
        while_writing(root, &mut stormy, |side| spell(&mut daemon, side))?;
    }
    let seconds = (SPELL * SPELLS as u32).as_secs();
    let rate = stormy.written / (2 * seconds as usize);
    let storm = format!("while {rate} files a second are written to `node_modules`");
    let cpu = |what: &str, of: fn(&Side) -> Duration| {
        row(
            &format!("daemon's CPU in {seconds} s, {what}, {storm}"),
            "quiet",
            (vec![of(&stormy)], vec![of(&quiet)]),
        );
    };
    cpu("read every 2 ms", |side| side.reading);
    cpu("unasked", |side| side.idle);
    row(
        &format!("warm read of 250 lines, one every 2 ms, {storm}"),
        "quiet",
        (stormy.times, quiet.times),
    );
    Ok(())
}

/// Reads for a while, then lets the daemon be for as long.
fn spell(daemon: &mut Peer, side: &mut Side) -> Answer<()> {
    let ask = read("quiet.rs");
    let before = daemon.cpu_time()?;
    let begun = Instant::now();
    while begun.elapsed() < SPELL {
        let (took, answer) = timed(|| Ok(daemon.exchange(&ask)?.to_vec()))?;
        if !String::from_utf8_lossy(&answer).contains(r#""cache":"hit""#) {
            return Err("the read is not warm".into());
        }
        side.times.push(took);
        std::thread::sleep(BETWEEN_READS);
    }
    let between = daemon.cpu_time()?;
    side.reading += between - before;
    std::thread::sleep(SPELL);
    side.idle += daemon.cpu_time()? - between;
    Ok(())
}

fn while_writing(
    root: &Path,
    side: &mut Side,
    run: impl FnOnce(&mut Side) -> Answer<()>,
) -> Answer<()> {
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let folder = root.join("node_modules");
    let offset = side.written;
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                let due = begun.elapsed().as_millis() as usize * WRITES_A_SECOND / 1000;
                let done = written.load(Ordering::Relaxed);
                for number in done..due {
                    let path = folder.join(format!("{}.js", offset + number));
                    if fs::write(path, "module.exports = 1;\n").is_ok() {
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let outcome = run(side);
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    side.written += written.into_inner();
    outcome
}

fn many_reads(root: &Path, sizes: &Sizes) -> Answer<()> {
    let mut daemon = Peer::daemon(root)?;
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    let start = daemon.resident()?;
    let least = support::source().len();
    let mut spent = Duration::ZERO;
    let mut residents = Vec::new();
    let windows = sizes.reads / WINDOW;
    for window in 1..=windows {
        let mut frames = Vec::new();
        for id in 0..WINDOW {
            let path = trees::name(dice.below(sizes.read));
            frames.extend(numbered_request(id, "agent/read", json!({ "path": path })));
        }
        spent += timed(|| exchange_window(&mut daemon, &frames, least))?.0;
        if window * 8 % windows < 8 {
            residents.push(daemon.resident()?);
        }
    }
    let [.., end] = residents[..] else {
        return Err("nothing was read".into());
    };
    let half = residents[residents.len() / 2 - 1];
    let (reads, files) = (sizes.reads, sizes.read);
    lone_row(&format!("{reads} reads over {files} files"), &shown(spent));
    let rate = reads as f64 / spent.as_secs_f64();
    lone_row("reads per second", &format!("{rate:.0}"));
    let ratio = end as f64 / half as f64;
    println!(
        "| memory at the end | {} | at the half | {} | {ratio:.2} |",
        mib(end),
        mib(half)
    );
    let eighths: Vec<String> = residents.iter().map(|bytes| mib(*bytes)).collect();
    eprintln!(
        "memory: {} at first, then {}",
        mib(start),
        eighths.join(", ")
    );
    Ok(())
}

/// A window of reads, none of which may be refused: a refusal is shorter than the file.
fn exchange_window(daemon: &mut Peer, frames: &[u8], least: usize) -> Answer<()> {
    daemon.send(frames)?;
    for _ in 0..WINDOW {
        let answer = daemon.receive()?;
        if answer.len() < least {
            return Err(format!("refused: {}", String::from_utf8_lossy(answer)).into());
        }
    }
    Ok(())
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
