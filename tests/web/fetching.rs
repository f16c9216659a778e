//! Fetching over the wire: what is trusted, limited, tried again, told and left behind.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::hostile::{Hostile, header};
use super::server::{Gate, Reply, Running, Server};
use super::tls::{Authority, Identity};
use crate::client::{Daemon, WireError};
use crate::processes::until;
use crate::tree::{Tree, numbered_lines};

const MIB: u64 = 1 << 20;

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

fn daemon(tree: &Tree, web: Value) -> Daemon {
    let settings = json!({ "web": web });
    Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start()
}

fn refused(daemon: &Daemon, url: &str) -> WireError {
    daemon.read(url).expect_err(url)
}

fn status(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["web"].clone()
}

fn safe(identity: Identity) -> Running {
    Server::new()
        .otherwise(|_| Reply::text("safe\n"))
        .tls(identity)
        .start()
}

#[test]
fn the_authorities_of_the_environment_and_the_settings_are_trusted() {
    let tree = Tree::new();
    let (one, other, unknown) = (Authority::new(), Authority::new(), Authority::new());
    tree.write("one.pem", one.pem());
    tree.write("other.pem", other.pem());
    let file = |name: &str| tree.path().join(name).to_string_lossy().into_owned();
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("SSL_CERT_FILE", &file("one.pem"))
        .settings(json!({ "web": { "caFile": file("other.pem") } }))
        .start();
    let names = ["localhost"];
    for authority in [&one, &other] {
        let server = safe(authority.identity(&names));
        assert!(
            daemon
                .read_text(server.url_by("localhost", "/"))
                .contains("1:safe")
        );
    }
    for (server, words) in [
        (safe(one.expired(&names)), "has expired"),
        (
            safe(one.identity(&["elsewhere.example"])),
            "for another name",
        ),
        (safe(unknown.identity(&names)), "SSL_CERT_FILE"),
        (safe(Identity::self_signed(&names)), "SSL_CERT_FILE"),
    ] {
        let error = refused(&daemon, &server.url_by("localhost", "/"));
        assert!(
            error.kind() == "network" && error.message.contains(words),
            "{error:?}"
        );
        assert_eq!(error.data["retryable"], false);
        assert!(server.requests().is_empty());
    }
}

#[test]
fn what_hangs_is_ended_and_says_where_it_hung() {
    let tree = Tree::new();
    let silent = Hostile::start(|mut connection| connection.hang());
    let drip = Hostile::start(|mut connection| {
        connection.send(header("200 OK", &["Content-Type: text/plain"]));
        connection.drip(b'x', Duration::from_millis(20));
    });
    let daemon = daemon(&tree, json!({ "timeoutMs": 1000 }));
    for url in [silent.url("/"), drip.url("/")] {
        let begun = Instant::now();
        let error = refused(&daemon, &url);
        assert!(
            error.kind() == "timeout" && error.message.contains("after 1 s"),
            "{error:?}"
        );
        assert_eq!(error.data["retryable"], true);
        let took = begun.elapsed();
        assert!((900..5000).contains(&took.as_millis()), "{took:?}");
    }
}

