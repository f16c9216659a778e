//! The workers that ask databases: what one could do if a database took it over, and that its end, its lies and its delays cost one answer; what the answers are is told elsewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Daemon, HANG, file_uri};
use crate::databases::{databases, python_until_closed, refusal};
use crate::documents::text_of;
use crate::processes::{children, is_gone, is_stopped, until};
use crate::tree::Tree;

/// A daemon whose workers have these limits and misbehave when a question asks for it.
fn limited(root: &Path, limits: &str) -> Daemon {
    let limits = format!("misbehave=1,{limits}");
    let builder = Daemon::builder().root(root);
    builder.env("PILCROW_QUERY", &limits).start()
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["workers"]["query"].take()
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a pid");
    kill_process(pid, signal).expect("sent");
}

/// What a question makes its worker do.
fn asking(what: &str) -> String {
    format!("museum.db?q=SELECT 'pilcrow:{what}'")
}

/// That a question which nobody has asked before is answered.
#[track_caller]
fn serves(daemon: &Daemon) {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let number = ASKED.fetch_add(1, Ordering::Relaxed);
    let sql = format!("SELECT name, {number} AS n FROM users WHERE id = 7");
    let row = daemon.read_text(format!("museum.db?q={sql}"));
    assert!(row.contains("Grace Hopper 7"), "{row}");
}

/// A daemon's descriptors but for one to each worker, and its dead children that nobody waited for.
fn left_over(pid: u32) -> (usize, usize) {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).expect("its open files");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let zombies = processes.filter(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.trim_start().starts_with(&format!("Z {pid} "))
    });
    (open.count() - children(pid).len(), zombies.count())
}

fn names(folder: &Path) -> BTreeSet<std::ffi::OsString> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect()
}

/// What a worker reports of all that it tried, by name, and how it is confined.
fn probed(limits: &str) -> (Vec<(String, String)>, Value) {
    let tree = databases();
    fs::copy(tree.join("words.db3"), tree.join("museum.db.another")).expect("a copy");
    let daemon = limited(tree.path(), limits);
    let answer = daemon.read(asking("probe")).expect("a report");
    let row = |line: &str| {
        let (name, outcome) = line.split_once(": ")?;
        Some((name.to_owned(), outcome.to_owned()))
    };
    let report: Vec<_> = text_of(&answer).lines().filter_map(row).collect();
    assert_eq!(report.len(), 17, "{report:?}");
    serves(&daemon);
    (report, status(&daemon)["confinement"].clone())
}

/// What opens a file for reading alone, which the filter has to let pass: what it is for decides.
const OPENING: &[&str] = &[
    "open",
    "memory of the daemon",
    "environment of the daemon",
    "another beside it",
];

#[test]
fn a_worker_reads_its_database_and_can_do_nothing_else() {
    let (report, confinement) = probed("");
    assert_eq!(confinement["seccomp"], true);
    for (name, outcome) in report {
        let expected = match &*name {
            "its database" => "allowed",
            name if OPENING.contains(&name) => match confinement["landlock"] == "none" {
                true => continue,
                false => "Permission denied (os error 13)",
            },
            _ => "Operation not permitted (os error 1)",
        };
        assert_eq!(outcome, expected, "{name}");
    }
}

#[test]
fn without_landlock_a_worker_can_only_read() {
    let (report, confinement) = probed("landlock=0");
    assert_eq!(confinement, json!({ "landlock": "none", "seccomp": true }));
    for (name, outcome) in report {
        if name != "its database" && !OPENING.contains(&&*name) {
            assert_eq!(outcome, "Operation not permitted (os error 1)", "{name}");
        }
    }
}

#[test]
fn without_the_filter_landlock_keeps_a_worker_to_its_database() {
    let (report, confinement) = probed("seccomp=0");
    if confinement["landlock"] == "none" {
        // Nothing is left to hold, and the status says so.
        return;
    }
    let kept = ["list", "create", "exec", "ptrace", "write its database"];
    for name in kept.iter().chain(OPENING) {
        let row = report.iter().find(|(tried, _)| tried == name);
        let (_, outcome) = row.expect("it was tried");
        assert_ne!(outcome, "allowed", "{name}");
    }
}

