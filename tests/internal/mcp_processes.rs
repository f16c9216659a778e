//! The processes behind `mcp://`: what they are started with, when they end, and that one that hangs, dies or floods costs nobody else anything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tree::Tree;

use super::mcp_support::{Servers, runs, wait_until};
use super::text;

/// Not held up by anybody: generous, but shorter than any limit that would end the wait.
const AT_ONCE: Duration = Duration::from_secs(5);

fn status(daemon: &crate::client::Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("a status")["mcp"].clone()
}

#[test]
fn it_sees_no_more_of_the_environment_than_it_needs_and_no_workspace() {
    let tree = Tree::new().file(
        ".mcp.json",
        r#"{ "mcpServers": { "bad": { "command": "touch", "args": ["started"] } } }"#,
    );
    let home = Tree::new();
    let servers = Servers::new().with("small", &[]);
    let mut settings = servers.settings();
    settings["mcp"]["servers"]["small"]["env"] = json!({ "DEMO": "from the settings" });
    let path = std::env::var("PATH").expect("a PATH");
    let daemon = servers
        .set_up(&tree, json!({ "servers": settings["mcp"]["servers"] }))
        .env("HOME", &home.path().display().to_string())
        .env("SECRET_TOKEN", "hidden")
        .start();
    let result =
        daemon.read_with(json!({ "path": "mcp://small/demo://environment", "dialect": "plain" }));
    let shown = result.expect("a text");
    let shown = text(&shown).lines().last().expect("a line");
    let seen: Value = serde_json::from_str(shown).expect("JSON");
    let environment = seen["environment"].as_object().expect("variables");
    for name in environment.keys() {
        let known = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "DEMO", "LC_CTYPE"];
        assert!(known.contains(&name.as_str()), "{name}");
    }
    assert_eq!(
        (&environment["PATH"], &environment["DEMO"]),
        (&json!(path), &json!("from the settings"))
    );
    let real_home = home.path().canonicalize().expect("a real path");
    assert_eq!(seen["directory"], json!(real_home));
    let error = daemon
        .read("mcp://bad/demo://a")
        .expect_err("not of the settings");
    assert_eq!(error.kind(), "notFound");
    assert!(!tree.path().join("started").exists());
}

#[test]
fn one_that_hangs_holds_nobody_up_and_is_ended_after_two_timeouts() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let servers = Servers::new().with("hangs", &[]).with("small", &["new"]);
    let daemon = servers.set_up(&tree, json!({ "timeoutMs": 3000 })).start();
    daemon.read("mcp://hangs/demo://a").expect("it runs");
    let begun = Instant::now();
    let waits = daemon.request("agent/read", json!({ "path": "mcp://hangs/demo://wait" }));
    wait_until("it was asked", || {
        servers.count("hangs", "resources/read demo://wait") == 1
    });
    for _ in 0..20 {
        assert!(daemon.read_text("a.txt").ends_with("1:mine"));
    }
    assert!(daemon.read_text("mcp://small/demo://a").ends_with("2:two"));
    assert!(begun.elapsed() < AT_ONCE);
    let error = daemon.wait(&waits).expect_err("no answer");
    assert_eq!(error.kind(), "timeout");
    assert!(error.message.contains("mcp.timeoutMs"), "{}", error.message);
    // It hears that nobody waits any more.
    wait_until("it heard of it", || {
        servers.count("hangs", "notifications/cancelled") > 0
    });
    assert!(runs(servers.processes("hangs")[0]));
    let error = daemon
        .read("mcp://hangs/demo://wait")
        .expect_err("no answer");
    assert_eq!(error.kind(), "timeout");
    servers.expect_none_left("hangs");
    assert!(daemon.read_text("mcp://hangs/demo://a").ends_with("2:two"));
    assert_eq!(servers.count("hangs", "start"), 2);
}

#[test]
fn one_that_never_answers_does_not_keep_the_others_from_being_listed() {
    let tree = Tree::new();
    let servers = Servers::new().with("mute", &["mute"]).with("small", &[]);
    let daemon = servers.set_up(&tree, json!({ "timeoutMs": 3000 })).start();
    let list = daemon.read_text("mcp://");
    assert!(list.starts_with("mute  (does not "), "{list}");
    assert!(list.contains("\nsmall\ndemo://a "), "{list}");
    let error = daemon.read("mcp://mute/demo://a").expect_err("mute");
    assert!(
        ["io", "timeout"].contains(&error.kind()),
        "{}",
        error.message
    );
    servers.expect_none_left("mute");
}