#[test]
fn hostile_answers_are_refused_or_cut() {
    let tree = Tree::new();
    let daemon = daemon(&tree, json!({ "maxBytes": 1_000_000 }));
    let says = |fields: &[&str], body: &str| Hostile::says(header("200 OK", fields) + body);
    let flood = Hostile::start(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n");
        connection.send_for_ever(b"X-More: more\r\n");
    });
    let error = refused(&daemon, &flood.url("/"));
    assert!(
        error.kind() == "network" && error.message.contains("100 fields"),
        "{error:?}"
    );

    let half = says(
        &["Content-Type: text/plain", "Content-Length: 90000"],
        "one\ntwo\n",
    );
    let result = daemon.read(half.url("/")).expect("what came");
    assert!(
        text(&result).contains("Notes: the connection broke after 8B of 87.9KB"),
        "{result}"
    );
    assert!(text(&result).ends_with("\n1:one\n2:two"), "{result}");
    let half = says(
        &["Content-Type: application/pdf", "Content-Length: 90000"],
        "%PDF-1.7\n",
    );
    let error = refused(&daemon, &half.url("/"));
    assert_eq!(
        (error.kind(), &error.data["retryable"]),
        ("network", &json!(true)),
        "{error:?}"
    );

    let large = says(
        &["Content-Type: application/pdf", "Content-Length: 90000000"],
        "%PDF-1.7\n",
    );
    let error = refused(&daemon, &large.url("/"));
    assert!(
        error.kind() == "tooLarge" && error.message.contains("90000000"),
        "{error:?}"
    );
    let endless = Hostile::start(|mut connection| {
        connection.send(header("200 OK", &["Content-Type: text/plain"]));
        connection.send_for_ever("a line of many\n".repeat(500).as_bytes());
    });
    let result = daemon.read(endless.url("/")).expect("its beginning");
    let words = "Notes: the first 976.6KB; the rest was not fetched";
    assert!(text(&result).contains(words), "{}", &text(&result)[..300]);

    let circle = Server::new()
        .route("/a", |_| Reply::redirect(302, "/b"))
        .route("/b", |_| Reply::redirect(302, "/a"))
        .start();
    let error = refused(&daemon, &circle.url("/a"));
    assert!(
        error.kind() == "network" && error.message.contains("round in a circle"),
        "{error:?}"
    );
    assert_eq!((circle.count("/a"), circle.count("/b")), (1, 1));
}

#[test]
fn redirects_are_told() {
    let tree = Tree::new();
    let server = Server::new()
        .route("/a", |_| Reply::redirect(301, "/b?x"))
        .route("/b", |_| Reply::redirect(307, "c#part"))
        .route("/c", |_| Reply::text("end\n"))
        .start();
    let daemon = daemon(&tree, json!({}));
    let result = daemon.read(server.url("/a")).expect("a page");
    let details = &result["details"];
    assert_eq!(
        details["redirects"],
        json!([server.url("/a"), server.url("/b?x")])
    );
    assert!(text(&result).contains(&format!("Notes: redirected from {}", server.url("/a"))));
    assert!(
        text(&result).starts_with(&format!("URL: {}", server.url("/c"))),
        "{result}"
    );
}

#[test]
fn bombs_end_at_the_limit_and_memory_stays_flat() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9));
    let mut zeros = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..300 {
        std::io::Write::write_all(&mut zeros, &[b'a'; MIB as usize]).expect("packed");
    }
    let zeros = zeros.finish().expect("packed");
    let (bomb, large) = (zeros.clone(), vec![0u8; 49 * MIB as usize]);
    let server = Server::new()
        .route("/bomb", move |_| {
            let pieces = vec![bomb.clone().into()];
            Reply::new("application/pdf", "")
                .pieces(pieces)
                .header("content-encoding", "gzip")
        })
        .route("/large", move |_| {
            Reply::new("application/octet-stream", large.clone())
        })
        .start();
    let daemon = daemon(&tree, json!({}));
    daemon.read_text("n.txt");
    let before = daemon.peak_bytes();
    let error = refused(&daemon, &server.url("/bomb"));
    assert_eq!(error.kind(), "tooLarge", "{error:?}");
    let result = daemon.read(server.url("/large")).expect("a body");
    assert!(
        text(&result).contains("[Binary content: application/octet-stream, 49.0MB"),
        "{result}"
    );
    let grown = daemon.peak_bytes().saturating_sub(before);
    assert!(grown < 32 * MIB, "{} MiB more", grown / MIB);
    let disk = status(&daemon)["diskBytes"].as_u64().expect("bytes");
    assert!((49 * MIB..99 * MIB).contains(&disk), "{disk}");
}

