//! Processes as the system tells of them, and waiting for a condition.

use std::fs;
use std::time::Instant;

use crate::client::HANG;

/// Waits until it holds; fails when it takes too long for a machine that works.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} within {HANG:?}");
        std::thread::yield_now();
    }
}

/// The processes whose parent this is.
pub fn children(pid: u32) -> Vec<u32> {
    let numbers = numbers();
    numbers
        .filter(|number| parent_of(*number) == Some(pid))
        .collect()
}

/// What is left of processes whose parent this is, when it has not asked how they ended.
pub fn zombies(pid: u32) -> Vec<u32> {
    let numbers = numbers();
    numbers
        .filter(|number| state_of(*number) == Some((true, pid)))
        .collect()
}

pub fn is_gone(pid: u32) -> bool {
    parent_of(pid).is_none()
}

/// Whether each thread of a process is stopped.
pub fn is_stopped(pid: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    threads.all(|thread| {
        let stat = thread.expect("a thread").path().join("stat");
        let stat = fs::read_to_string(stat).unwrap_or_default();
        stat.rsplit_once(')')
            .is_some_and(|(_, fields)| fields.starts_with(" T"))
    })
}

/// What the descriptors of a process are for, in order.
pub fn descriptors(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors");
    let names = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let mut names: Vec<String> = names
        .map(|name| name.display().to_string())
        // Of a socket or a pipe only that it is one.
        .map(|name| name.split(':').next().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names
}

fn numbers() -> impl Iterator<Item = u32> {
    let processes = fs::read_dir("/proc").expect("/proc");
    processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The parent of a process that is more than a name.
fn parent_of(pid: u32) -> Option<u32> {
    let (is_zombie, parent) = state_of(pid)?;
    (!is_zombie).then_some(parent)
}

/// Whether only its name is left, and its parent.
fn state_of(pid: u32) -> Option<(bool, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_zombie = fields.next() == Some("Z");
    Some((is_zombie, fields.next()?.parse().ok()?))
}
