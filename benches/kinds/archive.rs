//! Members of archives: a warm one beside a text of as many bytes, a cold one of a large archive beside a cold text; it never looks at listings.

use std::fs::{self, File};
use std::io::Write;

use divan::Bencher;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{self, Answer, InProcess, SETTLED, Workspace};

/// Bytes of the archive of which one small member is read.
const LARGE_ARCHIVE: usize = 50 << 20;
const SMALL_MEMBER: usize = 3 << 10;

/// Bytes of each of the other members: the directory of the archive has a thousand entries.
const FILLER: usize = LARGE_ARCHIVE / 1000;

/// `member.txt` in a folder, in a small archive, and its first 3 KB in a large one.
pub fn workspace() -> Answer<Workspace> {
    let workspace = Workspace::new()?;
    let text = support::source();
    let small = &text.as_bytes()[..SMALL_MEMBER];
    fs::write(workspace.path().join("member.txt"), &text)?;
    fs::write(workspace.path().join("small.txt"), small)?;
    let options = SimpleFileOptions::default();
    let mut archive = ZipWriter::new(File::create(workspace.path().join("small.zip"))?);
    archive.start_file("member.txt", options)?;
    archive.write_all(text.as_bytes())?;
    archive.finish()?;
    let mut archive = ZipWriter::new(File::create(workspace.path().join("large.zip"))?);
    let filler = noise();
    for number in 0..1000 {
        archive.start_file(
            format!("filler/{number}.bin"),
            options.compression_method(zip::CompressionMethod::Stored),
        )?;
        archive.write_all(&filler)?;
    }
    archive.start_file("small.txt", options)?;
    archive.write_all(small)?;
    archive.finish()?;
    std::thread::sleep(SETTLED);
    Ok(workspace)
}

/// Bytes that nothing packs: a xorshift.
fn noise() -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..FILLER).map(|_| next()).collect()
}

fn warm(bencher: Bencher, path: &str) {
    let workspace = workspace().expect("a workspace");
    let read = InProcess::new(&workspace, path).expect("a scope");
    let reader = InProcess::reader();
    read.read(&reader).expect("an answer");
    bencher.bench(|| read.read(&reader).expect("an answer"));
}

fn cold(bencher: Bencher, path: &str) {
    let workspace = workspace().expect("a workspace");
    let read = InProcess::new(&workspace, path).expect("a scope");
    bencher
        .with_inputs(InProcess::reader)
        .bench_refs(|reader| read.read(reader).expect("an answer"));
}

mod warm_member_of_an_archive {
    use super::*;

    #[divan::bench]
    fn member(bencher: Bencher) {
        warm(bencher, "small.zip:member.txt");
    }

    #[divan::bench]
    fn text_of_as_many_bytes(bencher: Bencher) {
        warm(bencher, "member.txt");
    }
}

mod cold_member_of_3_kb_in_50_mb {
    use super::*;

    #[divan::bench]
    fn member(bencher: Bencher) {
        cold(bencher, "large.zip:small.txt");
    }

    #[divan::bench]
    fn text_of_as_many_bytes(bencher: Bencher) {
        cold(bencher, "small.txt");
    }
}