#[test]
fn what_is_kept_in_files_is_private_and_goes_with_the_process() {
    let tree = Tree::new();
    let server = Server::new()
        .otherwise(|_| Reply::new("application/octet-stream", vec![0u8; MIB as usize]))
        .start();
    let daemon = daemon(&tree, json!({}));
    let fetched = daemon.state_dir().join("pilcrow/fetched");
    // What a killed process left.
    std::fs::create_dir_all(fetched.join("1-0")).expect("a folder");
    std::fs::write(fetched.join("1-0/0"), "left").expect("a file");
    daemon.read(server.url("/")).expect("a body");
    let mut folders = std::fs::read_dir(&fetched).expect("the folder").flatten();
    let (own, more) = (folders.next().expect("its own"), folders.next());
    assert!(more.is_none(), "{own:?} and {more:?}");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode();
    assert_eq!(mode(&own.path()) & 0o777, 0o700);
    let files: Vec<_> = std::fs::read_dir(own.path())
        .expect("a folder")
        .flatten()
        .collect();
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(mode(&file.path()) & 0o177, 0, "{file:?}");
    }
    daemon.call("shutdown", Value::Null).expect("an end");
    daemon.notify("exit", Value::Null);
    until("the process ends", || {
        daemon.wait_exit(Duration::ZERO).is_some()
    });
    let left = std::fs::read_dir(&fetched).expect("the folder").count();
    assert_eq!(left, 0);
}

#[test]
fn a_cancel_closes_the_connection_at_once() {
    let tree = Tree::new();
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .otherwise(move |_| Reply::text("x").held(&held))
        .start();
    let daemon = daemon(&tree, json!({}));
    let id = daemon.request("agent/read", json!({ "path": server.url("/") }));
    server.wait_until("it is asked", |server| server.open() == 1);
    let begun = Instant::now();
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(daemon.wait(&id).expect_err("cancelled").code, -32800);
    server.wait_until("it is closed", |server| server.open() == 0);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    until("nothing is under way", || status(&daemon)["inFlight"] == 0);
}

#[test]
fn many_hung_fetches_hold_up_nothing_and_end_together() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9));
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .otherwise(move |_| Reply::text("x").held(&held))
        .start();
    let daemon = daemon(&tree, json!({}));
    daemon.read_text("n.txt");
    let before = daemon.peak_bytes();
    let ids: Vec<_> = (0..64)
        .map(|number| {
            let path = server.url_by(&format!("h{}.localhost", number % 8), &format!("/{number}"));
            daemon.request("agent/read", json!({ "path": path }))
        })
        .collect();
    until("all are under way", || status(&daemon)["inFlight"] == 64);
    server.wait_until("sixteen are asked", |server| server.requests().len() >= 16);
    assert_eq!(server.requests().len(), 16);
    let begun = Instant::now();
    for _ in 0..50 {
        daemon.read_text("n.txt");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    let grown = daemon.peak_bytes().saturating_sub(before);
    assert!(grown < 24 * MIB, "{} MiB more", grown / MIB);
    for id in &ids[..32] {
        daemon.notify("$/cancelRequest", json!({ "id": id }));
    }
    for id in &ids[..32] {
        assert_eq!(daemon.wait(id).expect_err("cancelled").code, -32800);
    }
    gate.open();
    for id in &ids[32..] {
        assert!(text(&daemon.wait(id).expect("a page")).contains("1:x"));
    }
    server.wait_until("all are closed", |server| server.open() == 0);
}

#[test]
fn the_log_has_no_query_and_no_credentials() {
    let tree = Tree::new();
    let server = Server::new()
        .route("/page", |_| Reply::text("x").header("x-of-server", "hush"))
        .start();
    let daemon = daemon(&tree, json!({}));
    daemon
        .read(server.url("/page?token=secret-query#secret-part"))
        .expect("a page");
    let _ = daemon.read(server.url("/gone?token=secret-query"));
    let folder = daemon.state_dir().join("pilcrow");
    let log = || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        files.collect::<String>()
    };
    until("it is logged", || log().contains("/gone"));
    let log = log();
    assert!(log.contains("/page") && log.contains("127.0.0.1"), "{log}");
    for word in ["secret", "token", "hush"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
}

#[test]
fn the_command_line_fetches() {
    let tree = Tree::new();
    let server = Server::new().route("/", |_| Reply::text("here\n")).start();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pilcrow"))
        .current_dir(tree.path())
        .env("XDG_STATE_HOME", tree.path().join("state"))
        .args(["read", &server.url("/")])
        .output()
        .expect("the binary runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && out.ends_with("1:here\n"),
        "{output:?}"
    );
}