#[test]
fn a_reader_that_gives_up_is_told_to_the_server_alone() {
    let tree = Tree::new();
    let servers = Servers::new().with("small", &["new"]);
    let daemon = servers.daemon(&tree);
    let read = daemon.request("agent/read", json!({ "path": "mcp://small/demo://wait" }));
    wait_until("it was asked", || {
        servers.count("small", "resources/read") == 1
    });
    daemon.notify("$/cancelRequest", json!({ "id": read }));
    assert_eq!(
        daemon.wait(&read).expect_err("cancelled").kind(),
        "cancelled"
    );
    wait_until("it heard of it", || {
        servers.count("small", "notifications/cancelled") == 1
    });
    assert!(daemon.read_text("mcp://small/demo://a").ends_with("2:two"));
    assert_eq!(servers.count("small", "start"), 1);
}

#[test]
fn one_that_dies_is_started_again_until_it_did_so_three_times() {
    let tree = Tree::new();
    let servers = Servers::new()
        .with("small", &[])
        .with("dies", &["dies"])
        .with("none", &[]);
    let mut settings = servers.settings();
    settings["mcp"]["servers"]["none"]["command"] = json!("no-such-program-here");
    let settings = json!({ "servers": settings["mcp"]["servers"] });
    let daemon = servers.set_up(&tree, settings).start();
    let died = daemon.read("mcp://small/demo://die").expect_err("died");
    assert_eq!(died.kind(), "io");
    assert!(
        died.message.contains("ended before it answered"),
        "{}",
        died.message
    );
    assert!(daemon.read_text("mcp://small/demo://a").ends_with("2:two"));
    assert_eq!(servers.count("small", "start"), 2);
    for name in ["dies", "none"] {
        for attempt in 1..=5 {
            let error = daemon
                .read(format!("mcp://{name}/demo://a"))
                .expect_err("dead");
            assert_eq!(error.kind(), "io");
            let left_alone = error.message.contains("three times within a minute");
            assert_eq!(left_alone, attempt > 3, "{attempt}: {}", error.message);
        }
    }
    assert_eq!(servers.count("dies", "start"), 3);
    let status = status(&daemon);
    assert_eq!(
        (&status[0]["name"], &status[0]["state"]),
        (&json!("dies"), &json!("failing"))
    );
    assert_eq!(status[0]["stderr"], "cannot find my license\n");
    assert_eq!(
        (&status[2]["name"], &status[2]["state"]),
        (&json!("small"), &json!("running"))
    );
    let list = daemon.read_text("mcp://");
    assert!(
        list.starts_with("dies  (ended three times within a minute)"),
        "{list}"
    );
}

#[test]
fn floods_and_chatter_are_taken_and_little_of_it_is_kept() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let servers = Servers::new()
        .with("floods", &["floods"])
        .with("chatters", &["chatters", "new"]);
    let daemon = servers.daemon(&tree);
    for _ in 0..3 {
        assert!(daemon.read_text("mcp://floods/demo://a").ends_with("2:two"));
        assert!(
            daemon
                .read_text("mcp://chatters/demo://a")
                .ends_with("2:two")
        );
        assert!(daemon.read_text("a.txt").ends_with("1:mine"));
    }
    wait_until("its last words are known", || {
        let said = status(&daemon)[1]["stderr"].clone();
        said.as_str()
            .is_some_and(|said| said.len() == 2048 && said.contains("nobody wants to read"))
    });
    assert!(daemon.peak_bytes() < 400 * 1024 * 1024);
}

#[test]
fn both_eras_of_the_protocol_are_spoken() {
    let tree = Tree::new();
    let servers = Servers::new()
        .with("old", &[])
        .with("silent", &["silent"])
        .with("new", &["new"]);
    let daemon = servers.daemon(&tree);
    for name in ["old", "silent", "new"] {
        let shown = daemon.read_text(format!("mcp://{name}/demo://a"));
        assert!(shown.ends_with("1:one\n2:two"), "{name}: {shown}");
    }
    assert_eq!(servers.count("new", "initialize"), 0);
    assert_eq!(
        (
            servers.count("old", "server/discover"),
            servers.count("old", "initialize")
        ),
        (1, 1)
    );
}

