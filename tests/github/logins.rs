//! As whom a host is asked, by the order of the logins, and that a token is seen by that host alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::hub::{Hub, git, read, refused, text};
use crate::client::{Daemon, Next};
use crate::processes::{children, until};
use crate::web::server::Reply;

const ISSUE: &str = "/repos/octo/demo/issues/7";

fn offering() -> Value {
    json!({ "experimental": { "pilcrow": { "credentials": ["github"] } } })
}

fn login(daemon: &Daemon) -> Value {
    let status = daemon.call("agent/status", Value::Null).expect("a status");
    status["github"]["hosts"][0]["login"].clone()
}

/// The environment, the host, the token that is sent, and from where it is.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
    &'static str,
);

#[test]
fn the_environment_has_a_login_for_its_own_hosts() {
    let cases: &[Case] = &[
        (&[], "github.com", "", "none"),
        (&[("GITHUB_TOKEN", "b")], "github.com", "b", "env"),
        (
            &[("GH_TOKEN", "a"), ("GITHUB_TOKEN", "b")],
            "github.com",
            "a",
            "env",
        ),
        (
            &[("MY_TOKEN", "m"), ("GH_TOKEN", "a")],
            "github.com",
            "m",
            "env",
        ),
        (&[("GH_ENTERPRISE_TOKEN", "e")], "github.com", "", "none"),
        // A host of one's own: only where GH_HOST names it.
        (&[("GH_TOKEN", "a")], "ghe.example.com", "", "none"),
        (
            &[("GH_ENTERPRISE_TOKEN", "e")],
            "ghe.example.com",
            "",
            "none",
        ),
        (
            &[
                ("GH_HOST", "ghe.example.com"),
                ("GH_TOKEN", "a"),
                ("GITHUB_ENTERPRISE_TOKEN", "f"),
            ],
            "ghe.example.com",
            "f",
            "env",
        ),
        (
            &[
                ("GH_HOST", "ghe.example.com"),
                ("GH_ENTERPRISE_TOKEN", "e"),
                ("GITHUB_ENTERPRISE_TOKEN", "f"),
            ],
            "ghe.example.com",
            "e",
            "env",
        ),
        (
            &[
                ("GH_HOST", "octo.ghe.com"),
                ("GITHUB_TOKEN", "b"),
                ("GH_ENTERPRISE_TOKEN", "e"),
            ],
            "octo.ghe.com",
            "b",
            "env",
        ),
        (
            &[
                ("GH_HOST", "octo.ghe.com"),
                ("GH_TOKEN", "a"),
                ("GH_ENTERPRISE_TOKEN", "e"),
            ],
            "ghe.example.com",
            "",
            "none",
        ),
    ];
    for (environment, host, token, from) in cases {
        let hub = Hub::new();
        hub.issue(7, &[]);
        let api = hub.server.url("");
        let named = json!({ "api": api, "tokenEnv": "MY_TOKEN" });
        let other = json!({ "api": api });
        let hosts = json!({ "github.com": named, "ghe.example.com": other, "octo.ghe.com": other });
        let daemon = hub.daemon_with(json!({ "hosts": hosts }), environment);
        read(&daemon, &format!("issue://{host}/octo/demo/7?comments=0"));
        let expected = match *token {
            "" => String::new(),
            token => format!("Bearer {token}"),
        };
        let asked = hub.server.last();
        assert_eq!(
            asked.header("authorization"),
            expected,
            "{environment:?} {host}"
        );
        assert_eq!(login(&daemon), *from, "{environment:?} {host}");
    }
}

#[test]
fn the_client_goes_before_the_environment_and_that_before_gh() {
    let hub = Hub::new();
    hub.issue(7, &[]);
    hub.program("gh", "echo gho_fromgh");
    let daemon = hub.daemon();
    read(&daemon, "issue://7?comments=0");
    assert_eq!(login(&daemon), "gh");
    // A client that has none leaves it to the others.
    for (answer, token, from) in [
        (Value::Null, "Bearer ghp_env", "env"),
        (
            json!({ "token": "of-client", "account": "me" }),
            "Bearer of-client",
            "client",
        ),
    ] {
        let daemon = hub
            .builder(json!({}), &[("GH_TOKEN", "ghp_env")])
            .capabilities(offering())
            .start();
        let path = "issue://7?comments=0&fresh=1";
        let id = daemon.request("agent/read", json!({ "path": path }));
        let (question, _) = daemon.expect_request("agent/credential");
        daemon.respond(question, answer);
        daemon.wait(&id).expect("an issue");
        assert_eq!(hub.server.last().header("authorization"), token);
        assert_eq!(login(&daemon), from);
        // It is asked once.
        read(&daemon, path);
    }
}