#[test]
fn a_worker_that_crashes_or_lies_costs_one_answer() {
    let tree = databases();
    let before = names(tree.path());
    let daemon = limited(tree.path(), "");
    serves(&daemon);
    let open = left_over(daemon.pid()).0;
    // To abort is to send oneself a signal, which is refused; then it is ended by a fault.
    let crashed = "was ended by signal 11";
    let lied = "ended, or gave an answer that makes no sense";
    let ways = [
        ("abort", crashed),
        ("half", crashed),
        ("bus", "was ended by signal 7"),
        ("number", lied),
        ("frame", lied),
        ("bytes", lied),
        ("text", lied),
        ("closed", lied),
        ("lines", lied),
    ];
    for (number, (what, how)) in (1..).zip(ways) {
        let path = asking(what);
        let refused = refusal(&daemon, &path);
        assert_eq!(refused.kind(), "damaged", "{what}");
        assert_eq!(
            refused.message,
            format!(
                "'{path}' is damaged: the process that was reading it {how}. Everything else goes on. Ask once more; if it ends again, ask for another part of it, or ask the user for a sound copy."
            )
        );
        serves(&daemon);
        assert_eq!(status(&daemon)["replaced"], number, "{what}");
    }
    until("nothing is left over", || {
        left_over(daemon.pid()) == (open, 0)
    });
    assert_eq!(names(tree.path()), before);
}

#[test]
fn a_worker_that_does_not_answer_costs_one_answer() {
    let tree = databases();
    let daemon = limited(tree.path(), "wallMs=3000");
    serves(&daemon);
    for what in ["spin", "sleep"] {
        let refused = refusal(&daemon, &asking(what));
        assert_eq!(refused.kind(), "timeout", "{what}");
        serves(&daemon);
    }
    // One that is stopped from outside, while it waits for the next question.
    let worker = children(daemon.pid())[0];
    send(worker, Signal::STOP);
    until("it is stopped", || is_stopped(worker));
    assert_eq!(refusal(&daemon, "museum.db:users:8").kind(), "timeout");
    serves(&daemon);
    // And one that is killed.
    let worker = children(daemon.pid())[0];
    send(worker, Signal::KILL);
    // A process is a zombie before the last of its threads is gone, and ends no earlier for its parent.
    until("it is gone", || status(&daemon)["alive"] == 0);
    serves(&daemon);
    assert_eq!(left_over(daemon.pid()).1, 0);
}

#[test]
fn a_cancelled_question_ends_its_worker() {
    let tree = databases();
    let daemon = limited(tree.path(), "");
    let id = daemon.request("agent/read", json!({ "path": asking("sleep") }));
    until("a worker is at it", || status(&daemon)["jobs"] == 1);
    let worker = children(daemon.pid())[0];
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(daemon.wait(&id).expect_err("cancelled").code, -32800);
    until("it is gone", || is_gone(worker));
    serves(&daemon);
}

#[test]
fn an_idle_worker_ends() {
    let tree = databases();
    let daemon = limited(tree.path(), "idleMs=100");
    for _ in 0..3 {
        serves(&daemon);
        until("it ends", || children(daemon.pid()).is_empty());
        assert_eq!(status(&daemon)["alive"], 0);
    }
}

#[test]
fn an_idle_worker_does_nothing() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    serves(&daemon);
    let worker = children(daemon.pid())[0];
    let switches = || {
        let tasks = fs::read_dir(format!("/proc/{worker}/task")).expect("its threads");
        let of = |entry: fs::DirEntry| {
            let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        tasks
            .flat_map(|entry| of(entry.expect("a thread")))
            .collect::<Vec<_>>()
    };
    // It is at rest when twenty answers later nothing has moved in it.
    let at_rest = || {
        let before = switches();
        (0..20).for_each(|_| drop(status(&daemon)));
        switches() == before
    };
    until("it is at rest", at_rest);
    assert!(at_rest());
}

