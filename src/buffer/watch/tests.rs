//! The table by itself, and a store over a real directory; no test here waits by the clock.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;
use std::time::Duration;

use crate::buffer::EncodingHints;
use crate::protocol::Settings;
use crate::task::Work;
use crate::workspace::Scope;

use super::*;

const SOON: Duration = Duration::from_millis(60);

fn real(path: &str) -> RealPath {
    RealPath::for_tests(path)
}

fn read(table: &mut WatchTable, path: &str, now: Instant) -> PriorState {
    let seen = table.look(&real(path), true, now);
    table.keep(&real(path), seen, now);
    seen
}

/// Does what the table asks for, as far as it is due, with a watcher that grants everything; the
/// tasks, one a line.
fn work_off(table: &mut WatchTable, now: Instant) -> Vec<String> {
    let mut done = Vec::new();
    while let NextTask::Task(task) = table.next(now) {
        done.push(match task {
            Task::Watch(directory) => {
                table.watched(&directory, (1, 1), now);
                format!("watch {}", directory.display())
            }
            Task::Unwatch(directory) => format!("unwatch {}", directory.display()),
            Task::Rewarm(path) => format!("rewarm {}", path.as_path().display()),
            other => format!("{other:?}"),
        });
    }
    done
}

/// The same, and the look at the files of a new watch.
fn settle(table: &mut WatchTable, now: Instant) -> Vec<String> {
    let mut done = work_off(table, now);
    work_off(table, now + SOON);
    done.retain(|task| !task.starts_with("rewarm"));
    done
}

fn changed(table: &mut WatchTable, path: &str, now: Instant) -> bool {
    table.heard(&Event::Changed(PathBuf::from(path)), now)
}

#[test]
fn the_least_recently_read_directory_gives_way() {
    let mut table = WatchTable::default();
    let start = Instant::now();
    table.set_limit(2);
    for (second, path) in ["/a/1", "/b/1", "/a/2", "/c/1"].iter().enumerate() {
        read(&mut table, path, start + Duration::from_secs(second as u64));
    }
    let now = start + Duration::from_secs(9);
    let tasks = settle(&mut table, now);
    assert_eq!(tasks, ["watch /a", "watch /b", "unwatch /b", "watch /c"]);
    // A file that is not warm any more needs no watch; one of two still does.
    table.forget(Path::new("/a/1"));
    table.forget(Path::new("/c/1"));
    assert_eq!(settle(&mut table, now), ["unwatch /c"]);
    table.forget(Path::new("/a/2"));
    assert_eq!(settle(&mut table, now), ["unwatch /a"]);
    assert_eq!(table.status().count, 0);
}

#[test]
fn events_are_only_of_what_is_warm() {
    let mut table = WatchTable::default();
    let now = Instant::now();
    table.set_limit(9);
    read(&mut table, "/a/1", now);
    settle(&mut table, now);
    assert!(!changed(&mut table, "/a/2", now));
    assert!(!changed(&mut table, "/a", now));
    assert!(changed(&mut table, "/a/1", now));
    assert!(table.look(&real("/a/1"), true, now).doubtful);
    assert!(
        work_off(&mut table, now)
            .iter()
            .all(|task| !task.starts_with("rewarm"))
    );
    assert!(work_off(&mut table, now + SOON).contains(&"rewarm /a/1".to_owned()));
    // Read since, it is not doubtful; what comes during the reading makes it so again.
    let seen = table.look(&real("/a/1"), false, now);
    changed(&mut table, "/a/1", now);
    table.keep(&real("/a/1"), seen, now);
    assert!(table.look(&real("/a/1"), true, now).doubtful);
    let seen = table.look(&real("/a/1"), false, now);
    table.keep(&real("/a/1"), seen, now);
    assert!(!table.look(&real("/a/1"), true, now).doubtful);
}

#[test]
fn a_replaced_directory_takes_along_what_is_below_it() {
    let mut table = WatchTable::default();
    let now = Instant::now();
    table.set_limit(9);
    for path in ["/a/1", "/a/b/1", "/a-b/1", "/ab/1"] {
        read(&mut table, path, now);
    }
    settle(&mut table, now);
    assert!(table.heard(&Event::Replaced("/a".into()), now));
    assert_eq!(work_off(&mut table, now), ["unwatch /a", "unwatch /a/b"]);
    let mut doubtful = |path| table.look(&real(path), false, now).doubtful;
    assert!(doubtful("/a/1") && doubtful("/a/b/1"));
    assert!(!doubtful("/a-b/1") && !doubtful("/ab/1"));
}