/// Twenty who come at once: one process of `gh`, one question to the client, one more after a refusal.
#[test]
fn a_login_is_looked_for_once_for_all_who_wait() {
    let hub = Hub::new();
    for number in 1..=20 {
        hub.issue(number, &[]);
    }
    let started = hub.programs.path().join("started");
    let script = format!("echo x >> {}; echo gho_fromgh", started.display());
    hub.program("gh", &script);
    let all = |daemon: &Daemon| {
        let ids = (1..=20).map(|number| {
            let path = format!("issue://{number}?comments=0");
            daemon.request("agent/read", json!({ "path": path }))
        });
        ids.collect::<Vec<_>>()
    };
    let daemon = hub.daemon_with(json!({ "cache": { "enabled": false } }), &[]);
    for id in all(&daemon) {
        daemon.wait(&id).expect("an issue");
    }
    assert_eq!(fs::read_to_string(&started).expect("gh ran"), "x\n");

    for number in 1..=20 {
        let path = format!("/repos/octo/demo/issues/{number}");
        hub.answers.reply(&path, Reply::json("{}").status(401));
    }
    let daemon = hub
        .builder(json!({ "cache": { "enabled": false } }), &[])
        .capabilities(offering())
        .start();
    let ids = all(&daemon);
    for (reason, token) in [("missing", "one"), ("refused", "two")] {
        let (question, asked) = daemon.expect_request("agent/credential");
        assert_eq!(asked["reason"], reason);
        daemon.respond(question, json!({ "token": token }));
    }
    // A further question would be left over, and fail the test.
    for id in ids {
        assert_eq!(daemon.wait(&id).expect_err("refused").kind(), "denied");
    }
    let count = |token: &str| {
        let asked = hub.server.requests();
        let bearer = format!("Bearer {token}");
        asked
            .iter()
            .filter(|it| it.header("authorization") == bearer)
            .count()
    };
    assert_eq!((count("one"), count("two")), (20, 20));
}