/// Whoever maps a file that is cut off is ended by the system.
#[test]
fn an_index_that_is_cut_off_ends_no_more_than_a_worker() {
    let tree = Tree::new().file("open.txt", "saved\n");
    let mut writer = python_until_closed(
        &tree,
        "import threading
c = sqlite3.connect('live.db', isolation_level=None)
c.execute('pragma journal_mode=wal')
c.execute('pragma wal_autocheckpoint=0')
c.execute('create table t (k integer primary key, v text)')
c.execute('begin')
for n in range(3000): c.execute('insert into t values (?, ?)', (n, 'row %d' % n))
c.execute('commit')
def cut():
    size = os.path.getsize('live.db-shm')
    while True:
        os.truncate('live.db-shm', 0)
        os.truncate('live.db-shm', size)
threading.Thread(target=cut, daemon=True).start()",
    );
    let daemon = Daemon::start(tree.path());
    let uri = file_uri(&tree.join("open.txt"));
    let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": "unsaved\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    for n in 0..150 {
        let path = format!("live.db:t?limit=1&offset={n}");
        match daemon.read(&path) {
            Ok(answer) => assert!(text_of(&answer).contains(&format!("row {n}")), "{answer}"),
            Err(refused) => {
                let known = ["busy", "damaged"].contains(&refused.kind());
                assert!(known, "{refused:?}");
            }
        }
    }
    writer.kill().expect("killed");
    writer.wait().expect("gone");
    assert!(daemon.read_text("open.txt").ends_with("1:unsaved"));
    until("nothing is left over", || left_over(daemon.pid()).1 == 0);
}

/// Each answer is of one moment, whatever comes and goes meanwhile.
#[test]
fn databases_and_logs_that_come_and_go_beside_readers() {
    let tree = Tree::new();
    let make = "def make(name, n):
    c = sqlite3.connect(name, isolation_level=None)
    c.execute('begin')
    c.execute('create table t (k integer primary key, v text)')
    for k in range(3): c.execute('insert into t values (?, ?)', (k, 'v%d' % n))
    c.execute('commit')
    c.close()
make('a.db', 1)";
    let mut changer = python_until_closed(
        &tree,
        &format!(
            "{make}
def change():
    n = 1
    while True:
        n += 1
        make('next', n)
        # A log that a reader kept from being taken away is of the old one.
        for end in ('-wal', '-shm'):
            if os.path.exists('a.db' + end): os.remove('a.db' + end)
        os.rename('next', 'a.db')
        c = sqlite3.connect('a.db', isolation_level=None)
        if n % 2: c.execute('pragma journal_mode=wal')
        c.execute(\"update t set v = v || 'u'\")
        c.close()
import threading
threading.Thread(target=change, daemon=True).start()"
        ),
    );
    let daemon = Daemon::start(tree.path());
    let mut read = 0;
    let enough = Instant::now() + HANG / 2;
    while read < 30 && Instant::now() < enough {
        match daemon.read("a.db?q=SELECT min(v) AS a, max(v) AS b FROM t") {
            Ok(answer) => {
                read += 1;
                let text = text_of(&answer);
                let row = text.lines().nth(2).unwrap_or_default();
                let cells: Vec<_> = row.split('|').map(str::trim).collect();
                assert!(cells.len() == 4 && cells[1] == cells[2], "{text}");
            }
            Err(refused) => {
                let known = ["busy", "notFound", "damaged", "io"];
                assert!(known.contains(&refused.kind()), "{refused:?}");
            }
        }
    }
    changer.kill().expect("killed");
    changer.wait().expect("gone");
    until("nothing is left over", || left_over(daemon.pid()).1 == 0);
}
