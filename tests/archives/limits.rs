//! The limits of archives, at their edges: entries, bytes of a member, bytes of a pass; and that a long read ends when nobody waits for it.

use std::io::{Cursor, Write};

use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::hostile::assert_small;
use super::refusal;
use crate::chance::Chance;
use crate::client::Daemon;
use crate::tree::Tree;

const MIB: usize = 1 << 20;

/// Lines of text, so many bytes of them.
fn text(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 32);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        writeln!(text, "line {number}").expect("memory");
    }
    text.truncate(bytes);
    text
}

/// A zip of stored members.
fn stored(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in members {
        archive.start_file(*name, options).expect("a member");
        archive.write_all(bytes).expect("its bytes");
    }
    archive.finish().expect("an archive").into_inner()
}

#[test]
fn a_member_of_64_mib_and_one_byte_more() {
    let most = text(64 * MIB + 1);
    let tree = Tree::new();
    let latin = b"caf\xe9 \xe0 la carte\n".repeat(20 * MIB / 16);
    let members = [
        ("whole.txt", &most[..64 * MIB]),
        ("more.txt", &most),
        ("latin.txt", &latin),
    ];
    tree.write("edge.zip", stored(&members));
    drop(most);
    let daemon = Daemon::start(tree.path());
    let result = daemon
        .read("edge.zip:whole.txt:5000000-5000000:raw")
        .expect("a read");
    assert_eq!(result["content"][0]["text"], "line 4999999\n");
    assert_eq!(result["details"]["totalBytes"], 64 * MIB);
    let error = refusal(&daemon, "edge.zip:more.txt");
    assert_eq!(
        (error.kind(), &*error.message),
        (
            "tooLarge",
            "'edge.zip:more.txt' is too large: more than 64 MiB would come out of this member. Extract it with a tool, and read the lines you need from the file."
        )
    );
    assert_eq!(error.data["retryable"], false);
    // Several at once take turns.
    let paths = [
        "edge.zip:whole.txt:9-10",
        "edge.zip:latin.txt:-1",
        "edge.zip:whole.txt:-1",
    ];
    let asked = paths.iter().cycle().take(9);
    let asked: Vec<_> = asked
        .map(|path| daemon.request("agent/read", json!({ "path": path })))
        .collect();
    let texts = asked
        .iter()
        .map(|id| daemon.wait(id).expect("a read")["content"][0]["text"].clone());
    let texts: Vec<_> = texts.collect();
    assert_eq!(
        texts[0],
        "8:line 7\n9:line 8\n10:line 9\n11:line 10\n12:line 11\n13:line 12\n\n[8-13 of 5247691]"
    );
    assert_eq!(texts[1], "1310720:café à la carte");
    assert_eq!(
        daemon.read("edge.zip:latin.txt:1").expect("a read")["details"]["encoding"],
        "windows-1252"
    );
    assert_eq!(
        refusal(&daemon, "edge.zip:whole.txt:conflicts").kind(),
        "unsupported"
    );
    assert_small(&daemon);
}

