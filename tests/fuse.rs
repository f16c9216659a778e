//! A small FUSE server, straight on `/dev/fuse`: what a file system looks like whose files are changed at its other end. It never writes by itself.
//!
//! The protocol is that of `linux/fuse.h`, version 7.31; the kernel and the server agree on the lower
//! minor. Mounting takes root, and a test that cannot mount fails at once.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How the server tells the kernel of its files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manners {
    /// How long the kernel may go by the attributes and names that it was told.
    pub cached_for: Duration,
    /// How far the server's clock is behind.
    pub behind: Duration,
    /// Times are whole seconds.
    pub coarse: bool,
    /// Nothing that was read is kept by the kernel (`FOPEN_DIRECT_IO`).
    pub direct: bool,
}

/// What becomes of a file when it is read from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Still,
    /// Before, all its digits change: no two reads give the same.
    Restless,
    /// After, it is one line longer.
    Growing,
}

#[derive(Debug)]
struct Node {
    data: Vec<u8>,
    modified: Duration,
    behaviour: Behaviour,
    reads: u64,
}

#[derive(Debug, Default)]
struct State {
    /// By number; the first one is 2.
    nodes: Vec<Node>,
    names: BTreeMap<Vec<u8>, u64>,
}

/// A mounted file system with one directory.
pub struct Fuse {
    mounted_at: PathBuf,
    manners: Manners,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    /// Held while a request is taken and answered, and while the server is halted.
    turn: Arc<Turn>,
    server: Option<JoinHandle<()>>,
}

/// Whether the server is halted.
#[derive(Debug, Default)]
struct Turn {
    is_halted: Mutex<bool>,
    goes_on: Condvar,
}

impl Turn {
    fn set(&self, is_halted: bool) {
        let mut halted = self
            .is_halted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *halted = is_halted;
        self.goes_on.notify_all();
    }

    /// Waits until it is not halted.
    fn take(&self) -> MutexGuard<'_, bool> {
        let halted = self
            .is_halted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let gone_on = self.goes_on.wait_while(halted, |halted| *halted);
        gone_on.unwrap_or_else(PoisonError::into_inner)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fuse {
    /// Mounts it over an empty directory.
    pub fn mount(at: &Path, manners: Manners) -> Fuse {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/fuse")
            .expect("this test takes /dev/fuse");
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,allow_other",
            device.as_raw_fd()
        );
        let options = CString::new(options).expect("no NUL");
        let path = CString::new(at.as_os_str().as_bytes()).expect("no NUL");
        // SAFETY: all are strings that live until it returns.
        let outcome = unsafe {
            libc::mount(
                c"tests".as_ptr(),
                path.as_ptr(),
                c"fuse".as_ptr(),
                libc::MS_NOSUID | libc::MS_NODEV,
                options.as_ptr().cast::<c_void>(),
            )
        };
        let error = std::io::Error::last_os_error();
        assert_eq!(outcome, 0, "FUSE is mounted, which takes root: {error}");
        let state = Arc::<Mutex<State>>::default();
        let stop = Arc::new(AtomicBool::new(false));
        let turn = Arc::<Turn>::default();
        let (files, stopped, served) = (state.clone(), stop.clone(), turn.clone());
        let server =
            std::thread::spawn(move || serve(&device, &files, manners, (&stopped, &served)));
        Fuse {
            mounted_at: at.to_path_buf(),
            manners,
            state,
            stop,
            turn,
            server: Some(server),
        }
    }

    /// Changes or makes a file at the server's end; the kernel is not told.
    pub fn put(&self, name: &str, data: impl Into<Vec<u8>>) {
        self.put_as(name, data, Behaviour::Still);
    }

    /// Halts the server: from when this returns nothing is answered, as by a process that got
    /// SIGSTOP.
    pub fn halt(&self) {
        self.turn.set(true);
    }

    /// Lets the server go on.
    pub fn go_on(&self) {
        self.turn.set(false);
    }

    pub fn put_as(&self, name: &str, data: impl Into<Vec<u8>>, behaviour: Behaviour) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.expect("it is after 1970") - self.manners.behind;
        let modified = match self.manners.coarse {
            true => Duration::from_secs(now.as_secs()),
            false => now,
        };
        let node = Node {
            data: data.into(),
            modified,
            behaviour,
            reads: 0,
        };
        let mut state = locked(&self.state);
        match state.names.get(name.as_bytes()).copied() {
            Some(number) => state.nodes[number as usize - 2] = node,
            None => {
                state.nodes.push(node);
                let number = state.nodes.len() as u64 + 1;
                state.names.insert(name.into(), number);
            }
        }
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        let path = CString::new(self.mounted_at.as_os_str().as_bytes()).expect("no NUL");
        // SAFETY: the string lives until it returns. Detached, it does not wait for who uses it.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        self.stop.store(true, Ordering::Relaxed);
        self.turn.set(false);
        // The device is closed with the thread: whoever still waits for an answer gets an error.
        let ended = self.server.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the server panicked");
        }
    }
}

/// Requests, by their numbers.
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
    pub const INTERRUPT: u32 = 36;
    pub const BATCH_FORGET: u32 = 42;
}

const HEADER: usize = 40;
const DIRECT_IO: u32 = 1;

