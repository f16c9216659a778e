//! Zstandard as its own programs write it: frames of every kind one after the other, windows of every size, and what is said of those that are cut or damaged.

use super::hostile::assert_small;
use super::{daemon, details, fixture, refusal};
use crate::chance::Chance;
use crate::client::Daemon;
use crate::tree::Tree;

/// What all these fixtures hold, so many lines of it.
fn tide(lines: usize) -> String {
    (1..=lines)
        .map(|line| format!("line {line}: the tide is at {} cm\n", 3 * line))
        .collect()
}

/// The text of a file, page after page, and the notice that comes with it.
fn whole(daemon: &Daemon, path: &str) -> (String, Option<String>) {
    let lines = details(daemon, path)["totalLines"]
        .as_u64()
        .expect("a count of lines");
    let mut text = String::new();
    let mut notice = None;
    for from in (1..=lines).step_by(500) {
        let last = (from + 499).min(lines);
        let page = daemon
            .read(format!("{path}:{from}-{last}:raw"))
            .expect("a page");
        text += page["content"][0]["text"].as_str().expect("a text");
        notice = page["details"]["notices"][0].as_str().map(str::to_owned);
    }
    (text, notice)
}

#[test]
fn frames_and_windows_of_every_kind() {
    let daemon = daemon();
    for (name, lines) in [
        ("many-frames.txt.zst", 8000),
        ("one-frame.txt.zst", 20000),
        ("small-window.txt.zst", 20000),
        ("middle-window.txt.zst", 20000),
    ] {
        let (text, notice) = whole(&daemon, name);
        assert!(text == tide(lines), "{name}: {} bytes", text.len());
        assert_eq!(notice, None, "{name}");
    }
    assert_eq!(
        details(&daemon, "raw-blocks.bin.zst")["totalBytes"],
        140_000
    );
    assert_small(&daemon);
}

#[test]
fn a_window_that_is_too_wide_is_told_so() {
    let daemon = daemon();
    let wide = "to unpack it takes a window of more than 128 MiB. Extract it with a tool, and read the lines you need from the file.";
    let not_there = "it is not in the part of the archive that is looked at. To inflate what follows the last member listed takes a window of more than 128 MiB: it is not looked at. Extract the archive to read the rest.";
    for (path, said) in [
        ("wide-window.txt.zst", wide),
        ("wide-window.txt.xz", wide),
        ("wide-window.tar.zst:wide.txt", not_there),
    ] {
        let error = refusal(&daemon, path);
        let message = format!("'{path}' is too large: {said}");
        assert_eq!((error.kind(), &*error.message), ("tooLarge", &*message));
    }
    // What lies before it is there.
    assert_eq!(
        daemon.read_text("wide-window.tar.zst"),
        "of.txt (588B)\n\n[To inflate what follows the last member listed takes a window of more than 128 MiB: it is not looked at]"
    );
    assert_eq!(
        daemon.read_text("wide-window.tar.zst:of.txt:20"),
        "20:line 20: the tide is at 60 cm"
    );
    let error = refusal(&daemon, "dictionary.txt.zst");
    assert_eq!(error.kind(), "damaged");
    assert!(
        error
            .message
            .contains("it was packed with zstd dictionary "),
        "{}",
        error.message
    );
}

#[test]
fn what_came_before_a_cut_is_shown() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (name, lines) in [
        ("many-frames.txt.zst", 8000),
        ("one-frame.txt.zst", 20000),
        ("small-window.txt.zst", 20000),
    ] {
        let bytes = fixture(name);
        let truth = tide(lines);
        for percent in [30, 60, 90] {
            let cut = format!("{percent}-{name}");
            tree.write(&cut, &bytes[..bytes.len() * percent / 100]);
            let (text, notice) = whole(&daemon, &cut);
            let notice = notice.expect("a notice");
            assert!(
                notice.contains("(the zstd stream is cut): this is what came before"),
                "{cut}: {notice}"
            );
            let text = text.trim_end();
            assert!(truth.starts_with(text), "{cut}");
            // All blocks that are whole came out of it: these frames have one for each 128 KiB.
            assert!(
                text.len() + 200_000 > truth.len() * percent / 100,
                "{cut}: {}",
                text.len()
            );
        }
    }
    // Of a block that is not compressed, what is there: the headers of frame and block take 6 and 3 bytes.
    let bytes = fixture("raw-blocks.bin.zst");
    for (cut, came) in [(100_009, 100_000), (135_012, 135_000)] {
        let name = format!("{cut}.bin.zst");
        tree.write(&name, &bytes[..cut]);
        assert_eq!(details(&daemon, &name)["totalBytes"], came, "{name}");
    }
}

