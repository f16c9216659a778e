//! Text files over 32 MiB: any slice is what other programs cut out of the file, whatever became of it; their content is never held.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

const MIB: u64 = 1024 * 1024;

/// Lines like those of a log, of varying length, from a number on, until there are so many bytes.
fn log_lines(first: u64, bytes: usize) -> String {
    let filler = "the quick brown fox — jumps over the lazy dog; ".repeat(8);
    let mut text = String::with_capacity(bytes + 1024);
    let mut number = first;
    while text.len() < bytes {
        let length = (number.wrapping_mul(2_654_435_761) >> 7) as usize % 300;
        let length = filler.floor_char_boundary(length);
        text.push_str("2026-11-21T10:00:00Z INFO ");
        text.push_str(&number.to_string());
        text.push(' ');
        text.push_str(&filler[..length]);
        text.push('\n');
        number += 1;
    }
    text
}

/// `sed -n 'A,Bp'`.
fn sed(path: &Path, first: u64, last: u64) -> String {
    let script = format!("{first},{last}p;{last}q");
    output(Command::new("sed").arg("-n").arg(script).arg(path))
}

fn tail(path: &Path, count: u64) -> String {
    output(
        Command::new("tail")
            .arg("-n")
            .arg(count.to_string())
            .arg(path),
    )
}

fn count_lines(path: &Path) -> u64 {
    let counted = output(Command::new("wc").arg("-l").arg(path));
    let count = counted.split_whitespace().next().expect("a count");
    count.parse().expect("a number")
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

/// The rows of a page: what stands before the first colon, and the text.
fn rows(page: &Value) -> Vec<(i64, String)> {
    let text = text_of(page);
    let body = text.split("\n\n[").next().unwrap_or(text);
    let rows = body.split('\n').filter(|row| *row != "…");
    rows.map(|row| {
        let (number, text) = row.split_once(':').unwrap_or_else(|| panic!("{row:?}"));
        (number.parse().expect("a number"), text.to_owned())
    })
    .collect()
}

fn numbered(first: i64, text: &str) -> Vec<(i64, String)> {
    (first..).zip(text.lines().map(str::to_owned)).collect()
}

fn read(daemon: &Daemon, spelled: &str) -> Value {
    daemon
        .read(spelled)
        .unwrap_or_else(|error| panic!("{spelled}: {error:?}"))
}

/// What the daemon read from files and pipes so far, in bytes.
fn bytes_read(daemon: &Daemon) -> u64 {
    let io = fs::read_to_string(format!("/proc/{}/io", daemon.pid())).expect("/proc/*/io");
    let rchar = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    rchar.and_then(|text| text.parse().ok()).expect("rchar")
}

fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opened");
    file.write_all(bytes.as_ref()).expect("appended");
}

/// Slices here and there are those that sed cuts out.
fn check_slices(daemon: &Daemon, path: &Path) {
    let total = count_lines(path);
    for first in [1, 2, total / 3, total - 60, total / 2, 7, total - 4, total] {
        let last = (first + 20).min(total);
        let page = read(daemon, &format!("{}:{first}-{last}:raw", path.display()));
        assert_eq!(text_of(&page), sed(path, first, last), "{first}-{last}");
        assert_eq!(
            page["details"]["shown"],
            json!([{ "start": first, "end": last }])
        );
    }
    let beyond = read(daemon, &format!("{}:{}", path.display(), total + 5));
    let said = format!("({total} lines). Use :1 to read from the start, or :{total} to");
    assert!(text_of(&beyond).contains(&said), "{}", text_of(&beyond));
    assert_eq!(beyond["details"]["totalLines"], total);
}

