//! Who may be asked, over the wire: what is denied is denied by a named rule, and nothing is sent for it.

use serde_json::{Value, json};

use super::proxy::Proxy;
use super::server::{Reply, Running, Server};
use crate::client::{Daemon, WireError};
use crate::tree::Tree;

fn daemon(tree: &Tree, web: Value) -> Daemon {
    let settings = json!({ "web": web });
    Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start()
}

fn server() -> Running {
    Server::new()
        .route("/", |_| Reply::text("here\n"))
        .route("/to-metadata", |_| {
            Reply::redirect(302, "http://169.254.169.254/latest")
        })
        .route("/to-private", |_| {
            Reply::redirect(302, "http://192.168.7.7/")
        })
        .route("/to-file", |_| Reply::redirect(302, "file:///etc/passwd"))
        .route("/to-denied", |asked| {
            let port = asked
                .header("host")
                .rsplit(':')
                .next()
                .unwrap_or("")
                .to_owned();
            Reply::redirect(302, &format!("http://bad.localhost:{port}/"))
        })
        .start()
}

fn denied(daemon: &Daemon, url: &str) -> WireError {
    let error = daemon.read(url).expect_err(url);
    assert_eq!(
        (error.kind(), error.code),
        ("denied", -32803),
        "{url}: {error:?}"
    );
    assert_eq!(error.data["retryable"], false);
    assert!(error.data["path"].is_string(), "{error:?}");
    error
}

#[test]
fn what_no_setting_allows_is_denied_whatever_is_allowed() {
    let tree = Tree::new();
    let daemon = daemon(
        &tree,
        json!({ "allowPrivateNetwork": true, "timeoutMs": 2000 }),
    );
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://0.0.0.0/",
        "http://0/",
        "http://2852039166/",
        "http://0xa9.0xfe.0xa9.0xfe/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://255.255.255.255/",
        "http://224.0.0.1/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://Metadata.Google.Internal./",
    ] {
        let error = denied(&daemon, url);
        assert!(
            error.message.contains("no setting allows that"),
            "{}",
            error.message
        );
        assert_eq!(error.data["setting"], Value::Null);
    }
    let error = denied(&daemon, "http://127.0.0.1:25/");
    assert!(error.message.contains("port 25"), "{}", error.message);
}

#[test]
fn what_a_setting_allows_names_the_setting() {
    let (tree, server) = (Tree::new(), server());
    let plain = daemon(&tree, json!({}));
    for url in [
        "http://10.0.0.1/",
        "http://192.168.1.1:8080/x",
        "http://[fd12::1]/",
        "http://[::ffff:10.0.0.1]/",
    ] {
        let error = denied(&plain, url);
        assert_eq!(error.data["setting"], "web.allowPrivateNetwork");
        let words =
            format!("'{url}' leads to a private network; web.allowPrivateNetwork allows that.");
        // Of the last one the URL is written as its standard has it.
        assert!(
            error.message == words || url.contains("ffff"),
            "{}",
            error.message
        );
    }
    let closed = daemon(&tree, json!({ "allowLoopback": false }));
    for host in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        "x.localhost",
        "2130706433",
        "127.1",
    ] {
        let error = denied(&closed, &server.url_by(host, "/"));
        assert_eq!(error.data["setting"], "web.allowLoopback");
    }
    let off = daemon(&tree, json!({ "enabled": false }));
    assert_eq!(
        denied(&off, &server.url("/")).data["setting"],
        "web.enabled"
    );
    let some = daemon(
        &tree,
        json!({ "allow": ["docs.rs", "localhost"], "deny": ["a.localhost", "*.b.localhost:*"] }),
    );
    assert_eq!(denied(&some, &server.url("/")).data["setting"], "web.allow");
    assert_eq!(server.accepted(), 0);
    assert!(
        some.read_text(server.url_by("localhost", "/"))
            .contains("1:here")
    );
}

#[test]
fn every_redirect_is_judged_like_a_first_request() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree, json!({ "deny": ["bad.localhost"] }));
    for (path, words) in [
        (
            "/to-metadata",
            "'http://169.254.169.254/latest' leads to an address that is never asked",
        ),
        ("/to-private", "web.allowPrivateNetwork"),
        ("/to-file", "only http and https are followed"),
        (
            "/to-denied",
            "the pattern 'bad.localhost' of the setting web.deny",
        ),
    ] {
        let error = denied(&daemon, &server.url(path));
        assert!(error.message.contains(words), "{}", error.message);
    }
    assert_eq!(server.accepted(), 4);
}

