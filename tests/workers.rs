//! Workers, tried from inside: what one of them could do to the machine if a document took it over.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::documents::text_of;
use crate::tree::Tree;

/// What a worker says of an attempt that a filter of system calls refused.
const REFUSED: &str = "Operation not permitted (os error 1)";

/// A daemon with a document that has its converter try all that it must not be able to do.
fn probed(limits: &str) -> (Vec<String>, Value) {
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
fn a_converter_can_do_nothing_but_compute() {
    let (report, confinement) = probed("");
    all_refused(&report);
    assert_eq!(confinement["seccomp"], true);
}

#[test]
fn the_filter_alone_holds_where_the_kernel_has_no_landlock() {
    let (report, confinement) = probed("landlock=0");
    all_refused(&report);
    assert_eq!(confinement, json!({ "landlock": "none", "seccomp": true }));
}

/// Without the filter Landlock refuses what it knows of, by an error of its own.
#[test]
fn landlock_alone_keeps_files_programs_and_the_daemon_out_of_reach() {
    let (report, confinement) = probed("seccomp=0");
    assert_eq!(confinement["seccomp"], false);
    if confinement["landlock"] == "none" {
        // Nothing is left to hold, and the status says so.
        return;
    }
    for name in [
        "open",
        "list",
        "create",
        "memory of the daemon",
        "exec",
        "ptrace",
    ] {
        let row = report
            .iter()
            .find(|row| row.starts_with(&format!("{name}: ")));
        let row = row.expect("it was tried");
        assert!(!row.ends_with(": allowed"), "{row}");
    }
}