#[test]
fn slices_paging_and_totals_within_a_small_memory() {
    let tree = Tree::new().file("big.log", log_lines(1, 60 * MIB as usize));
    let path = tree.join("big.log");
    let size = fs::metadata(&path).expect("a size").len();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let page = read(&daemon, "big.log:100-150");
    assert_eq!(rows(&page), numbered(99, &sed(&path, 99, 153)));
    let footer = "\n\n[99-153 of 60.0MB]";
    assert!(text_of(&page).ends_with(footer), "{}", text_of(&page));
    let details = &page["details"];
    assert_eq!(
        (&details["kind"], &details["cache"]),
        (&json!("file"), &json!("miss"))
    );
    assert_eq!(details["totalBytes"], size);
    assert_eq!(details["encoding"], "utf-8");
    for absent in ["totalLines", "hashline", "truncation", "notices"] {
        assert!(details[absent].is_null(), "{absent}");
    }
    assert_eq!(read(&daemon, "big.log:100-150")["details"]["cache"], "hit");

    check_slices(&daemon, &path);
    let total = count_lines(&path);
    let page = read(&daemon, "big.log:100-150");
    assert!(
        text_of(&page).contains(&format!("99-153 of {total}]")),
        "{}",
        text_of(&page)
    );
    assert_eq!(
        (&page["details"]["totalLines"], &page["details"]["cache"]),
        (&json!(total), &json!("hit"))
    );
    let list = read(&daemon, "big.log:5,200000-200001,9");
    let expected = [
        sed(&path, 5, 5),
        sed(&path, 9, 9),
        sed(&path, 200_000, 200_001),
    ]
    .concat();
    let shown: String = rows(&list)
        .into_iter()
        .map(|(_, text)| text + "\n")
        .collect();
    assert_eq!(shown, expected);
    let plain = json!({ "path": "big.log", "selector": "7,8", "dialect": "plain" });
    let plain = daemon.read_with(plain).expect("plain");
    assert_eq!(text_of(&plain), sed(&path, 7, 8).trim_end());

    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(status["buffers"]["count"], 1);
    assert_eq!(status["snapshots"]["count"], 0);
    let held = status["buffers"]["bytes"].as_u64().expect("bytes");
    assert!((100..100_000).contains(&held), "{held} bytes held");
    assert!(
        daemon.rss_bytes() < 150 * MIB,
        "{} resident",
        daemon.rss_bytes()
    );
}

#[test]
fn pages_follow_each_other_and_show_each_line_once() {
    let tree = Tree::new().file("big.log", log_lines(1, 34 * MIB as usize));
    let path = tree.join("big.log");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let total = count_lines(&path);
    let follow = |first: &str, budget: Value| {
        let (mut shown, mut next) = (Vec::new(), Some(first.to_owned()));
        while let Some(selector) = next {
            let params = json!({ "path": "big.log", "selector": selector, "budget": budget });
            let page = daemon.read_with(params).expect("a page");
            shown.extend(rows(&page));
            let selector = &page["details"]["truncation"]["nextSelector"];
            next = selector.as_str().map(str::to_owned);
        }
        shown
    };
    // From the end, while nobody counted: the numbers go down to the last line.
    let shown = follow("-1000", json!({ "lines": 300 }));
    assert_eq!(shown, numbered(-1000, &tail(&path, 1000)));
    let shown = follow("1000-9000", Value::Null);
    assert_eq!(shown, numbered(1000, &sed(&path, 1000, 9000)));
    let shown = follow("3-9,100000-100500", json!({ "bytes": 4000 }));
    let expected = [
        numbered(3, &sed(&path, 3, 9)),
        numbered(100_000, &sed(&path, 100_000, 100_500)),
    ];
    assert_eq!(shown, expected.concat());
    let from = total - 5000;
    let shown = follow(&format!("{from}-"), json!({ "lines": 2000 }));
    assert_eq!(shown, numbered(from as i64, &tail(&path, 5001)));
    // By now the lines are counted, and the last ones have their numbers.
    let shown = follow("-700", json!({ "lines": 300 }));
    assert_eq!(shown, numbered(total as i64 - 699, &tail(&path, 700)));
    let targets = json!([{ "path": "big.log:50000-" }, { "path": "big.log:60000-" }]);
    let params = json!({ "targets": targets, "budget": { "lines": 50 } });
    let many = daemon.call("agent/readMany", params).expect("both");
    for (result, first) in [(0, 50_000), (1, 60_000)] {
        let page = &many["results"][result]["ok"];
        assert_eq!(
            rows(page),
            numbered(first as i64, &sed(&path, first, first + 24))
        );
        let next = format!("{}-", first + 25);
        assert_eq!(page["details"]["truncation"]["nextSelector"], next.as_str());
    }
}

