//! Workers, tried from inside: what one of them could do to the machine if a document took it over.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::documents::text_of;
use crate::tree::Tree;

/// What a worker says of an attempt that a filter of system calls refused.
const REFUSED: &str = "Operation not permitted (os error 1)";

/// A kind of worker.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Convert,
    Syntax,
}

const KINDS: [Kind; 2] = [Kind::Convert, Kind::Syntax];

/// A daemon with a text that has its worker try all that it must not be able to do; and what the
/// status says of the confinement.
fn probed(kind: Kind, limits: &str) -> (Vec<String>, Value) {
    match kind {
        Kind::Convert => probed_converter(limits),
        Kind::Syntax => probed_parser(limits),
    }
}

/// The attempts come as what the file defines.
fn probed_parser(limits: &str) -> (Vec<String>, Value) {
    let text = "// pilcrow:probe\n".repeat(600);
    let tree = Tree::new().file("probe.rs", text);
    let builder = Daemon::builder().root(tree.path());
    let limits = format!("misbehave=1,{limits}");
    let daemon = builder.env("PILCROW_SYNTAX", &limits).start();
    let asked = json!({ "path": "probe.rs", "dialect": "roo" });
    let answer = daemon.read_with(asked).expect("a report");
    let text = text_of(&answer).to_owned();
    let rows = text.lines().filter(|row| row.starts_with("1-1 | "));
    let report = rows.map(|row| row["1-1 | ".len()..].to_owned()).collect();
    let status = daemon.call("agent/status", json!({})).expect("status");
    (report, status["workers"]["syntax"]["confinement"].clone())
}

fn probed_converter(limits: &str) -> (Vec<String>, Value) {
    let tree = Tree::new().file("probe.rtf", "{\\rtf1 pilcrow:probe}");
    let builder = Daemon::builder().root(tree.path());
    let limits = format!("misbehave=1,{limits}");
    let daemon = builder.env("PILCROW_CONVERT", &limits).start();
    let answer = daemon.read("probe.rtf:1-40:raw").expect("a report");
    let report = text_of(&answer).lines().map(str::to_owned).collect();
    let status = daemon.call("agent/status", json!({})).expect("status");
    (report, status["workers"]["convert"]["confinement"].clone())
}

/// Every attempt, by its name, is refused with `error`.
fn all_refused(report: &[String]) {
    let names: Vec<&str> = report
        .iter()
        .map(|row| row.split_once(": ").expect("a name").0)
        .collect();
    let tried = [
        "open",
        "list",
        "create",
        "rename",
        "remove",
        "memory of the daemon",
        "environment of the daemon",
        "connect",
        "connect locally",
        "exec",
        "fork",
        "ptrace",
        "signal",
        "process_vm_readv",
    ];
    assert_eq!(names, tried);
    for row in report {
        assert!(row.ends_with(&format!(": {REFUSED}")), "{row}");
    }
}

#[test]
fn a_worker_can_do_nothing_but_compute() {
    for kind in KINDS {
        let (report, confinement) = probed(kind, "");
        all_refused(&report);
        assert_eq!(confinement["seccomp"], true);
    }
}

#[test]
fn the_filter_alone_holds_where_the_kernel_has_no_landlock() {
    for kind in KINDS {
        let (report, confinement) = probed(kind, "landlock=0");
        all_refused(&report);
        assert_eq!(confinement, json!({ "landlock": "none", "seccomp": true }));
    }
}

/// Without the filter Landlock refuses what it knows of, by an error of its own. Where the kernel has
/// none nothing is left to hold, and the status says so.
#[test]
fn landlock_alone_keeps_files_programs_and_the_daemon_out_of_reach() {
    for kind in KINDS {
        let (report, confinement) = probed(kind, "seccomp=0");
        assert_eq!(confinement["seccomp"], false);
        let is_there = confinement["landlock"] != "none";
        for name in [
            "open",
            "list",
            "create",
            "memory of the daemon",
            "exec",
            "ptrace",
        ] {
            let mut rows = report.iter();
            let row = rows.find(|row| row.starts_with(&format!("{name}: ")));
            let is_allowed = row.expect("it was tried").ends_with(": allowed");
            assert!(!(is_there && is_allowed), "{kind:?}: {row:?}");
        }
    }
}
