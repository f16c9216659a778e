//! Archives that are damaged, cut, or meant to do harm: a clear answer to each, and nothing is ever shown as sound that is not.

use serde_json::{Value, json};

use super::{HARBOUR, MAIN, README, daemon, fixture, refusal};
use crate::chance::Chance;
use crate::client::{Daemon, WireError};
use crate::tree::Tree;

const MIB: u64 = 1 << 20;

pub fn assert_small(daemon: &Daemon) {
    let peak = daemon.peak_bytes();
    assert!(peak < 300 * MIB, "{} MiB at the peak", peak / MIB);
}

#[test]
fn listings_of_hostile_archives() {
    let daemon = daemon();
    let bomb = "zeros.bin (300.0MB)\n\n[It inflates to more than 1,000 times its size, as only a decompression bomb does: later members are not looked at]";
    for (name, listing) in [
        (
            "absolute.zip",
            "good.txt (5B)\n\n[4 entries with unsafe names are not listed]",
        ),
        (
            "dotdot.zip",
            "a/\ngood.txt (5B)\n\n[3 entries with unsafe names are not listed]",
        ),
        (
            "dotdot.zip:a",
            "..hidden (5B)\n\n[3 entries with unsafe names are not listed]",
        ),
        (
            "dotdot.tar",
            "good.txt (5B)\n\n[3 entries with unsafe names are not listed]",
        ),
        (
            "backslash.zip",
            "dir/\ngood.txt (5B)\n\n[1 entry with an unsafe name is not listed]",
        ),
        (
            "nul.zip",
            "\"esc\\u001b[31mred.txt\" (5B)\ngood.txt (5B)\n\"tab\\there.txt\" (5B)\n\n[1 entry with an unsafe name is not listed]",
        ),
        (
            "nul-name.tar",
            "good.txt (5B)\n\n[1 entry with an unsafe name is not listed]",
        ),
        (
            "long-name.zip",
            "d/\ngood.txt (5B)\n\n[1 entry with an unsafe name is not listed]",
        ),
        (
            "long-path.tar",
            "good.txt (5B)\n\n[1 entry with an unsafe name is not listed]",
        ),
        (
            "empty-name.zip",
            "good.txt (5B)\n\n[2 entries with unsafe names are not listed]",
        ),
        (
            "duplicate.zip",
            "good.txt (5B)\ntwin.txt (6B)\n\n[1 name occurs more than once; the last member of that name is the one read]",
        ),
        ("lying-size.zip", "big.txt (10B)\ngood.txt (5B)"),
        (
            "zipcrypto.zip",
            "plain.txt (11B)\nsecret.txt (588B, encrypted)",
        ),
        (
            "quine-count.zip",
            "a.txt (7B)\ngood.txt (5B)\n\n[The archive says that it has 65535 entries; 2 are there]",
        ),
        (
            "zip64-count.zip",
            "a.txt (7B)\ngood.txt (5B)\n\n[The archive says that it has 9223372036854775808 entries; 2 are there]",
        ),
        ("far-offset.zip", "a.txt (7B)\ngood.txt (5B)"),
        ("loop-offset.zip", "a.txt (7B)\ngood.txt (5B)"),
        (
            "no-end.zip",
            "a.txt (7B)\ngood.txt (5B)\n\n[The archive's directory is missing or damaged: its members were found by their own headers, and some may be missing]",
        ),
        ("two-ends.zip", "a.txt (7B)\ngood.txt (5B)"),
        (
            "bad-checksum.tar",
            "after.txt (5B)\ngood.txt (5B)\n\n[A damaged header was passed over: members may be missing]",
        ),
        (
            "base256-size.tar",
            "good.txt (5B)\n\n[A damaged header was passed over: members may be missing]",
        ),
        (
            "negative-size.tar",
            "good.txt (5B)\n\n[A damaged header was passed over: members may be missing]",
        ),
        (
            "huge-size.tar",
            "bad.txt (8.0GiB)\ngood.txt (5B)\n\n[The archive ends within a member: later ones are missing]",
        ),
        (
            "pax-bomb.tar",
            "good.txt (5B)\n\n[An extended header is damaged: the name or size that it gave is not known]\n[The archive has no mark of its end: it may be cut, and members missing]",
        ),
        ("pax-loop.tar.gz", "good.txt (5B)"),
        ("bomb.tar.bz2", bomb),
        ("bomb.tar.xz", bomb),
        ("bomb.tar.zst", bomb),
        (
            "truncated.tar.gz",
            "long.txt (20.2KB)\n\n[The archive is damaged or cut: what follows the last member listed cannot be read (incomplete deflate stream)]",
        ),
    ] {
        assert_eq!(
            daemon.read_text(format!("hostile/{name}")),
            listing,
            "{name}"
        );
    }
    assert_small(&daemon);
}