fn serve(
    device: &File,
    state: &Mutex<State>,
    manners: Manners,
    (stop, turn): (&AtomicBool, &Turn),
) {
    let mut request = vec![0; 256 * 1024];
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    let (mut from, mut to) = (device, device);
    while !stop.load(Ordering::Relaxed) {
        let _ = poll(&mut [PollFd::new(device, PollFlags::IN)], Some(&wait));
        let _turn = turn.take();
        let length = match from.read(&mut request) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // A request that was taken back meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => continue,
            Err(_) => return,
        };
        let request = &request[..length];
        let asked = word(request, 4);
        if [op::FORGET, op::BATCH_FORGET, op::INTERRUPT].contains(&asked) {
            continue;
        }
        let (error, body) = match answer(asked, request, &mut locked(state), manners) {
            Ok(body) => (0, body),
            Err(error) => (-error, Vec::new()),
        };
        let mut out = Out::default();
        out.u32(16 + body.len() as u32).u32(error as u32);
        out.u64(long(request, 8));
        out.0.extend(body);
        // One that nobody waits for any more is refused.
        let _ = to.write(&out.0);
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn u16(&mut self, value: u16) -> &mut Out {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Out {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Out {
        self.0.extend(value.to_ne_bytes());
        self
    }
}

fn answer(asked: u32, request: &[u8], state: &mut State, manners: Manners) -> Result<Vec<u8>, i32> {
    let number = long(request, 16);
    let body = &request[HEADER..];
    let mut out = Out::default();
    let cached = (
        manners.cached_for.as_secs(),
        manners.cached_for.subsec_nanos(),
    );
    match asked {
        op::INIT => {
            out.u32(7).u32(31).u32(word(body, 8)).u32(0);
            out.u16(16).u16(12).u32(128 * 1024).u32(1);
            out.0.resize(64, 0);
        }
        op::LOOKUP => {
            let name = body.split(|byte| *byte == 0).next().unwrap_or_default();
            let number = *state.names.get(name).ok_or(libc::ENOENT)?;
            out.u64(number).u64(0).u64(cached.0).u64(cached.0);
            out.u32(cached.1).u32(cached.1);
            attributes(number, state, &mut out)?;
        }
        op::GETATTR => {
            out.u64(cached.0).u32(cached.1).u32(0);
            attributes(number, state, &mut out)?;
        }
        op::OPEN => {
            let flags = if manners.direct { DIRECT_IO } else { 0 };
            out.u64(1).u32(flags).u32(0);
        }
        op::OPENDIR => {
            out.u64(1).u64(0);
        }
        op::READ => {
            let (at, most) = (long(body, 8) as usize, word(body, 16) as usize);
            out.0 = read(number, state, at, most)?;
        }
        op::READDIR => {
            let (at, most) = (long(body, 8) as usize, word(body, 16) as usize);
            list(state, at, most, &mut out);
        }
        op::STATFS => {
            out.u64(1000).u64(500).u64(500).u64(1000).u64(500);
            out.u32(4096).u32(255).u32(4096);
            out.0.resize(80, 0);
        }
        op::RELEASE | op::RELEASEDIR | op::FLUSH => {}
        _ => return Err(libc::ENOSYS),
    }
    Ok(out.0)
}

fn attributes(number: u64, state: &State, out: &mut Out) -> Result<(), i32> {
    let (mode, size, at) = match number {
        1 => (libc::S_IFDIR | 0o755, 0, Duration::from_secs(1_700_000_000)),
        number => {
            let node = state.nodes.get(number as usize - 2).ok_or(libc::ENOENT)?;
            (libc::S_IFREG | 0o644, node.data.len() as u64, node.modified)
        }
    };
    out.u64(number).u64(size).u64(size.div_ceil(512));
    out.u64(at.as_secs()).u64(at.as_secs()).u64(at.as_secs());
    let nanoseconds = at.subsec_nanos();
    out.u32(nanoseconds).u32(nanoseconds).u32(nanoseconds);
    // Links, owner, group, device, size of a block, flags.
    out.u32(mode).u32(1).u32(0).u32(0).u32(0).u32(4096).u32(0);
    Ok(())
}

fn read(number: u64, state: &mut State, at: usize, most: usize) -> Result<Vec<u8>, i32> {
    let node = state.nodes.get_mut((number as usize).wrapping_sub(2));
    let node = node.ok_or(libc::ENOENT)?;
    let is_first = at == 0;
    if is_first && node.behaviour == Behaviour::Restless {
        node.reads += 1;
        let digit = b'0' + (node.reads % 10) as u8;
        let digits = node.data.iter_mut().filter(|byte| byte.is_ascii_digit());
        digits.for_each(|byte| *byte = digit);
        node.modified += Duration::from_nanos(1);
    }
    let end = (at + most).min(node.data.len());
    let bytes = node.data[at.min(end)..end].to_vec();
    if is_first && node.behaviour == Behaviour::Growing {
        node.reads += 1;
        let line = format!("line {}\n", node.reads);
        node.data.extend(line.as_bytes());
        node.modified += Duration::from_nanos(1);
    }
    Ok(bytes)
}

fn list(state: &State, at: usize, most: usize, out: &mut Out) {
    for (index, (name, number)) in state.names.iter().enumerate().skip(at) {
        let length = (24 + name.len()).next_multiple_of(8);
        if out.0.len() + length > most {
            return;
        }
        let end = out.0.len() + length;
        out.u64(*number).u64(index as u64 + 1);
        // 8 is `DT_REG`.
        out.u32(name.len() as u32).u32(8);
        out.0.extend(name);
        out.0.resize(end, 0);
    }
}