/// Another login from one read to the next: what the one was shown is not the other's.
#[test]
fn a_login_that_changes_is_another_account() {
    let hub = Hub::new();
    hub.issue(7, &["private"]);
    let daemon = hub.builder(json!({}), &[]).capabilities(offering()).start();
    let ask = |path: &str, session: &str| {
        daemon.request("agent/read", json!({ "path": path, "session": session }))
    };
    let id = ask("issue://7", "one");
    let (question, _) = daemon.expect_request("agent/credential");
    daemon.respond(question, json!({ "token": "one" }));
    assert!(text(&daemon.wait(&id).expect("an issue")).contains("private"));
    assert!(read(&daemon, "issue://7").contains("private"));
    hub.answers.reply(ISSUE, Reply::json("{}").status(401));
    let id = ask("issue://7?fresh=1", "two");
    let Next::Request(question, asked) = daemon.answer_or_request(&id, "agent/credential") else {
        panic!("the row was shown to a login that is refused");
    };
    assert_eq!(asked["reason"], "refused");
    hub.answers.reply(ISSUE, Reply::json("{}").status(404));
    daemon.respond(question, json!({ "token": "two" }));
    assert_eq!(daemon.wait(&id).expect_err("not there").kind(), "notFound");
    // The row is there, and is not this login's.
    let id = ask("issue://7", "three");
    assert_eq!(daemon.wait(&id).expect_err("not there").kind(), "notFound");
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for_long() {
    let hub = Hub::new();
    hub.issue(7, &[]);
    let daemon = hub
        .builder(json!({}), &[("GH_TOKEN", "ghp_env")])
        .capabilities(offering())
        .start();
    let id = daemon.request("agent/read", json!({ "path": "issue://7" }));
    let (question, _) = daemon.expect_request("agent/credential");
    daemon.wait(&id).expect("an issue, by the environment's");
    assert_eq!(hub.server.last().header("authorization"), "Bearer ghp_env");
    daemon.expect_notification("$/cancelRequest");
    daemon.respond(question, Value::Null);
}

/// `gh` and `git` that hang: five seconds, and the read goes on without them or says so.
#[test]
fn programs_that_hang_are_ended() {
    let hub = Hub::new();
    hub.issue(7, &[]);
    hub.tree.write("a.txt", "a\n");
    let hangs = |name: &str| {
        let pid = hub.programs.path().join(format!("{name}.pid"));
        hub.program(
            name,
            &format!("echo $$ > {}; exec sleep 100", pid.display()),
        );
        pid
    };
    let (gh, git) = (hangs("gh"), hangs("git"));
    // Many hosts that are not known: `gh` is not waited for at each of them.
    let other = crate::tree::Tree::new();
    super::hub::git(other.path(), &["init", "-q"]);
    let many =
        (0..9).map(|at| format!("[remote \"r{at}\"]\n\turl = https://h{at}.example.com/o/d\n"));
    fs::write(other.join(".git/config"), many.collect::<String>()).expect("written");
    let real = std::env::var("PATH").unwrap_or_default();
    let only_gh = tempfile::tempdir().expect("a directory");
    fs::copy(hub.programs.path().join("gh"), only_gh.path().join("gh")).expect("copied");
    let path = format!("{}:{real}", only_gh.path().display());
    let mut settings = hub.settings(json!({}));
    settings["github"]["repo"] = Value::Null;
    let three = Daemon::builder()
        .root(other.path())
        .settings(settings)
        .env("PATH", &path)
        .env("XDG_CACHE_HOME", &only_gh.path().display().to_string())
        .start();
    let waits = three.request("agent/read", json!({ "path": "issue://7" }));
    let one = hub.daemon();
    let two = hub.daemon_with(json!({ "repo": null }), &[]);
    let id = one.request("agent/read", json!({ "path": "issue://7" }));
    let other = two.request("agent/read", json!({ "path": "issue://7" }));
    assert!(two.read_text(hub.tree.join("a.txt")).contains("1:a"));
    one.wait(&id).expect("what everybody may read");
    let error = two.wait(&other).expect_err("no repository");
    assert!(
        error.message.contains("git did not answer within 5 s"),
        "{}",
        error.message
    );
    let error = three.wait(&waits).expect_err("no repository");
    assert!(
        error.message.contains("r0 is at h0.example.com"),
        "{}",
        error.message
    );
    for pid in [gh, git] {
        let pid = fs::read_to_string(pid).expect("it was started");
        let pid: u32 = pid.trim().parse().expect("a number");
        until("it is ended", || crate::processes::is_gone(pid));
    }
}

const TOKENS: [(&str, &str); 5] = [
    ("MY_TOKEN", "ghp_canary_one"),
    ("GH_TOKEN", "ghp_canary_two"),
    ("GITHUB_TOKEN", "ghp_canary_three"),
    ("GH_ENTERPRISE_TOKEN", "ghp_canary_four"),
    ("GITHUB_ENTERPRISE_TOKEN", "ghp_canary_five"),
];

fn assert_no_token(text: &str, of: &str) {
    for secret in ["canary", "gho_of_gh", "of-the-client"] {
        assert!(!text.contains(secret), "{of}: {secret}\n{text}");
    }
}

fn files_below(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
}

/// Everything that anybody but the host may see: what children are given, the log with all that the
/// libraries say, answers, errors, the status, and every file that is written.
#[test]
fn a_token_is_seen_by_its_host_alone() {
    let hub = Hub::new();
    git(hub.tree.path(), &["init", "-q"]);
    let origin = "https://github.com/octo/demo";
    git(hub.tree.path(), &["remote", "add", "origin", origin]);
    hub.tree.write("a.rs", "fn main() {\n}\n".repeat(200));
    hub.issue(7, &["Confirmed."]);
    hub.answers
        .reply("/repos/octo/demo/issues/8", Reply::json("{}").status(401));
    let seen = hub.programs.path().join("seen");
    let look = format!(
        "tr '\\0' '\\n' < /proc/$$/environ >> {0}; tr '\\0' '\\n' < /proc/$$/cmdline >> {0}",
        seen.display()
    );
    hub.program("gh", &format!("{look}; echo gho_of_gh"));
    let rest = "PATH=${PATH#*:} exec git \"$@\"";
    hub.program("git", &format!("{look}; {rest}"));
    let hosts = json!({
        "github.com": { "api": hub.server.url(""), "tokenEnv": "MY_TOKEN" },
        "ghe.example.com": { "api": hub.server.url("") },
    });
    let settings = json!({ "repo": null, "hosts": hosts });
    let mut environment = TOKENS.to_vec();
    environment.push(("PILCROW_LOG", "trace"));
    let daemon = hub
        .builder(settings, &environment)
        .capabilities(offering())
        .start();
    let mut said = Vec::new();
    for path in [
        "issue://7",
        "issue://8",
        "issue://ghe.example.com/octo/demo/7",
        "issue://evil.example.com/octo/demo/7",
        "a.rs",
        "pr://",
    ] {
        let id = daemon.request("agent/read", json!({ "path": path }));
        let answer = loop {
            match daemon.answer_or_request(&id, "agent/credential") {
                Next::Answer(answer) => break answer,
                Next::Request(question, asked) => {
                    // The client has a login for one host.
                    let token = match asked["host"] == "ghe.example.com" {
                        true => json!({ "token": "of-the-client" }),
                        false => Value::Null,
                    };
                    daemon.respond(question, token);
                }
            }
        };
        said.push(format!("{answer:?}"));
    }
    said.push(
        daemon
            .call("agent/status", Value::Null)
            .expect("a status")
            .to_string(),
    );
    let sent: Vec<String> = hub
        .server
        .requests()
        .iter()
        .map(|it| it.header("authorization").to_owned())
        .collect();
    assert!(
        sent.contains(&"Bearer ghp_canary_one".to_owned()),
        "{sent:?}"
    );
    assert!(
        sent.contains(&"Bearer of-the-client".to_owned()),
        "{sent:?}"
    );
    assert_no_token(&said.join("\n"), "answers");
    let given = fs::read_to_string(&seen).expect("both ran");
    assert!(
        given.contains("remote\n-v") && given.contains("PATH="),
        "{given}"
    );
    assert_no_token(&given, "gh and git");
    let workers = children(daemon.pid());
    assert!(!workers.is_empty(), "a worker parses a.rs");
    for child in workers {
        for name in ["environ", "cmdline"] {
            let bytes = fs::read(format!("/proc/{child}/{name}")).unwrap_or_default();
            assert_no_token(&String::from_utf8_lossy(&bytes), name);
        }
    }
    let command = fs::read(format!("/proc/{}/cmdline", daemon.pid())).expect("it runs");
    assert_no_token(&String::from_utf8_lossy(&command), "the command line");
    let mut files = Vec::new();
    files_below(hub.cache.path(), &mut files);
    let is_logged = || {
        let mut files = Vec::new();
        files_below(daemon.state_dir(), &mut files);
        let has = |(_, bytes): &(String, Vec<u8>)| String::from_utf8_lossy(bytes).contains("TRACE");
        files.iter().any(has)
    };
    until("the log has what the libraries say", is_logged);
    let id = daemon.request("shutdown", Value::Null);
    daemon.wait(&id).expect("shut down");
    daemon.notify("exit", Value::Null);
    daemon.wait_exit(crate::client::HANG).expect("it ends");
    files_below(daemon.state_dir(), &mut files);
    assert!(files.len() >= 2, "the cache and a log");
    for (name, bytes) in files {
        assert_no_token(&String::from_utf8_lossy(&bytes), &name);
    }
}

/// Once a token is held no other process of the user may look at the daemon, and it writes no core; what it
/// does with its own entries in /proc still works.
#[cfg(target_os = "linux")]
#[test]
fn who_holds_a_token_writes_no_core() {
    use std::os::unix::fs::MetadataExt;
    let hub = Hub::new();
    hub.issue(7, &[]);
    hub.tree.write("a.rs", "fn main() {\n}\n".repeat(200));
    let book = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/document/authors.epub"
    );
    hub.tree.write("b.epub", fs::read(book).expect("a fixture"));
    for folder in [hub.tree.path(), hub.programs.path(), hub.cache.path()] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).expect("a mode");
    }
    let daemon = hub
        .builder(json!({}), &[("GH_TOKEN", "ghp_canary")])
        .ordinary_user()
        .start();
    // The system gives the entries of a process that may not be dumped to root.
    let owner = || {
        let entry = format!("/proc/{}/environ", daemon.pid());
        fs::metadata(entry).expect("it runs").uid()
    };
    let user = owner();
    assert_ne!(user, 0, "an ordinary user's");
    read(&daemon, "issue://7");
    assert_eq!(owner(), 0);
    assert!(read(&daemon, "a.rs").contains("1:fn main()"));
    read(&daemon, "b.epub");
    assert!(read(&daemon, "issue://7?fresh=1").contains("Issue #7"));
    let workers = children(daemon.pid());
    assert!(!workers.is_empty(), "workers are started as before");
}

/// A redirect of a page leads to an issue: it is fetched as what it is, a page, without a login.
#[test]
fn a_page_that_leads_to_an_issue_is_given_no_login() {
    use crate::web::proxy::Proxy;
    let hub = Hub::new();
    hub.issue(7, &["private"]);
    hub.answers.reply(
        "/away",
        Reply::redirect(302, "https://github.com/octo/demo/issues/7"),
    );
    let proxy = Proxy::to(hub.server.address());
    let mut settings = hub.settings(json!({}));
    settings["web"] = json!({ "proxy": format!("http://{}", proxy.address()) });
    let daemon = hub
        .builder(json!({}), &[("GH_TOKEN", "ghp_canary")])
        .settings(settings)
        .start();
    refused(&daemon, &hub.server.url("/away"));
    assert_eq!(hub.server.count(ISSUE), 0);
    let all = proxy.asked().join("\n");
    assert!(!all.contains("ghp_canary"), "{all}");
    for asked in hub.server.requests() {
        assert_eq!(asked.header("authorization"), "", "{asked:?}");
    }
    // By its own address it is one.
    let page = "https://github.com/octo/demo/issues/7";
    assert!(read(&daemon, page).contains("private"));
}