#[test]
fn members_of_hostile_archives() {
    let daemon = daemon();
    for (path, text) in [
        ("dotdot.zip:a/..hidden", "1:evil"),
        ("backslash.zip:dir/file.txt", "1:evil"),
        ("nul.zip:esc\u{1b}[31mred.txt", "1:evil"),
        ("zipcrypto.zip:plain.txt", "1:not secret"),
        ("lying-local.zip:central.txt", "1:stored text"),
        ("far-offset.zip:a.txt", "1:file a"),
        ("two-ends.zip:good.txt", "1:good"),
        ("no-end.zip:good.txt", "1:good"),
        ("bad-checksum.tar:after.txt", "1:five"),
        ("ratio.zip:good.txt", "1:good"),
        (
            "overlap.zip:100.bin",
            "[Cannot read binary archive entry '100.bin' (1.0MB)]",
        ),
        (
            "nested-bomb.zip:0-0.zip",
            "[Archive entry '0-0.zip' (10.6KB) is itself an archive; one inside another is not opened. Extract it to read what it holds]",
        ),
        (
            "lying-huge.zip:big.txt",
            "1:five\n\n[This member is damaged: the archive says that it has 4294967294 bytes, and 5 came out]",
        ),
        (
            "wrong-crc.zip:bad.txt",
            "1:bad sum\n\n[This member is damaged: its checksum is not that of these bytes]",
        ),
        (
            "duplicate.zip:twin.txt",
            "1:third\n\n[The archive has several members of this name; this is the last one]",
        ),
        (
            "truncated.tar.gz:long.txt:1007",
            "1007:100\n\n[The archive ends within this member: 9833 of its 20647 bytes are there]",
        ),
        (
            "trailing.txt.gz:20",
            "20:line 20: the tide is at 60 cm\n\n[The compressed stream is damaged, or something else follows it (invalid gzip header): this is what came before]",
        ),
        (
            "wrong-crc.txt.gz:20",
            "20:line 20: the tide is at 60 cm\n\n[The compressed stream is damaged, or something else follows it (corrupt gzip stream does not have a matching checksum): this is what came before]",
        ),
        (
            "sparse-overlap.tar:sparse.bin",
            "[Cannot read binary archive entry 'sparse.bin' (100B)]\n\n[The map of this sparse member is damaged: bytes may be missing]",
        ),
    ] {
        assert_eq!(daemon.read_text(format!("hostile/{path}")), text, "{path}");
    }
    let password = "reading this member takes a password, which cannot be given here; ask the user to extract it.";
    let bomb = "it inflates to more than 1,000 times its size, as only a decompression bomb does. It was not read further; do not extract it.";
    let large = "more than 64 MiB would come out of this member. Extract it with a tool, and read the lines you need from the file.";
    for (path, kind, said, message) in [
        (
            "zipcrypto.zip:secret.txt",
            "encrypted",
            "is encrypted: ",
            password,
        ),
        (
            "aes.zip:secret.txt",
            "encrypted",
            "is encrypted: ",
            password,
        ),
        ("lying-size.zip:big.txt", "tooLarge", "is too large: ", bomb),
        ("ratio.zip:zeros.txt", "tooLarge", "is too large: ", large),
        ("bomb.gz", "tooLarge", "is too large: ", large),
        (
            "sparse-bomb.tar:sparse.bin",
            "tooLarge",
            "is too large: ",
            large,
        ),
        (
            "bomb.tar.zst:zeros.bin",
            "tooLarge",
            "is too large: ",
            large,
        ),
        (
            "bomb.tar.zst:good.txt",
            "tooLarge",
            "is too large: ",
            "it is not in the part of the archive that is looked at. It inflates to more than 1,000 times its size, as only a decompression bomb does: later members are not looked at. Extract the archive to read the rest.",
        ),
        (
            "bad-deflate.zip:bad.txt",
            "damaged",
            "is damaged: ",
            "nothing of this member can be unpacked (corrupt deflate stream). Other members may be sound.",
        ),
        (
            "loop-offset.zip:a.txt",
            "damaged",
            "is damaged: ",
            "nothing of this member can be unpacked (there is no member where the archive's directory says). Other members may be sound.",
        ),
        (
            "reserved.gz",
            "damaged",
            "is damaged: ",
            "nothing of it can be inflated (invalid gzip header). Nothing in it can be read; get the archive again.",
        ),
        (
            "unknown-method.zip:bad.txt",
            "unsupported",
            "is packed by method 77 ",
            "(an unknown method), which cannot be unpacked here. Extract it with 7z.",
        ),
    ] {
        let path = format!("hostile/{path}");
        let error = refusal(&daemon, &path);
        let expected = format!("'{path}' {said}{message}");
        assert_eq!((error.kind(), &*error.message), (kind, &*expected));
    }
    assert_small(&daemon);
}