#[test]
fn lost_events_make_all_doubtful() {
    let mut table = WatchTable::default();
    let now = Instant::now();
    table.set_limit(9);
    read(&mut table, "/a/1", now);
    table.heard(&Event::Lost, now);
    assert!(table.look(&real("/a/1"), true, now).doubtful);
    assert!(!read(&mut table, "/a/2", now).doubtful);
    assert!(!table.look(&real("/a/2"), true, now).doubtful);
    assert_eq!(table.status().overflows, 1);
}

#[test]
fn what_nobody_reads_is_warmed_ever_less() {
    let mut table = WatchTable::default();
    let mut now = Instant::now();
    table.set_limit(9);
    read(&mut table, "/a/1", now);
    settle(&mut table, now);
    let mut waits = Vec::new();
    for _ in 0..11 {
        changed(&mut table, "/a/1", now);
        let NextTask::Wait(Some(due)) = table.next(now) else {
            panic!("it waits for the writer to be done");
        };
        waits.push(due.duration_since(now).as_millis());
        now = due;
        assert_eq!(work_off(&mut table, now), ["rewarm /a/1"]);
        let seen = table.look(&real("/a/1"), false, now);
        table.keep(&real("/a/1"), seen, now);
    }
    assert_eq!(waits[..4], [50, 100, 200, 400]);
    assert_eq!(waits[9..], [25_600, 25_600]);
    // Constant change does not put it off for ever.
    read(&mut table, "/a/1", now);
    for _ in 0..20 {
        changed(&mut table, "/a/1", now);
        now += Duration::from_millis(49);
    }
    assert_eq!(work_off(&mut table, now), ["rewarm /a/1"]);
    // After ten minutes without a reader it is only doubtful.
    now += Duration::from_secs(601);
    assert!(changed(&mut table, "/a/1", now));
    assert!(matches!(table.next(now), NextTask::Wait(None)));
}

#[test]
fn after_a_refusal_no_watch_is_asked_for() {
    let mut table = WatchTable::default();
    let now = Instant::now();
    table.set_limit(9);
    read(&mut table, "/a/1", now);
    let NextTask::Task(Task::Watch(directory)) = table.next(now) else {
        panic!("the directory is to be watched");
    };
    table.not_watched(&directory);
    table.refused("no more".to_owned(), now);
    read(&mut table, "/a/1", now + Duration::from_secs(59));
    assert!(work_off(&mut table, now).is_empty());
    assert_eq!(table.status().problem.as_deref(), Some("no more"));
    let now = now + Duration::from_secs(61);
    read(&mut table, "/a/1", now);
    assert_eq!(settle(&mut table, now), ["watch /a"]);
    assert_eq!(table.status().problem, None);
}

#[test]
fn changes_are_told_that_no_request_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("it exists").join("f");
    let scope = Scope::new(
        vec![folder.path().to_path_buf()],
        Arc::new(Settings::default()),
        Arc::new(AtomicU64::new(0)),
    );
    let scope = Arc::new(scope);
    let store = Arc::new(Store::new(1 << 20));
    let (teller, told) = mpsc::channel();
    assert!(store.on_change(Box::new(move |path, buffer| {
        let text = buffer.map(|buffer| buffer.text.len_bytes());
        let _ = teller.send((path.as_path().to_path_buf(), text));
    })));
    let opener = scope.clone();
    store.start_watching(Box::new(move |path| opener.open(path)));
    store.set_watch_limit(8);
    let work = Work::new(CancelToken::new(), Duration::from_secs(60));
    let load = || {
        let handle = scope.open(&path).expect("it is there");
        store.load(&handle, "f", EncodingHints::default(), &work)
    };
    let next = || {
        told.recv_timeout(Duration::from_secs(30))
            .expect("it is told")
    };
    std::fs::write(&path, "1").expect("written");
    load().expect("loaded");
    std::fs::write(&path, "22").expect("written");
    // The request sees for itself, and tells the sessions.
    load().expect("loaded");
    std::fs::write(&path, "333").expect("written");
    store.heard(Event::Changed(path.clone()));
    assert_eq!(next(), (path.clone(), Some(3)));
    std::fs::write(&path, b"\0\x01\x02\0\0\xff").expect("written");
    store.heard(Event::Changed(path.clone()));
    assert_eq!(next(), (path.clone(), None));
    std::fs::write(&path, "4").expect("written");
    load().expect("loaded");
    std::fs::remove_file(&path).expect("removed");
    store.heard(Event::Replaced(path.clone()));
    assert_eq!(next(), (path.clone(), None));
    assert_eq!(store.status().0.count, 0);
}