#[test]
fn the_last_lines_are_read_from_the_end_alone() {
    let tree = Tree::new().file("big.log", log_lines(1, 60 * MIB as usize));
    let path = tree.join("big.log");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let before = bytes_read(&daemon);
    let page = read(&daemon, "big.log:-50");
    assert_eq!(rows(&page), numbered(-50, &tail(&path, 50)));
    assert!(!text_of(&page).contains("Showing"));
    assert!(page["details"]["shown"].is_null() && page["details"]["totalLines"].is_null());
    assert_eq!(text_of(&read(&daemon, "big.log:-50:raw")), tail(&path, 50));
    let cost = bytes_read(&daemon) - before;
    assert!(cost < 8 * MIB, "{cost} bytes read");
    let params = json!({ "path": "big.log", "selector": "-50", "budget": { "lines": 20 } });
    let page = daemon.read_with(params).expect("the first part");
    let footer = "[Showing lines -50 to -31 of 60.0MB. Use :-30 to continue]";
    assert!(text_of(&page).ends_with(footer), "{}", text_of(&page));
    // Without a final newline, and with more lines asked for than there are.
    append(&path, "last without an end");
    let page = read(&daemon, "big.log:-1");
    assert_eq!(rows(&page), [(-1, "last without an end".to_owned())]);
    let page = read(&daemon, "big.log:-9000000");
    assert_eq!(rows(&page)[0].0, 1);
    assert_eq!(page["details"]["totalLines"], count_lines(&path) + 1);
}

#[test]
fn whatever_becomes_of_the_file_is_shown() {
    let tree = Tree::new().file("big.log", log_lines(1, 40 * MIB as usize));
    let path = tree.join("big.log");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    check_slices(&daemon, &path);
    for round in 0..3 {
        append(&path, log_lines(round * 777, 3 * MIB as usize / 2));
        check_slices(&daemon, &path);
    }
    append(&path, "half a ");
    append(&path, "line\n");
    check_slices(&daemon, &path);
    // Rewritten in place: the same size, other lines.
    let mut file = OpenOptions::new().write(true).open(&path).expect("opened");
    file.write_all("\n".repeat(100_000).as_bytes())
        .expect("rewritten");
    check_slices(&daemon, &path);
    // Rewritten in the middle.
    file.seek(SeekFrom::Start(20 * MIB)).expect("seek");
    file.write_all("\n".repeat(5000).as_bytes())
        .expect("rewritten");
    check_slices(&daemon, &path);
    file.set_len(35 * MIB).expect("truncated");
    append(&path, "\n");
    check_slices(&daemon, &path);
    // Rotated by renaming, with a new file in its place.
    fs::rename(&path, tree.join("big.log.1")).expect("renamed");
    fs::write(&path, log_lines(9_000_000, 36 * MIB as usize)).expect("a new file");
    check_slices(&daemon, &path);
    check_slices(&daemon, &tree.join("big.log.1"));
    // Rotated by copying and truncating; it has grown past its old size when it is read again.
    fs::copy(&path, tree.join("big.log.2")).expect("copied");
    let truncated = File::create(&path).expect("truncated");
    append(&path, log_lines(50, 38 * MIB as usize));
    assert!(truncated.metadata().expect("a size").len() > 37 * MIB);
    check_slices(&daemon, &path);
    // And down to a size that is held, with a tag, and up again.
    truncated.set_len(0).expect("truncated");
    append(&path, "one\ntwo\n");
    let page = read(&daemon, "big.log");
    assert!(page["details"]["hashline"]["tag"].is_string() && text_of(&page).contains("2:two"));
    append(&path, log_lines(3, 33 * MIB as usize));
    check_slices(&daemon, &path);
}

#[test]
fn an_append_is_not_counted_from_the_start_again() {
    let tree = Tree::new().file("big.log", log_lines(1, 60 * MIB as usize));
    let path = tree.join("big.log");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let total = count_lines(&path);
    read(&daemon, &format!("big.log:{total}"));
    append(&path, "one more\n");
    let before = bytes_read(&daemon);
    let page = read(&daemon, &format!("big.log:{}", total + 1));
    assert_eq!(rows(&page), [(total as i64 + 1, "one more".to_owned())]);
    let cost = bytes_read(&daemon) - before;
    // Compared by samples, and taken twice since the change is so fresh.
    assert!(cost < 32 * MIB, "{cost} bytes read");
}

