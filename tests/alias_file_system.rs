//! A file system of a test's own, in one flat directory, that finds files under names which it does not list, as VFAT, NTFS and Windows' shares do.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::io::{FdFlags, fcntl_setfd};

/// The names of a file and what is in it; the first is the one that is listed.
type Named = (Vec<String>, Vec<u8>);

/// The mounted file system; dropping it unmounts it.
pub struct Aliases {
    at: PathBuf,
    files: Arc<Mutex<BTreeMap<u64, Named>>>,
    serving: Option<JoinHandle<()>>,
}

/// A request's header is 40 bytes, an answer's 16 (linux/fuse.h).
const HEADER: usize = 40;
const BLOCK: usize = 1 << 17;

mod op {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FLUSH: u32 = 25;
    pub const INIT: u32 = 26;
    pub const OPENDIR: u32 = 27;
    pub const READDIR: u32 = 28;
    pub const RELEASEDIR: u32 = 29;
    pub const BATCH_FORGET: u32 = 42;
}

impl Aliases {
    /// Mounts it over an empty directory. Needs to be root.
    pub fn mount(at: &Path) -> Aliases {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let device = device.expect("the kernel has FUSE and this is root");
        // `mount` hands the number on to the kernel.
        fcntl_setfd(&device, FdFlags::empty()).expect("inherited");
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,allow_other",
            device.as_raw_fd()
        );
        let mounted = Command::new("mount")
            .args(["-i", "-n", "-t", "fuse", "-o", &options, "aliases"])
            .arg(at)
            .status();
        assert!(mounted.expect("mount is there").success(), "it is mounted");
        fcntl_setfd(&device, FdFlags::CLOEXEC).expect("no longer inherited");
        let files = Arc::new(Mutex::new(BTreeMap::new()));
        let served = files.clone();
        let serving = std::thread::spawn(move || serve(device, &served));
        Aliases {
            at: at.to_path_buf(),
            files,
            serving: Some(serving),
        }
    }

    /// Adds a file that is listed by the first of its names.
    pub fn add(&self, names: &[&str], content: &str) {
        let mut files = self.files.lock().expect("no test panicked with it");
        let number = 2 + files.len() as u64;
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        files.insert(number, (names, content.as_bytes().to_vec()));
    }
}

impl Drop for Aliases {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg("-l").arg(&self.at).status();
        // A daemon that still has a file of it open keeps the other end alive.
        if gone.is_ok_and(|status| status.success())
            && let Some(serving) = self.serving.take()
            && !std::thread::panicking()
        {
            serving.join().expect("the file system served to its end");
        }
    }
}

fn serve(mut device: File, files: &Mutex<BTreeMap<u64, Named>>) {
    let mut request = vec![0; BLOCK + 4096];
    // Unmounted: ENODEV.
    while let Ok(length) = device.read(&mut request) {
        let number = |at: usize, bytes: usize| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&request[at..at + bytes]);
            u64::from_le_bytes(value)
        };
        let (opcode, unique, node) = (number(4, 4) as u32, number(8, 8), number(16, 8));
        if opcode == op::FORGET || opcode == op::BATCH_FORGET {
            continue;
        }
        let files = files.lock().expect("no test panicked with it");
        let answer = match opcode {
            op::INIT => Ok(init()),
            op::LOOKUP => lookup(&files, &request[HEADER..length]),
            op::GETATTR => attributes(&files, node).map(|attributes| {
                let valid = [0; 16];
                [&valid[..], &attributes].concat()
            }),
            op::OPEN | op::OPENDIR => Ok(vec![0; 16]),
            op::READ => read(&files, node, number(HEADER + 8, 8), number(HEADER + 16, 4)),
            op::READDIR => Ok(listing(&files, number(HEADER + 8, 8))),
            op::STATFS => Ok(vec![0; 80]),
            op::RELEASE | op::RELEASEDIR | op::FLUSH => Ok(Vec::new()),
            _ => Err(38), // ENOSYS
        };
        drop(files);
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(error) => (-error, Vec::new()),
        };
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend((16 + body.len() as u32).to_le_bytes());
        reply.extend(i32::to_le_bytes(error));
        reply.extend(unique.to_le_bytes());
        reply.extend(body);
        // An interrupted request is gone: nobody waits for its answer.
        let _ = device.write_all(&reply);
    }
}

/// Protocol 7.31 without any extras.
fn init() -> Vec<u8> {
    let mut body = Vec::new();
    for word in [7u32, 31, 0x20000, 0] {
        body.extend(word.to_le_bytes());
    }
    body.extend([12u16, 10].iter().flat_map(|word| word.to_le_bytes()));
    body.extend((BLOCK as u32).to_le_bytes());
    body.extend(1u32.to_le_bytes());
    body.resize(64, 0);
    body
}

const NOENT: i32 = 2;

/// `fuse_attr`: a file, or the directory that holds them all.
fn attributes(files: &BTreeMap<u64, Named>, node: u64) -> Result<Vec<u8>, i32> {
    let (size, mode) = match (node, files.get(&node)) {
        (1, _) => (0, 0o40755),
        (_, Some((_, content))) => (content.len() as u64, 0o100644),
        _ => return Err(NOENT),
    };
    let mut body = Vec::new();
    let second = 1_700_000_000u64;
    for long in [node, size, size.div_ceil(512), second, second, second] {
        body.extend(long.to_le_bytes());
    }
    for word in [0u32, 0, 0, mode, 1, 0, 0, 0, 4096, 0] {
        body.extend(word.to_le_bytes());
    }
    Ok(body)
}

fn lookup(files: &BTreeMap<u64, Named>, name: &[u8]) -> Result<Vec<u8>, i32> {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut known = files.iter();
    let found = known.find(|(_, (names, _))| names.iter().any(|one| one.as_bytes() == name));
    let (node, _) = found.ok_or(NOENT)?;
    let mut body = Vec::new();
    // Node, generation, and nothing of it is to be remembered.
    for long in [*node, 0, 0, 0, 0] {
        body.extend(long.to_le_bytes());
    }
    body.extend(attributes(files, *node)?);
    Ok(body)
}

fn read(files: &BTreeMap<u64, Named>, node: u64, from: u64, size: u64) -> Result<Vec<u8>, i32> {
    let (_, content) = files.get(&node).ok_or(NOENT)?;
    let from = content.len().min(from as usize);
    let end = content.len().min(from + size as usize);
    Ok(content[from..end].to_vec())
}

/// The listed names from the one that is `from`th: small directories, in one answer.
fn listing(files: &BTreeMap<u64, Named>, from: u64) -> Vec<u8> {
    let mut body = Vec::new();
    for (index, (node, (names, _))) in files.iter().enumerate().skip(from as usize) {
        let name = names[0].as_bytes();
        body.extend(node.to_le_bytes());
        body.extend((index as u64 + 1).to_le_bytes());
        body.extend((name.len() as u32).to_le_bytes());
        body.extend(8u32.to_le_bytes());
        body.extend(name);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    body
}