#[test]
fn what_is_kept_is_judged_by_the_settings_as_they_are_now() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree, json!({}));
    assert!(daemon.read_text(server.url("/")).contains("1:here"));
    assert!(daemon.read_text(server.url("/:1-")).contains("1:here"));
    let settings = json!({ "settings": { "pilcrow": { "web": { "allowLoopback": false } } } });
    daemon.notify("workspace/didChangeConfiguration", settings);
    denied(&daemon, &server.url("/:1-"));
    assert_eq!(server.accepted(), 1);
}

/// With the environment's proxies, whatever those of the test run are.
fn with_proxies(tree: &Tree, variables: &[(&str, &str)]) -> Daemon {
    let none = [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ];
    let mut builder = Daemon::builder().root(tree.path());
    for name in none {
        builder = builder.env(name, "");
    }
    for (name, value) in variables {
        builder = builder.env(name, value);
    }
    builder.start()
}

#[test]
fn proxies_of_the_environment_are_asked_and_never_for_this_machine() {
    let (tree, server) = (Tree::new(), server());
    let proxy = Proxy::to(server.address());
    let address = format!("http://me:secret@{}", proxy.address());
    let daemon = with_proxies(
        &tree,
        &[("http_proxy", &address), ("NO_PROXY", "near.invalid")],
    );
    assert!(daemon.read_text(server.url("/")).contains("1:here"));
    assert!(proxy.asked().is_empty());
    let status =
        || daemon.call("agent/status", json!({})).expect("status")["web"]["proxied"].clone();
    assert_eq!(status(), false);
    assert!(daemon.read_text("http://far.invalid/").contains("1:here"));
    assert!(proxy.asked()[0].starts_with("GET http://far.invalid/ HTTP/1.1\r\n"));
    assert_eq!(status(), true);
    let near = daemon
        .read("http://near.invalid/")
        .expect_err("no such name");
    assert_eq!(near.kind(), "network");
    assert_eq!(proxy.asked().len(), 1);
    // In capitals it may be a request's header to a CGI program.
    let daemon = with_proxies(&tree, &[("HTTP_PROXY", &address)]);
    let error = daemon
        .read("http://far.invalid/")
        .expect_err("no such name");
    assert!(
        error.kind() == "network" && !error.message.contains("secret"),
        "{error:?}"
    );
    assert_eq!(proxy.asked().len(), 1);
}

/// In a network namespace of its own, whose counters begin at 0: what is refused leaves no packet, and
/// no question for a name.
#[cfg(target_os = "linux")]
#[test]
fn what_is_refused_leaves_no_packet() {
    if !rustix::process::geteuid().is_root() {
        // Only root makes such a namespace; CI is root.
        return;
    }
    let tree = Tree::new();
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "web": { "deny": ["*.denied.example"], "allow": ["*.example", "10.0.0.1", "[fd00::1]", "169.254.169.254", "8.8.8.8"] } }))
        .program("unshare")
        .arg("--net")
        .arg(env!("CARGO_BIN_EXE_pilcrow"))
        .arg("serve")
        .arg("--stdio")
        .start();
    for url in [
        "http://10.0.0.1/",
        "http://0x0a000001/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fd00::1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://8.8.8.8:25/",
        "http://a.denied.example/",
        "http://elsewhere.test/",
        "http://metadata.google.internal/",
    ] {
        let error = daemon.read(url).expect_err(url);
        assert_eq!(error.kind(), "denied", "{url}: {}", error.message);
    }
    let counters =
        std::fs::read_to_string(format!("/proc/{}/net/snmp", daemon.pid())).expect("counters");
    let count = |protocol: &str, name: &str| {
        let mut lines = counters
            .lines()
            .filter(|line| line.starts_with(&format!("{protocol}:")));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let mut pairs = names.split(' ').zip(values.split(' '));
        pairs
            .find_map(|(of, value)| (of == name).then(|| value.to_owned()))
            .expect(name)
    };
    assert_eq!(count("Ip", "OutRequests"), "0");
    assert_eq!(count("Tcp", "ActiveOpens"), "0");
    assert_eq!(count("Udp", "OutDatagrams"), "0");
    // What is allowed is tried, and finds no way out.
    let error = daemon.read("http://8.8.8.8/").expect_err("no route");
    assert_eq!(error.kind(), "network", "{}", error.message);
}
