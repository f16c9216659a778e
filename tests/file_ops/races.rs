//! Sessions at once: an edit of a file that is being moved lands before that, or hears where the file is; none is lost.

use serde_json::json;

use crate::client::Daemon;
use crate::processes::until;
use crate::tree::{Tree, numbered_lines};

use super::{files, read_as};

/// Sends a move and an edit of another session at once; whether the edit landed.
fn race(daemon: &Daemon, round: usize) -> bool {
    let (from, to) = (format!("{round}.txt"), format!("to/{round}.txt"));
    let mover = read_as(daemon, "mover", &from);
    let editor = read_as(daemon, "editor", &from);
    assert_eq!(mover, editor);
    let change = format!("¶{from}#{editor}\nreplace 5:\n+changed\n");
    let change = json!({ "session": "editor", "patch": change });
    let moving = format!("¶{from}#{mover}\nmove file to {to}\n");
    let moving = json!({ "session": "mover", "patch": moving });
    let (change, moving) = match round % 2 {
        0 => {
            let change = daemon.request("agent/edit", change);
            (change, daemon.request("agent/edit", moving))
        }
        _ => {
            let moving = daemon.request("agent/edit", moving);
            (daemon.request("agent/edit", change), moving)
        }
    };
    let (change, moving) = (daemon.wait(&change), daemon.wait(&moving));
    match (&change, &moving) {
        (Ok(_), Err(error)) => {
            // What is to be moved is no longer what its session saw.
            assert_eq!(error.kind(), "stale", "{error:?}");
            true
        }
        (Err(error), Ok(_)) => {
            assert_eq!(error.kind(), "unknownTag", "{error:?}");
            assert!(error.message.contains(&to), "{error:?}");
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edit_of_a_file_that_is_moved_lands_before_or_hears_where_it_is() {
    let tree = Tree::new();
    let rounds = 12;
    for round in 0..rounds {
        tree.write(&format!("{round}.txt"), numbered_lines(1, 9));
    }
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for round in 0..rounds {
        // They are carried out in the order in which they came.
        assert_eq!(race(&daemon, round), round % 2 == 0);
        let now = files(tree.path());
        let (stayed, moved) = (format!("{round}.txt"), format!("to/{round}.txt"));
        match round % 2 {
            0 => assert!(now[&stayed].contains("changed") && !now.contains_key(&moved)),
            _ => assert!(!now[&moved].contains("changed") && !now.contains_key(&stayed)),
        }
    }
}

#[test]
fn an_edit_of_a_file_that_was_renamed_this_moment_is_not_made_by_a_guess() {
    let tree = Tree::new()
        .file("a.txt", numbered_lines(1, 9))
        .file("to/b.txt", "b\n");
    let signals = tempfile::tempdir().expect("a folder");
    let go_on = signals.path().join("go");
    let fail = format!("fsyncdir:1:HOLD={}", go_on.display());
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("PILCROW_FAIL", &fail)
        .start();
    daemon.ignore_changes();
    let tag = read_as(&daemon, "mover", "a.txt");
    assert_eq!(read_as(&daemon, "editor", "a.txt"), tag);
    let patch = format!("¶a.txt#{tag}\nmove file to to/a.txt\n");
    let moving = json!({ "session": "mover", "patch": patch });
    let moving = daemon.request("agent/edit", moving);
    until("the move is held", || {
        signals.path().join("go.held").exists()
    });
    assert!(tree.join("to/a.txt").exists(), "it has its new name");
    let patch = format!("¶a.txt#{tag}\nreplace 5:\n+changed\n");
    let change = json!({ "session": "editor", "patch": patch });
    let change = daemon.request("agent/edit", change);
    until("names are looked through", || {
        let status = daemon.call("agent/status", json!({}));
        status.expect("a status")["scans"] != 0
    });
    std::fs::write(&go_on, "").expect("a signal");
    daemon.wait(&moving).expect("it is moved");
    let error = daemon.wait(&change).expect_err("it is elsewhere");
    assert_eq!(error.kind(), "unknownTag", "{error:?}");
    assert!(error.message.contains("to/a.txt"), "{error:?}");
    assert_eq!(files(tree.path())["to/a.txt"], numbered_lines(1, 9));
}

#[test]
fn reads_see_every_move_that_was_sent_before_them() {
    let tree = Tree::new().file("a0.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = read_as(&daemon, "default", "a0.txt");
    let mut sent = Vec::new();
    for round in 0..20 {
        let patch = format!("¶a{round}.txt#{tag}\nmove file to a{}.txt\n", round + 1);
        sent.push(daemon.request("agent/edit", json!({ "patch": patch })));
        let path = format!("a{}.txt", round + 1);
        sent.push(daemon.request("agent/read", json!({ "path": path })));
    }
    for id in &sent {
        daemon.wait(id).expect("each in its turn");
    }
    assert_eq!(files(tree.path()).len(), 1);
    assert_eq!(files(tree.path())["a20.txt"], "one\n");
}
