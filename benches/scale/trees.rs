//! The files that the scale table is measured over, and sizes for both forms; nothing here measures.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::support::{self, Answer};

/// Files in a folder of a made tree.
const IN_FOLDER: usize = 100;

/// How much there is of everything.
pub struct Sizes {
    pub log_mib: usize,
    pub log_rounds: usize,
    pub listed: usize,
    pub sought: usize,
    pub read: usize,
    pub reads: usize,
}

impl Sizes {
    pub fn asked() -> Sizes {
        let long = std::env::var_os("PILCROW_LONG").is_some_and(|value| value == "1");
        Sizes {
            log_mib: if long { 5 << 10 } else { 512 },
            log_rounds: if long { 3 } else { 5 },
            listed: 2000,
            sought: if long { 200_000 } else { 20_000 },
            read: if long { 50_000 } else { 5_000 },
            reads: if long { 1_000_000 } else { 100_000 },
        }
    }
}

/// Each root is a workspace of its own; all go when this is dropped.
pub struct Trees {
    directory: TempDir,
    pub log: Log,
}

/// Blocks of the same lines, so that it is known where a line begins.
pub struct Log {
    pub path: PathBuf,
    pub lines: u64,
    pub lines_in_block: u64,
    pub bytes_in_block: u64,
}

impl Trees {
    pub fn new(sizes: &Sizes) -> Answer<Trees> {
        let directory = tempfile::tempdir()?;
        let root = |name: &str| -> Answer<PathBuf> {
            let path = directory.path().join(name);
            fs::create_dir(&path)?;
            Ok(path)
        };
        let log = log(&root("log")?.join("big.log"), sizes.log_mib)?;
        flat(&root("listed")?.join("many"), sizes.listed)?;
        tree(&root("sought")?, sizes.sought, "")?;
        tree(&root("read")?, sizes.read, &support::source())?;
        let stormy = root("stormy")?;
        fs::write(stormy.join(".gitignore"), "node_modules\n")?;
        fs::create_dir(stormy.join("node_modules"))?;
        fs::write(stormy.join("quiet.rs"), support::source())?;
        std::thread::sleep(support::SETTLED);
        Ok(Trees { directory, log })
    }

    pub fn root(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Where a file of a tree is, as an agent writes it.
pub fn name(number: usize) -> String {
    let folder = number / IN_FOLDER;
    format!("part{}/folder{folder}/file{number}.rs", folder / IN_FOLDER)
}

fn tree(root: &Path, files: usize, text: &str) -> Answer<()> {
    for number in 0..files {
        let path = root.join(name(number));
        if number % IN_FOLDER == 0 {
            fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
        }
        let mut file = File::create(path)?;
        if !text.is_empty() {
            file.write_all(format!("// {number}\n{text}").as_bytes())?;
        }
    }
    Ok(())
}

fn flat(folder: &Path, files: usize) -> Answer<()> {
    fs::create_dir(folder)?;
    for number in 0..files {
        fs::write(folder.join(format!("file{number}.rs")), b"fn main() {}\n")?;
    }
    Ok(())
}

/// Whole blocks of about 1 MiB, of lines of 30 to 180 bytes, written through to the disk.
fn log(path: &Path, mib: usize) -> Answer<Log> {
    let mut block = Vec::with_capacity(1 << 20);
    let mut lines_in_block = 0;
    while block.len() < (1 << 20) - 200 {
        let length = 10 + lines_in_block * 7919 % 150;
        let word = "request ".repeat(length as usize / 8 + 1);
        writeln!(
            block,
            "INFO {lines_in_block:08} {}",
            &word[..length as usize]
        )?;
        lines_in_block += 1;
    }
    let mut file = File::create(path)?;
    for _ in 0..mib {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(Log {
        path: path.to_owned(),
        lines: lines_in_block * mib as u64,
        lines_in_block,
        bytes_in_block: block.len() as u64,
    })
}
