//! Processes that die between two steps, and two that write at once; each is this test binary again.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::super::{FileError, WriteError, WriteStep};
use super::faults::{job, prepare, steps, which_are_new};
use super::{Scratch, inode};

/// Tells a child of a test what to do, and where.
const ORDERS: &str = "PILCROW_DISK_TEST";

/// What two processes count up to, each.
const COUNTS: usize = 40;

pub(super) fn child(orders: &str, top: &Path, fail: &str) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "--exact",
            "edit::disk::tests::kills::a_child_does_as_it_is_told",
        ])
        .env(ORDERS, format!("{orders} {}", top.display()))
        .env("PILCROW_FAIL", fail)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

#[test]
fn a_child_does_as_it_is_told() {
    match std::env::var(ORDERS) {
        Ok(orders) => obey(&orders),
        // Without a parent it does the work in a place of its own.
        Err(_) => {
            let place = prepare();
            obey(&format!("write {}", place.top.display()));
            obey(&format!("count {}", place.top.display()));
            assert_eq!(which_are_new(&place, "no fault"), [0, 1, 2]);
            assert_eq!(place.text("counter"), COUNTS.to_string());
            place.assert_clean();
        }
    }
}

fn obey(orders: &str) {
    let (what, top) = orders.split_once(' ').expect("orders");
    let place = Scratch::at(top.into());
    match what {
        "write" => drop(place.write(job(&place)).expect("written")),
        "count" => count(&place),
        "case" => drop(
            place
                .carry_out(super::names::other_case(&place))
                .expect("done"),
        ),
        "names" => drop(place.carry_out(super::names::job(&place)).expect("done")),
        other => panic!("{other}"),
    }
}

