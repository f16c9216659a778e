//! Tests of the test client itself, against `cat`, which says whatever it is told; never the daemon.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

fn echo() -> Daemon {
    Daemon::builder().program("cat").spawn()
}

/// What dropping it complains about.
fn complaint(daemon: Daemon) -> String {
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(daemon)));
    let Err(panic) = dropped else {
        return String::new();
    };
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn messages_are_told_apart_and_taken_once() {
    let daemon = echo();
    let id = daemon.request("ask", json!({ "a": 1 }));
    daemon.notify("tell", json!([2]));
    daemon.notify("nothing", Value::Null);
    daemon.respond(Id::from("x"), json!(3));
    assert_eq!(daemon.expect_notification("nothing"), Value::Null);
    assert_eq!(daemon.expect_notification("tell"), json!([2]));
    assert_eq!(daemon.expect_request("ask"), (id, json!({ "a": 1 })));
    assert_eq!(daemon.wait(&Id::from("x")), Ok(json!(3)));
    let error = json!({ "code": -1, "message": "no", "data": { "kind": "busy" } });
    daemon.send(&json!({ "jsonrpc": "2.0", "id": null, "error": error }));
    let error = daemon.wait(&Id::Null).expect_err("an error was sent");
    assert_eq!(
        (error.code, &*error.message, error.kind()),
        (-1, "no", "busy")
    );
    assert_eq!(daemon.arrival_order(), [Id::from("x"), Id::Null]);
    daemon.close_stdin();
    assert!(
        daemon
            .wait_exit(HANG)
            .is_some_and(|status| status.success())
    );
}

#[test]
fn what_nobody_took_is_a_failure() {
    for (bytes, expected) in [
        (
            &b"Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n"[..],
            "nobody took",
        ),
        (
            b"Content-Length: 31\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"hey\"}",
            "not JSON",
        ),
        (b"content-length: 2\r\n\r\n{}", "not a header"),
        (
            b"Content-Length: 2\r\nX: 1\r\n\r\n{}",
            "more than one header",
        ),
        (
            b"Content-Length: 17\r\n\r\n{\"jsonrpc\":\"2.0\"}",
            "not a message",
        ),
        (b"hello", "not a header"),
    ] {
        let daemon = echo();
        daemon.send_raw(bytes);
        let complaint = complaint(daemon);
        assert!(complaint.contains(expected), "{complaint:?}");
    }
}

#[test]
fn words_on_stderr_are_a_failure() {
    let daemon = Daemon::builder().program("cat").arg("--no-such-option");
    assert!(complaint(daemon.spawn()).contains("on stderr"));
}

#[test]
fn uris_are_encoded() {
    assert_eq!(
        file_uri(Path::new("/a b/ü#%.rs")),
        "file:///a%20b/%C3%BC%23%25.rs"
    );
}