#[test]
fn a_file_that_grows_is_never_torn() {
    let line = |number: u64| format!("{number:015}\n");
    let count = 33 * MIB / 16;
    let tree = Tree::new().file("big.log", (1..=count).map(line).collect::<String>());
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let path = tree.join("big.log");
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writer = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let mut file = OpenOptions::new().append(true).open(&path).expect("opened");
            let mut next = count + 1;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) && next < 4 * count {
                let text: String = (next..next + 100).map(line).collect();
                file.write_all(text.as_bytes()).expect("appended");
                next += 100;
            }
        })
    };
    for round in 0..60 {
        let first = count - 30 + round * 5;
        let page = read(&daemon, &format!("big.log:{first}-{}:raw", first + 50));
        let shown = text_of(&page).to_owned();
        if !shown.contains("beyond the end") {
            let whole: String = (first..first + 51).map(line).collect();
            assert!(
                whole.starts_with(&shown) && shown.ends_with('\n'),
                "{shown}"
            );
        }
        let page = read(&daemon, "big.log:-3:raw");
        let numbers: Vec<u64> = text_of(&page)
            .lines()
            .filter_map(|n| n.parse().ok())
            .collect();
        assert!(
            numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
            "{numbers:?}"
        );
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().expect("the writer");
}

#[test]
fn other_encodings() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let text: String = (1..=600_000)
        .map(|n| format!("Zeile {n} für Ähren\u{A00}\u{10A}😀 und so weiter\r\n"))
        .collect();
    let expected = |first: usize, last: usize| -> String {
        text.lines()
            .skip(first - 1)
            .take(last + 1 - first)
            .map(|line| format!("{line}\r\n"))
            .collect()
    };
    for big in [false, true] {
        let unit = |unit: u16| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        };
        let marked = std::iter::once(0xFEFF).chain(text.encode_utf16());
        tree.write("wide.txt", marked.flat_map(unit).collect::<Vec<u8>>());
        for (first, last) in [(1, 3), (400_000, 400_020), (599_999, 600_000)] {
            let page = read(&daemon, &format!("wide.txt:{first}-{last}:raw"));
            assert_eq!(text_of(&page), expected(first, last), "{big}");
            let details = &page["details"];
            let encoding = if big { "utf-16be" } else { "utf-16le" };
            assert_eq!(details["encoding"], encoding);
            assert_eq!(
                (&details["bom"], &details["lineEnding"]),
                (&json!(true), &json!("crlf"))
            );
        }
        let page = read(&daemon, "wide.txt:-2:raw");
        assert_eq!(text_of(&page), expected(599_999, 600_000));
        assert_eq!(page["details"]["totalLines"], 600_000);
    }
    let latin = "Öl für Mühlen, größer und schöner als früher\n".repeat(900_000);
    let bytes: Vec<u8> = latin.chars().map(|c| c as u8).collect();
    tree.write("latin.txt", &bytes);
    let page = read(&daemon, "latin.txt:700000-700001:raw");
    assert_eq!(
        text_of(&page),
        "Öl für Mühlen, größer und schöner als früher\n".repeat(2)
    );
    assert_eq!(page["details"]["encoding"], "windows-1252");
    assert_eq!(page["details"]["encodingConfidence"], "likely");
    let params = json!({ "path": "latin.txt", "selector": "5-5:raw", "encoding": "utf-8" });
    let page = daemon.read_with(params).expect("as declared");
    assert!(text_of(&page).contains('\u{FFFD}'));
    assert!(
        page["details"]["notices"][0]
            .as_str()
            .is_some_and(|notice| notice.contains("U+FFFD"))
    );
    let again = read(&daemon, "latin.txt:6-6");
    assert_eq!(
        again["details"]["encoding"], "utf-8",
        "a declared encoding is remembered"
    );
}

#[test]
fn a_giant_line_is_shown_in_part() {
    let tree = Tree::new();
    let giant = File::create(tree.join("one.txt")).expect("created");
    let block = "é".repeat(MIB as usize / 2);
    for at in 0..100 {
        giant
            .write_all_at(block.as_bytes(), at * MIB)
            .expect("written");
    }
    tree.write(
        "two.txt",
        format!("{}\r\nshort\n", "x".repeat(40 * MIB as usize)),
    );
    tree.write("crs.txt", "a line of an old Mac\r".repeat(2_000_000));
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let page = read(&daemon, "one.txt");
    let cut = "[Line 1 cut at 2000 characters; it is longer than 64 MiB]";
    let shown = format!("1:{}…\n\n{cut}", "é".repeat(2000));
    assert_eq!(text_of(&page), shown);
    assert_eq!(page["details"]["totalLines"], 1);
    let page = read(&daemon, "one.txt:1-1:raw");
    assert_eq!(text_of(&page).len() as u64, MIB);
    let footer = page["content"][1]["text"].as_str().expect("a footer");
    assert!(
        footer.starts_with("[Line 1 cut at 524288 characters (1 MiB limit); it"),
        "{footer}"
    );
    let page = read(&daemon, "two.txt");
    let cut = format!(
        "[Line 1 cut at 2000 of {} characters. Use :1-1:raw for the whole line]",
        40 * MIB
    );
    assert!(
        text_of(&page).ends_with(&format!("…\n2:short\n\n{cut}")),
        "{}",
        text_of(&page)
    );
    assert_eq!(page["details"]["cutLines"][0]["totalChars"], 40 * MIB);
    assert_eq!(page["details"]["shown"], json!([{ "start": 2, "end": 2 }]));
    assert_eq!(rows(&read(&daemon, "two.txt:-1"))[0].1, "short");
    assert_eq!(read(&daemon, "crs.txt")["details"]["totalLines"], 1);
    assert!(
        daemon.rss_bytes() < 150 * MIB,
        "{} resident",
        daemon.rss_bytes()
    );
}