/// Headers of a zip with `count` empty members in `directories` folders.
fn many_members(count: usize) -> Vec<u8> {
    let mut archive = Vec::with_capacity(count * 110);
    let mut directory = Vec::with_capacity(count * 60);
    for number in 0..count {
        let name = format!("f{number:07}");
        let offset = archive.len() as u32;
        let common = |out: &mut Vec<u8>| {
            // Version, flags, method, time, date, checksum, sizes, length of the name.
            out.extend([20, 0, 0, 0, 0, 0, 0, 0x60, 0x61, 0x58]);
            out.extend([0; 12]);
            out.extend((name.len() as u16).to_le_bytes());
        };
        archive.extend(b"PK\x03\x04");
        common(&mut archive);
        archive.extend([0; 2]);
        archive.extend(name.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x00");
        common(&mut directory);
        directory.extend([0; 12]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size) = (archive.len() as u32, directory.len() as u32);
    archive.append(&mut directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend((count as u16).to_le_bytes());
    archive.extend((count as u16).to_le_bytes());
    archive.extend(size.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

#[test]
fn a_million_entries_and_some_more() {
    let tree = Tree::new().file("many.zip", many_members(1_000_100));
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("many.zip:999999-").expect("a listing");
    assert_eq!(
        result["content"][0]["text"],
        "f0999998\nf0999999\n\n[Only the first 1000000 entries are looked at]"
    );
    assert_eq!(daemon.read_text("many.zip:f0500000"), "(empty file)");
    let error = refusal(&daemon, "many.zip:f1000050");
    assert_eq!(
        (error.kind(), &*error.message),
        (
            "tooLarge",
            "'many.zip:f1000050' is too large: it is not in the part of the archive that is looked at. Only the first 1000000 entries are looked at. Extract the archive to read the rest."
        )
    );
    assert_small(&daemon);
}

/// A tar.gz whose first member has 260 MiB and packs some fifty times, and a second one.
fn long_pass() -> Vec<u8> {
    let mut archive = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let header = |name: &str, size: u64| {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).expect("a name");
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        header
    };
    let mut row = [b'-'; 4096];
    let mut chance = Chance(0x2545_F491_4F6C_DD1D);
    archive
        .write_all(header("big.bin", 260 * MIB as u64).as_bytes())
        .expect("memory");
    for _ in 0..260 * MIB / row.len() {
        for byte in &mut row[..64] {
            *byte = chance.next() as u8;
        }
        archive.write_all(&row).expect("memory");
    }
    archive
        .write_all(header("late.txt", 5).as_bytes())
        .expect("memory");
    archive.write_all(b"late\n").expect("memory");
    archive.write_all(&[0; 507 + 1024]).expect("memory");
    archive.finish().expect("an archive")
}

#[test]
#[cfg(target_os = "linux")]
fn a_pass_ends_after_256_mib_or_when_nobody_waits() {
    use std::time::{Duration, Instant};
    let tree = Tree::new();
    tree.write("long.tar.gz", long_pass());
    let daemon = Daemon::start(tree.path());
    let before = daemon.cpu_time();
    assert_eq!(
        daemon.read_text("long.tar.gz"),
        "big.bin (260.0MB)\n\n[Only the first 256 MiB of what is inflated are looked at: later members are not listed]"
    );
    let whole = daemon.cpu_time() - before;
    let error = refusal(&daemon, "long.tar.gz:late.txt");
    assert_eq!(error.kind(), "tooLarge");
    assert!(
        error
            .message
            .contains("not in the part of the archive that is looked at"),
        "{}",
        error.message
    );
    // Another name, so that nothing of it is warm.
    std::fs::copy(tree.join("long.tar.gz"), tree.join("again.tar.gz")).expect("a copy");
    let before = daemon.cpu_time();
    let id = daemon.request("agent/read", json!({ "path": "again.tar.gz" }));
    let patience = Instant::now() + Duration::from_secs(60);
    while daemon.cpu_time() == before && Instant::now() < patience {
        std::thread::yield_now();
    }
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    let error = daemon.wait(&id).expect_err("it was cancelled");
    assert_eq!(error.code, -32800);
    // The work has ended too: a read in the same lane is served while little more is spent.
    tree.write("small.txt", "small\n");
    daemon
        .read("no-such-file-anywhere.txt")
        .expect_err("nothing is there");
    let spent = daemon.cpu_time() - before;
    assert!(
        spent < whole / 2 + Duration::from_millis(100),
        "{spent:?} of {whole:?}"
    );
    assert_small(&daemon);
}

#[test]
fn long_reads_leave_their_places_to_short_ones() {
    // More than may run at once, and more than short jobs have places.
    const LONG: usize = 28;
    const SHORT_PLACES: usize = 16;
    let tree = Tree::new().file("small.txt", "small\n");
    tree.write("0.tar.gz", long_pass());
    let name = |number: usize| format!("{number}.tar.gz");
    for number in 1..LONG {
        std::fs::hard_link(tree.join("0.tar.gz"), tree.join(&name(number))).expect("a link");
    }
    let daemon = Daemon::start(tree.path());
    let read = |path: &str| daemon.request("agent/read", json!({ "path": path }));
    let long: Vec<_> = (0..LONG).map(|number| read(&name(number))).collect();
    let short = read("small.txt");
    daemon.wait(&short).expect("a text");
    let order = daemon.arrival_order();
    let before = order.iter().take_while(|id| **id != short).count();
    // With a short place each they would have kept it back until so many are done.
    assert!(before < LONG - SHORT_PLACES, "{before}");
    for id in &long {
        daemon.notify("$/cancelRequest", json!({ "id": id }));
    }
    let cancelled = long.iter().filter_map(|id| daemon.wait(id).err());
    for error in cancelled {
        assert_eq!(error.code, -32800);
    }
}

#[test]
fn a_large_index_stays_warm() {
    use std::time::{Duration, Instant};
    // Some 8 MB of index.
    let tree = Tree::new().file("many.zip", many_members(100_000));
    let daemon = Daemon::start(tree.path());
    let patience = Instant::now() + Duration::from_secs(60);
    // A file that changed within two seconds is not believed to be unchanged.
    loop {
        let result = daemon.read("many.zip:99999-").expect("a listing");
        assert_eq!(result["content"][0]["text"], "f0099998\nf0099999");
        if result["details"]["cache"] == "hit" {
            break;
        }
        assert!(Instant::now() < patience, "it is never kept");
    }
    assert_eq!(daemon.read_text("many.zip:f0050000"), "(empty file)");
    assert_small(&daemon);
}

#[test]
fn a_prefix_before_a_directory_of_many_pages() {
    let prefix = b"#!/bin/sh\n".repeat(40);
    let archive = [prefix, many_members(5000)].concat();
    let tree = Tree::new().file("self.zip", archive);
    let daemon = Daemon::start(tree.path());
    assert_eq!(daemon.read_text("self.zip:4999-"), "f0004998\nf0004999");
    assert_eq!(daemon.read_text("self.zip:f0004999"), "(empty file)");
}