#[test]
fn paths_that_lead_out_or_nowhere() {
    let daemon = daemon();
    for inner in ["../evil.txt", "..", "a/../../evil2.txt", "./../x:5-6"] {
        assert_eq!(
            refusal(&daemon, &format!("hostile/dotdot.zip:{inner}")).kind(),
            "badParams",
            "{inner}"
        );
    }
    let deep = "d/".repeat(1999) + "x";
    assert_eq!(
        daemon.read_text(format!("hostile/long-name.zip:{deep}")),
        "1:evil"
    );
    let long = "n".repeat(4092) + ".txt";
    for inner in [
        "/etc/evil.txt",
        "etc/evil.txt",
        "C:/evil.txt",
        "nul",
        &long,
        &"y/".repeat(2000),
        &"z".repeat(1 << 20),
        &":".repeat(5000),
    ] {
        for archive in ["absolute.zip", "long-name.zip", "long-path.tar"] {
            let error = refusal(&daemon, &format!("hostile/{archive}:{inner}"));
            let kinds = ["notFound", "badSelector"];
            assert!(
                kinds.contains(&error.kind()),
                "{archive}: {} of {} bytes",
                error.kind(),
                inner.len()
            );
        }
    }
    let error = refusal(&daemon, "hostile/nul.zip:nul\0hidden.txt");
    assert!(
        ["notFound", "badParams"].contains(&error.kind()),
        "{error:?}"
    );
    assert_eq!(daemon.read_text("hostile/dotdot.zip:good.txt"), "1:good");
}

/// What an answer says: the text, and whether anything is said to be wrong with it.
fn said(answer: &Result<Value, WireError>) -> Option<(&str, bool)> {
    let result = answer.as_ref().ok()?;
    let text = result["content"][0]["text"].as_str().expect("a text");
    Some((text, result["details"].get("notices").is_some()))
}

/// Where a member is told to be sound, it is.
fn assert_honest(answer: &Result<Value, WireError>, truth: &str, what: &str) {
    match answer {
        Ok(_) => {
            let (text, is_said) = said(answer).expect("a text");
            let is_note = text.starts_with('[');
            assert!(is_said || is_note || text == truth, "{what}: {text}");
        }
        Err(error) => {
            let kinds = [
                "damaged",
                "notFound",
                "tooLarge",
                "unsupported",
                "encrypted",
                "binary",
                "badSelector",
            ];
            assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
            assert!(
                error.message.ends_with(['.', '?']),
                "{what}: {}",
                error.message
            );
        }
    }
}

#[test]
fn a_cut_archive_gives_what_is_left() {
    let names = [
        "harbour.zip",
        "stored.zip",
        "seven.zip",
        "harbour.tar",
        "harbour.tar.gz",
        "harbour.tar.bz2",
        "harbour.tar.xz",
        "harbour.tar.zst",
        "many.zip",
        "descriptors.zip",
        "zip64.zip",
        "tide.txt.gz",
        "mixed.zip",
    ];
    let tree = Tree::new().file("plain.txt", "plain\n");
    let daemon = Daemon::start(tree.path());
    for name in names {
        let whole = fixture(name);
        for percent in [10, 50, 90] {
            let cut = format!("{percent}-{name}");
            tree.write(&cut, &whole[..whole.len() * percent / 100]);
            let listing = daemon.read(&cut);
            // A tar may be cut in the empty blocks at its end, where nothing is lost.
            assert_honest(&listing, HARBOUR, &cut);
            assert_honest(&daemon.read(format!("{cut}:README.md")), README, &cut);
            assert_honest(&daemon.read(format!("{cut}:src/main.py")), MAIN, &cut);
        }
    }
    // Golden: what is had of some.
    assert_eq!(
        daemon.read_text("90-harbour.zip"),
        format!(
            "{HARBOUR}\n\n[The archive's directory is missing or damaged: its members were found by their own headers, and some may be missing]"
        )
    );
    assert_eq!(daemon.read_text("90-harbour.zip:README.md"), README);
    assert_eq!(
        daemon.read_text("50-harbour.tar"),
        "bin/\ndata/\nnotes/\nREADME.md (46B)\nempty.txt\n\n[The archive ends within a member: later ones are missing]"
    );
    assert_eq!(daemon.read_text("50-harbour.tar:README.md"), README);
    let error = refusal(&daemon, "10-harbour.tar.xz");
    assert_eq!(error.kind(), "damaged");
    assert!(
        daemon
            .read_text("50-tide.txt.gz")
            .contains("\n\n[The compressed stream is damaged")
    );
    assert_eq!(
        daemon.read_text("plain.txt").lines().nth(1),
        Some("1:plain")
    );
    assert_small(&daemon);
}