#[test]
fn binary_data_is_refused_and_a_cancelled_count_goes_on_where_it_stopped() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let zeros = File::create(tree.join("disk.img")).expect("created");
    zeros.set_len(64 * MIB).expect("sparse");
    let error = daemon.read("disk.img").expect_err("binary");
    assert_eq!((error.code, error.kind()), (-32803, "binary"));

    // Text with a hole: as long as nobody writes it, it costs nothing to make.
    tree.write("holes.txt", log_lines(1, MIB as usize));
    let path = tree.join("holes.txt");
    let size = (if long() { 40 } else { 8 }) * 1024 * MIB;
    let file = OpenOptions::new().write(true).open(&path).expect("opened");
    file.set_len(size).expect("sparse");
    let scan = daemon.request("agent/read", json!({ "path": "holes.txt:9999999" }));
    let begun = bytes_read(&daemon);
    while bytes_read(&daemon) < begun + 16 * MIB {
        std::thread::yield_now();
    }
    daemon.notify("$/cancelRequest", json!({ "id": scan }));
    assert_eq!(daemon.wait(&scan).expect_err("cancelled").code, -32800);
    // The answer does not wait for the count to notice.
    let stopped_at = when_nothing_is_read(&daemon);
    assert!(stopped_at < size, "it was read to its end");
    let page = read(&daemon, "holes.txt:100-103");
    assert!(text_of(&page).contains("\n101:2026-11-21T"));
    assert_eq!(page["details"]["totalBytes"], size);
    assert_eq!(page["details"]["cache"], "hit");
}

/// The bytes that were read, once it is no more than some requests themselves are.
fn when_nothing_is_read(daemon: &Daemon) -> u64 {
    let mut before = bytes_read(daemon);
    let mut same = 0;
    while same < 20 {
        daemon.call("agent/status", json!({})).expect("a status");
        let now = bytes_read(daemon);
        same = if now - before < MIB / 16 { same + 1 } else { 0 };
        before = now;
    }
    before
}

fn long() -> bool {
    std::env::var_os("PILCROW_LONG").is_some()
}

#[test]
fn deep_slices_of_a_larger_file() {
    let tree = Tree::new();
    let path = tree.join("deep.log");
    let mut file = File::create(&path).expect("created");
    let text = log_lines(1, 64 * MIB as usize);
    for _ in 0..if long() { 80 } else { 8 } {
        file.write_all(text.as_bytes()).expect("written");
    }
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    check_slices(&daemon, &path);
    let before = bytes_read(&daemon);
    let total = count_lines(&path);
    let first = total * 4 / 5;
    let page = read(&daemon, &format!("deep.log:{first}-{}:raw", first + 50));
    assert_eq!(text_of(&page), sed(&path, first, first + 50));
    let cost = bytes_read(&daemon) - before;
    assert!(
        cost < 32 * MIB,
        "{cost} bytes read for a slice whose place is known"
    );
    assert!(
        daemon.rss_bytes() < 150 * MIB,
        "{} resident",
        daemon.rss_bytes()
    );
    let mut end = Vec::new();
    let mut reader = File::open(&path).expect("opened");
    reader.seek(SeekFrom::End(-4096)).expect("seek");
    reader.read_to_end(&mut end).expect("read");
    let last = text_of(&read(&daemon, "deep.log:-1:raw")).to_owned();
    assert!(end.ends_with(last.as_bytes()) && last.len() > 20);
}