#[test]
fn one_that_is_idle_is_ended_with_all_that_it_started() {
    let tree = Tree::new();
    let servers = Servers::new()
        .with("small", &["child"])
        .with("stubborn", &["stubborn", "child"]);
    let daemon = servers
        .set_up(&tree, json!({}))
        .env("PILCROW_MCP", "idleMs=200")
        .start();
    for name in ["small", "stubborn"] {
        daemon
            .read(format!("mcp://{name}/demo://a"))
            .expect("a text");
        assert_eq!(servers.processes(name).len(), 2);
        servers.expect_none_left(name);
    }
    assert_eq!(servers.count("small", "end of input"), 1);
    assert!(daemon.read_text("mcp://small/demo://a").ends_with("2:two"));
    assert_eq!(servers.count("small", "start"), 2);
}

#[test]
fn no_process_outlives_the_daemon() {
    for ending in ["shutdown", "end of input", "SIGTERM"] {
        let tree = Tree::new();
        let servers = Servers::new()
            .with("small", &["child", "new"])
            .with("stubborn", &["stubborn", "child"])
            .with("floods", &["floods"]);
        let daemon = servers.daemon(&tree);
        daemon.read("mcp://").expect("all run");
        let read = daemon.request("agent/read", json!({ "path": "mcp://small/demo://wait" }));
        wait_until("it was asked", || {
            servers.count("small", "resources/read") == 1
        });
        match ending {
            "shutdown" => {
                daemon.notify("$/cancelRequest", json!({ "id": read }));
                daemon.wait(&read).expect_err("cancelled");
            }
            "end of input" => daemon.close_stdin(),
            _ => daemon.signal(rustix::process::Signal::TERM),
        }
        if ending != "shutdown" {
            assert!(daemon.wait_exit(AT_ONCE).is_some(), "{ending}");
            daemon.drop_answers();
        }
        drop(daemon);
        for name in ["small", "stubborn", "floods"] {
            servers.expect_none_left(name);
        }
    }
}

#[test]
fn what_the_settings_no_longer_name_is_ended_and_what_is_wrong_is_said() {
    let tree = Tree::new();
    let servers = Servers::new().with("small", &["child"]).with("stays", &[]);
    let daemon = servers.daemon(&tree);
    daemon.read("mcp://").expect("both run");
    let set = |settings: Value| {
        let params = json!({ "settings": { "pilcrow": settings } });
        daemon.notify("workspace/didChangeConfiguration", params);
    };
    let mut fewer = servers.settings();
    fewer["mcp"]["servers"]
        .as_object_mut()
        .expect("servers")
        .remove("small");
    set(fewer);
    servers.expect_none_left("small");
    assert_eq!(
        daemon
            .read("mcp://small/demo://a")
            .expect_err("gone")
            .kind(),
        "notFound"
    );
    assert!(daemon.read_text("mcp://stays/demo://a").ends_with("2:two"));
    assert_eq!(servers.count("stays", "start"), 1);
    for (wrong, said) in [
        (
            json!({ "a/b": { "command": "x" } }),
            "'a/b' of mcp.servers is left out",
        ),
        (json!({ "x": { "args": [] } }), "mcp.servers.x"),
        (
            json!({ "x": { "command": "x", "arguments": [] } }),
            "arguments",
        ),
        (json!({ "x": { "command": 7 } }), "mcp.servers.x"),
    ] {
        set(json!({ "mcp": { "servers": wrong } }));
        let told = daemon.expect_notification("window/showMessage");
        assert!(
            told["message"].as_str().is_some_and(|it| it.contains(said)),
            "{told}"
        );
    }
    let nine: serde_json::Map<String, Value> = (1..=9)
        .map(|n| (format!("s{n}"), json!({ "command": "x" })))
        .collect();
    set(json!({ "mcp": { "servers": nine } }));
    let told = daemon.expect_notification("window/showMessage");
    assert!(
        told["message"]
            .as_str()
            .is_some_and(|it| it.contains("'s9'") && it.contains("more than 8")),
        "{told}"
    );
    assert_eq!(status(&daemon).as_array().map(Vec::len), Some(8));
}