#[test]
fn flipped_and_random_bytes() {
    let tree = Tree::new().file("plain.txt", "plain\n");
    let daemon = Daemon::start(tree.path());
    let mut seeded = Chance(0x9E37_79B9_7F4A_7C15);
    // A tar has no checksum of what is in its members: there a flip may show as another text.
    let summed = [
        "harbour.zip",
        "stored.zip",
        "seven.zip",
        "harbour.tar.gz",
        "harbour.tar.bz2",
        "harbour.tar.xz",
    ];
    let unsummed = [
        "harbour.tar",
        "harbour.tar.zst",
        "zip64.zip",
        "links.tar",
        "sparse-gnu.tar",
        "sparse-pax.tar",
    ];
    for (round, name) in summed.iter().chain(&unsummed).cycle().take(300).enumerate() {
        let mut bytes = fixture(name);
        for _ in 0..=seeded.below(8) {
            let at = seeded.below(bytes.len());
            bytes[at] = match seeded.below(3) {
                0 => bytes[at] ^ (1 << seeded.below(8)),
                1 => 0xFF,
                _ => seeded.below(256) as u8,
            };
        }
        let path = format!("{round}-{name}");
        tree.write(&path, &bytes);
        for inner in [
            "",
            ":src",
            ":README.md",
            ":src/main.py",
            ":sparse.bin",
            ":soft.txt",
            ":src/lib/tide.txt:60",
        ] {
            let answer = daemon.read(format!("{path}{inner}"));
            if let Err(error) = &answer {
                assert!(
                    !["internal", "timeout", "busy", "io"].contains(&error.kind()),
                    "{path}{inner}: {error:?}"
                );
            }
            if name.ends_with(".zip") && inner == ":README.md" {
                assert_honest(&answer, README, &path);
            }
        }
        std::fs::remove_file(tree.join(&path)).expect("removed");
        if round % 10 == 0 {
            assert_eq!(
                daemon.read_text("plain.txt").lines().nth(1),
                Some("1:plain")
            );
        }
    }
    for (round, ending) in ["zip", "tar", "tar.gz", "tar.xz", "tar.zst", "tar.bz2", "gz"]
        .iter()
        .cycle()
        .take(140)
        .enumerate()
    {
        let magic: &[u8] = match *ending {
            "zip" => b"PK\x03\x04",
            "tar" => b"name",
            "tar.gz" | "gz" => b"\x1f\x8b\x08\0",
            "tar.xz" => b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46",
            "tar.zst" => b"\x28\xb5\x2f\xfd",
            _ => b"BZh91AY&SY",
        };
        let mut bytes = magic.to_vec();
        let length = seeded.below(5000);
        bytes.extend((0..length).map(|_| seeded.below(256) as u8));
        let path = format!("random-{round}.{ending}");
        tree.write(&path, &bytes);
        for inner in ["", ":a/b.txt"] {
            assert_honest(&daemon.read(format!("{path}{inner}")), "", &path);
        }
    }
    assert_eq!(
        daemon.read_text("plain.txt").lines().nth(1),
        Some("1:plain")
    );
    assert_small(&daemon);
}

#[test]
fn bombs_do_not_hold_up_other_reads() {
    let tree = Tree::new().file("plain.txt", "plain\n");
    for name in [
        "bomb.tar.bz2",
        "bomb.tar.gz",
        "bomb.tar.xz",
        "bomb.tar.zst",
        "bomb.gz",
        "ratio.zip",
        "nested-bomb.zip",
    ] {
        tree.write(name, fixture(&format!("hostile/{name}")));
    }
    let daemon = Daemon::start(tree.path());
    daemon.read("plain.txt").expect("a read");
    let paths = [
        "bomb.tar.bz2",
        "bomb.tar.xz:zeros.bin",
        "bomb.tar.zst:good.txt",
        "bomb.gz",
        "ratio.zip:zeros.txt",
        "bomb.tar.gz:zeros.bin",
        "nested-bomb.zip:0-9.zip",
        "bomb.tar.xz",
    ];
    let bombs: Vec<_> = (0..3)
        .flat_map(|_| paths)
        .map(|path| daemon.request("agent/read", json!({ "path": path })))
        .collect();
    let plain = daemon.request("agent/read", json!({ "path": "plain.txt" }));
    daemon.wait(&plain).expect("a read");
    for bomb in &bombs {
        if let Err(error) = daemon.wait(bomb) {
            assert_eq!(error.kind(), "tooLarge", "{error:?}");
        }
    }
    let order = daemon.arrival_order();
    let place = |id| order.iter().position(|other| other == id);
    let last = bombs.iter().map(place).max().expect("bombs");
    assert!(place(&plain) < last, "it was not served meanwhile");
    assert_small(&daemon);
}