/// Reads a number and writes the next, until that went well often enough.
fn count(place: &Scratch) {
    if !place.is_there("counter") {
        // Whoever comes second finds it there.
        match place.write(vec![place.creation("counter", "0")]) {
            Ok(_)
            | Err(WriteError::File {
                fault: FileError::Exists,
                ..
            }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    let mut done = 0;
    while done < COUNTS {
        let handle = place.scope.open(&place.path("counter")).expect("there");
        let mut file = handle.open_read().expect("opened");
        let mut now = String::new();
        std::io::Read::read_to_string(&mut file, &mut now).expect("a text");
        let next = now.parse::<usize>().expect("a number") + 1;
        let write = super::FileWrite {
            target: super::Target::opened(&handle, super::Planned::of(now.as_bytes())),
            bytes: next.to_string().as_bytes().into(),
        };
        match place.write(vec![write]) {
            Ok(_) => done += 1,
            Err(WriteError::File {
                index: 0,
                fault: FileError::Changed,
            }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn two_processes_lose_no_update() {
    let place = Scratch::new();
    place.put("counter", "0");
    let children = [(); 2].map(|()| child("count", &place.top, ""));
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(place.text("counter"), (2 * COUNTS).to_string());
    place.assert_clean();
}

/// Kills a child before each of its steps, on a file system that cannot do `without`.
fn kill_at_every_step(forbidden: &'static [WriteStep]) {
    let without: String = forbidden
        .iter()
        .map(|step| format!(",{}:*:EINVAL", step.point()))
        .collect();
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut old, mut new, mut undone) = (0, 0, 0);
    for step in steps(forbidden) {
        let call = calls.entry(step.point()).or_default();
        *call += 1;
        let kill = format!("{}:{call}:KILL", step.point());
        let place = prepare();
        let fail = format!("{kill}{without}");
        let status = child("write", &place.top, &fail).wait();
        let status = status.expect("it ends");
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{kill}");
        // Replaced and made files are whole before anybody looks after them.
        assert_eq!(inode(&place, "overwritten"), inode(&place, "other name"));
        let problems = place.writer.recover(&place.scope);
        let is_undone = matches!(&problems[..], [told] if told.contains("It was undone"));
        assert!(problems.is_empty() || is_undone, "{kill}: {problems:?}");
        undone += usize::from(is_undone);
        match which_are_new(&place, &kill).len() {
            0 => {
                assert!(!place.is_there("made"), "{kill}");
                old += 1;
            }
            3 => new += 1,
            some => panic!("{kill}: {some} of three are new"),
        }
        assert_eq!(
            place.left_behind(),
            Vec::<std::path::PathBuf>::new(),
            "{kill}"
        );
        let mut names: Vec<_> = std::fs::read_dir(place.path("."))
            .expect("listed")
            .collect();
        names.retain(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file()));
        assert_eq!(names.len(), 3, "{kill}");
    }
    assert!(
        old > 10 && new > 1 && undone > 1,
        "{old} {new}, {undone} undone"
    );
}

#[test]
fn a_process_killed_at_any_step_leaves_whole_files() {
    kill_at_every_step(&[]);
}

#[test]
fn a_process_killed_at_any_step_leaves_whole_files_without_exchange() {
    kill_at_every_step(&[WriteStep::Exchange, WriteStep::Claim]);
}

#[test]
fn a_process_killed_at_any_step_leaves_whole_files_that_are_locked_by_their_paths() {
    kill_at_every_step(&[WriteStep::Lock, WriteStep::LockNew]);
}

/// Kills a write of three files before the last of them is put in its place.
fn kill_before_the_last() -> Scratch {
    let place = prepare();
    let status = child("write", &place.top, "rename:2:KILL").wait();
    let signal = status.expect("it ends").signal();
    assert_eq!(signal, Some(Signal::KILL.as_raw()));
    assert_eq!(which_are_new(&place, "killed"), [0, 1]);
    place
}

/// The temporary beside a file.
fn temporary_of(place: &Scratch, name: &str) -> std::path::PathBuf {
    let left = place.left_behind();
    let mark = format!(".{name}.pilcrow-");
    let found = left
        .iter()
        .find(|path| path.to_string_lossy().contains(&mark));
    found.expect("it is there").clone()
}

#[test]
fn a_write_that_cannot_be_undone_is_completed() {
    let place = kill_before_the_last();
    std::fs::remove_file(temporary_of(&place, "replaced")).expect("removed");
    let problems = place.writer.recover(&place.scope);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("It was completed"), "{problems:?}");
    assert_eq!(which_are_new(&place, "completed"), [0, 1, 2]);
    place.assert_clean();
    assert!(place.writer.recover(&place.scope).is_empty());
}

#[test]
fn what_somebody_changed_since_a_kill_is_left_alone_and_said() {
    let place = kill_before_the_last();
    place.put("replaced", "odd");
    let problems = place.writer.recover(&place.scope);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let left_alone = format!("meanwhile: {}.", place.path("replaced").display());
    assert!(problems[0].contains("It was undone"), "{problems:?}");
    assert!(problems[0].ends_with(&left_alone), "{problems:?}");
    assert_eq!(place.text("replaced"), "odd");
    assert_eq!(Some(&*place.text("overwritten")), super::faults::OLD[1]);
    assert!(!place.is_there("made"));
    place.assert_clean();
}

#[test]
fn what_can_be_neither_undone_nor_completed_is_said() {
    let place = kill_before_the_last();
    std::fs::remove_file(temporary_of(&place, "replaced")).expect("removed");
    std::fs::remove_file(temporary_of(&place, "new")).expect("removed");
    let problems = place.writer.recover(&place.scope);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("neither undone nor completed"),
        "{problems:?}"
    );
    assert_eq!(which_are_new(&place, "left"), [0, 1]);
}

#[test]
fn what_a_living_process_does_is_left_to_it() {
    let mut place = prepare();
    place.writer.lock_wait = Duration::from_millis(20);
    let mut child = child("write", &place.top, "rename:2:STOP");
    let process = Pid::from_child(&child);
    let stopped = waitpid(Some(process), WaitOptions::UNTRACED).expect("it stops");
    let (_, status) = stopped.expect("it was waited for");
    assert!(status.stopped(), "{status:?}");
    let left = place.left_behind();
    assert!(left.len() > 3, "{left:?}");
    assert_eq!(place.writer.recover(&place.scope), Vec::<String>::new());
    assert_eq!(place.left_behind(), left);
    // It holds the locks.
    let error = place.write(vec![place.change("replaced", "ours")]);
    let error = error.expect_err("busy");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 0,
                fault: FileError::Busy
            }
        ),
        "{error:?}"
    );
    kill_process(process, Signal::CONT).expect("it goes on");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(which_are_new(&place, "stopped"), [0, 1, 2]);
    place.assert_clean();
}

#[test]
fn what_somebody_wrote_since_is_not_removed() {
    let place = prepare();
    // Both halves of the old text are written over; then it dies.
    let killed = |fail: &str| {
        let status = child("write", &place.top, fail).wait().expect("it ends");
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    };
    killed("overwrite:4:KILL");
    let half = place.text("overwritten");
    let theirs = format!("{half} and more");
    place.put("overwritten", &theirs);
    let problems = place.writer.recover(&place.scope);
    // The file before it in the same write has its old text again.
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[1].contains("It was undone"), "{problems:?}");
    assert_eq!(place.text("overwritten"), theirs);
    // The old text is still to be had, and when the file is right again, so is everything.
    assert_eq!(place.writer.recover(&place.scope).len(), 1);
    place.put("overwritten", &half);
    assert_eq!(place.writer.recover(&place.scope), Vec::<String>::new());
    assert_eq!(Some(&*place.text("overwritten")), super::faults::OLD[1]);
    place.assert_clean();
}

#[test]
fn what_is_in_no_root_is_left_for_the_start_that_has_it() {
    let place = prepare();
    let other = Scratch::new();
    let status = child("write", &place.top, "rename:1:KILL").wait();
    assert!(status.expect("it ends").signal().is_some());
    let left = place.left_behind();
    let writer = &place.writer;
    assert_eq!(writer.recover(&other.scope), Vec::<String>::new());
    assert_eq!(place.left_behind(), left);
    assert_eq!(writer.recover(&place.scope), Vec::<String>::new());
    place.assert_clean();
}