#[test]
fn damage_is_told() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let sound = fixture("one-frame.txt.zst");
    let mut bytes = sound.clone();
    *bytes.last_mut().expect("bytes") ^= 1;
    tree.write("sum.txt.zst", &bytes);
    let (text, notice) = whole(&daemon, "sum.txt.zst");
    assert!(text == tide(20000), "{} bytes", text.len());
    let notice = notice.expect("a notice");
    assert!(
        notice.contains(
            "(corrupt zstd stream does not have a matching checksum): this is what came before"
        ),
        "{notice}"
    );
    for (name, tail, said) in [
        (
            "text.txt.zst",
            &b"this is no frame\n"[..],
            "no zstd frame begins where one should",
        ),
        (
            "skip.txt.zst",
            b"\x50\x2A\x4D\x18\x09\0\0\0less",
            "the zstd stream is cut",
        ),
        ("head.txt.zst", b"\x28\xB5\x2F", "the zstd stream is cut"),
        (
            "reserved.txt.zst",
            b"\x28\xB5\x2F\xFD\x0C\x58",
            "corrupt zstd stream",
        ),
        (
            "block.txt.zst",
            b"\x28\xB5\x2F\xFD\x04\x58\x07\0\0",
            "corrupt zstd stream",
        ),
        // It says that it holds one byte, and holds none.
        (
            "size.txt.zst",
            b"\x28\xB5\x2F\xFD\x20\x01\x01\0\0",
            "corrupt zstd stream",
        ),
    ] {
        tree.write(name, [&sound[..], tail].concat());
        let (text, notice) = whole(&daemon, name);
        assert!(text == tide(20000), "{name}: {} bytes", text.len());
        let notice = notice.expect("a notice");
        assert!(
            notice.contains(&format!("({said}): this is what came before")),
            "{name}: {notice}"
        );
    }
    tree.write(
        "tail.txt.zst",
        [&sound[..], b"\x28\xB5\x2F\xFD\x20\0\x01\0\0"].concat(),
    );
    assert_eq!(
        whole(&daemon, "tail.txt.zst").1,
        None,
        "a frame of no bytes"
    );
}

/// These frames have checksums: without a notice, the text is the true one.
#[test]
fn no_flipped_byte_is_shown_as_sound() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let mut seeded = Chance(0x5A57_D000_0000_0001);
    let names = [
        "one-frame.txt.zst",
        "small-window.txt.zst",
        "middle-window.txt.zst",
    ];
    let truth = tide(20000);
    let rounds = match std::env::var_os("PILCROW_LONG").is_some_and(|value| value == "1") {
        true => 3000,
        false => 60,
    };
    for (round, name) in names.iter().cycle().take(rounds).enumerate() {
        let mut bytes = fixture(name);
        // One in two lies near the start, where the tables of the first block are.
        let end = [bytes.len(), 200][round % 2];
        for _ in 0..=seeded.below(3) {
            let at = seeded.below(end);
            bytes[at] ^= 1 << seeded.below(8);
        }
        let path = format!("{round}-{name}");
        tree.write(&path, &bytes);
        match daemon.read(format!("{path}:19999-20000:raw")) {
            Ok(result) => {
                let text = result["content"][0]["text"].as_str().expect("a text");
                let is_said = result["details"].get("notices").is_some();
                let is_true = result["details"]["totalBytes"] == truth.len();
                assert!(
                    is_said || is_true && truth.ends_with(text),
                    "{path}: {text}"
                );
            }
            Err(error) => {
                let kinds = ["damaged", "tooLarge"];
                assert!(kinds.contains(&error.kind()), "{path}: {error:?}");
            }
        }
        std::fs::remove_file(tree.join(&path)).expect("removed");
    }
    assert_small(&daemon);
}
