//! Which repository the short form means: real repositories of git's, with all that their configuration may hold.

use std::path::Path;

use serde_json::{Value, json};

use super::hub::{Hub, git, read, refused};
use crate::client::Daemon;
use crate::tree::Tree;
use crate::web::proxy::Proxy;

/// A repository in the workspace, and a daemon whose settings name none.
fn workspace(hub: &Hub, remotes: &[(&str, &str)]) {
    git(hub.tree.path(), &["init", "-q"]);
    for (name, url) in remotes {
        git(hub.tree.path(), &["remote", "add", name, url]);
    }
}

fn no_repo() -> Value {
    json!({ "repo": null })
}

/// The address under which the short form is known.
fn meant(hub: &Hub, environment: &[(&str, &str)]) -> String {
    let daemon = hub.daemon_with(no_repo(), environment);
    let result = daemon.read("issue://7?comments=0").expect("an issue");
    let source = result["details"]["meta"]["source"]
        .as_str()
        .expect("a source");
    source.replace("?comments=0", "")
}

fn answer(hub: &Hub, repository: &str) {
    let path = format!("/repos/{repository}/issues/7");
    hub.answers.json(&path, super::hub::issue(7));
}

/// Remotes by name, what else git is told, and the repository that is meant.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a str);

#[test]
fn remotes_are_chosen_as_gh_chooses() {
    let cases: &[Case] = &[
        (
            &[("origin", "git@github.com:octo/demo.git")],
            &[],
            "octo/demo",
        ),
        (
            &[("origin", "ssh://git@ssh.github.com:443/octo/demo.git")],
            &[],
            "octo/demo",
        ),
        (
            &[("origin", "https://github.com/octo/demo")],
            &[],
            "octo/demo",
        ),
        (
            &[
                ("mine", "https://github.com/me/demo"),
                ("origin", "https://github.com/octo/demo"),
                ("upstream", "git://github.com/up/demo.git"),
            ],
            &[],
            "up/demo",
        ),
        (
            &[
                ("origin", "https://github.com/octo/demo"),
                ("upstream", "https://github.com/up/demo"),
            ],
            &["config", "remote.origin.gh-resolved", "base"],
            "octo/demo",
        ),
        (
            &[("origin", "https://github.com/octo/demo")],
            &["config", "remote.origin.gh-resolved", "base/demo"],
            "base/demo",
        ),
        (
            &[("origin", "hub:octo/demo")],
            &["config", "url.https://github.com/.insteadOf", "hub:"],
            "octo/demo",
        ),
        (
            &[
                ("upstream", "https://gitlab.com/x/y"),
                ("origin", "https://github.com/octo/demo"),
            ],
            &[],
            "octo/demo",
        ),
    ];
    for (remotes, configured, expected) in cases {
        let hub = Hub::new();
        workspace(&hub, remotes);
        if !configured.is_empty() {
            git(hub.tree.path(), configured);
        }
        answer(&hub, expected);
        assert_eq!(
            meant(&hub, &[]),
            format!("issue://{expected}/7"),
            "{remotes:?}"
        );
    }
}

#[test]
fn what_the_user_names_goes_before_remotes() {
    let hub = Hub::new();
    workspace(&hub, &[("origin", "https://github.com/octo/demo")]);
    answer(&hub, "env/named");
    assert_eq!(
        meant(&hub, &[("GH_REPO", "env/named")]),
        "issue://env/named/7"
    );
}

#[test]
fn where_none_is_known_the_reason_is_said() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("origin", "https://gitlab.com/x/y.git")],
            "origin is at gitlab.com",
        ),
        (&[("origin", "work:octo/demo.git")], "origin is at work"),
        (&[], "the workspace's repository has no remote"),
    ];
    for (remotes, why) in cases {
        let hub = Hub::new();
        workspace(&hub, remotes);
        let daemon = hub.daemon_with(no_repo(), &[]);
        let error = refused(&daemon, "issue://7");
        assert_eq!(error.kind(), "notFound");
        let expected =
            format!("No GitHub repository is known here: {why}. Use issue://OWNER/NAME/7.");
        assert_eq!(error.message, expected);
        assert_eq!(hub.server.requests().len(), 0);
    }
    let hub = Hub::new();
    let daemon = hub.daemon_with(no_repo(), &[]);
    let error = refused(&daemon, "pr://");
    assert!(
        error
            .message
            .contains("no repository of git's. Use pr://OWNER/NAME."),
        "{}",
        error.message
    );
}

/// A host that only the workspace names is not asked, whatever tokens the environment has; `gh` is asked
/// about it without them.
#[test]
fn no_host_is_asked_that_only_the_workspace_names() {
    let hub = Hub::new();
    workspace(&hub, &[("origin", "https://evil.example.com/octo/demo")]);
    let log = hub.programs.path().join("gh.log");
    // As gh does: with a token in its environment it answers for any host.
    let script = format!(
        "echo \"$@\" >> {0}\nenv | grep -c ghp_ >> {0}\nif [ -n \"$GH_TOKEN$GH_ENTERPRISE_TOKEN\" ]; then echo leaked; exit 0; fi\nexit 1",
        log.display()
    );
    hub.program("gh", &script);
    let tokens = [
        ("GH_TOKEN", "ghp_canary"),
        ("GH_ENTERPRISE_TOKEN", "ghp_canary2"),
    ];
    let daemon = hub.daemon_with(no_repo(), &tokens);
    let error = refused(&daemon, "issue://7");
    assert!(
        error.message.contains("origin is at evil.example.com"),
        "{}",
        error.message
    );
    let error = refused(&daemon, "issue://evil.example.com/octo/demo/7");
    assert_eq!(error.kind(), "denied");
    let said = std::fs::read_to_string(&log).expect("gh was asked");
    assert_eq!(said, "auth token --hostname evil.example.com\n0\n");
    assert_eq!(hub.server.requests().len(), 0);
}

#[test]
fn gh_gives_the_login_and_makes_a_host_known() {
    let hub = Hub::new();
    hub.program(
        "gh",
        "[ \"$4\" = ghe.example.com ] && echo gho_fromgh && exit 0; exit 1",
    );
    let api = hub.server.url("/api/v3");
    let hosts = json!({ "GHE.example.com": { "api": api } });
    hub.answers
        .json("/api/v3/repos/octo/demo/issues/7", super::hub::issue(7));
    let daemon = hub.daemon_with(json!({ "repo": null, "hosts": hosts }), &[]);
    read(&daemon, "issue://ghe.example.com/octo/demo/7?comments=0");
    assert_eq!(
        hub.server.last().header("authorization"),
        "Bearer gho_fromgh"
    );
    let status = daemon.call("agent/status", Value::Null).expect("a status");
    assert_eq!(status["github"]["hosts"][0]["login"], "gh");
}

/// Neither command of git's runs what the repository's own configuration names.
#[test]
fn a_hostile_configuration_runs_nothing() {
    let hub = Hub::new();
    workspace(&hub, &[("origin", "https://github.com/octo/demo")]);
    let canary = hub.programs.path().join("canary");
    let run = format!("touch {}", canary.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.hooksPath",
        "core.askPass",
        "credential.helper",
        "diff.external",
        "alias.remote",
        "alias.config",
        "pager.remote",
        "pager.config",
        "filter.x.clean",
        "remote.origin.uploadpack",
        "remote.origin.vcs",
        "gpg.program",
    ] {
        git(hub.tree.path(), &["config", key, &format!("!{run}")]);
        git(hub.tree.path(), &["config", "--add", key, &run]);
    }
    answer(&hub, "octo/demo");
    assert_eq!(meant(&hub, &[]), "issue://octo/demo/7");
    assert!(!Path::new(&canary).exists());
}

/// What asks anything but this machine goes through a proxy that records it.
fn behind(hub: &Hub, proxy: &Proxy, github: Value, environment: &[(&str, &str)]) -> Daemon {
    let mut settings = json!({ "github": github });
    settings["web"] = json!({ "proxy": format!("http://{}", proxy.address()) });
    hub.builder(json!({}), environment)
        .settings(settings)
        .start()
}

/// Whatever a workspace names, and however: nothing is asked, and no login goes anywhere.
#[test]
fn what_only_the_workspace_names_is_asked_for_nothing() {
    let cases: &[&[&[&str]]] = &[
        &[&[
            "remote",
            "add",
            "origin",
            "https://evil.example.com/octo/demo",
        ]],
        &[
            &["remote", "add", "origin", "https://github.com/octo/demo"],
            &[
                "config",
                "url.https://evil.example.com/.insteadOf",
                "https://github.com/",
            ],
        ],
        &[
            &[
                "remote",
                "add",
                "origin",
                "https://evil.example.com/octo/demo",
            ],
            &["config", "remote.origin.gh-resolved", "base"],
        ],
        &[
            &["remote", "add", "origin", "git@evil.example.com:octo/demo"],
            &[
                "config",
                "remote.origin.gh-resolved",
                "github.com/octo/demo",
            ],
        ],
        &[&[
            "remote",
            "add",
            "origin",
            "https://github.com@evil.example.com/octo/demo",
        ]],
        &[&[
            "remote",
            "add",
            "origin",
            "https://github.com.evil.example.com/octo/demo",
        ]],
        &[&[
            "remote",
            "add",
            "origin",
            "https://github.com:x@evil.example.com:443/octo/demo",
        ]],
        &[&["remote", "add", "origin", "https://github.com/../../evil"]],
        &[&[
            "remote",
            "add",
            "origin",
            "https://github.com/octo/demo?x=y",
        ]],
        &[&[
            "remote",
            "add",
            "origin",
            "https://github.com\\@evil.example.com/octo/demo",
        ]],
        &[&["remote", "add", "origin", "ext::sh -c 'touch canary'"]],
    ];
    let tokens = [
        ("GH_TOKEN", "ghp_canary"),
        ("GH_ENTERPRISE_TOKEN", "ghp_canary"),
    ];
    for case in cases {
        let hub = Hub::new();
        git(hub.tree.path(), &["init", "-q"]);
        for arguments in *case {
            git(hub.tree.path(), arguments);
        }
        let proxy = Proxy::to(hub.server.address());
        let daemon = behind(&hub, &proxy, json!({}), &tokens);
        for path in ["issue://7", "pr://", "pr://7/diff"] {
            let error = refused(&daemon, path);
            assert_eq!(error.kind(), "notFound", "{case:?}: {error:?}");
        }
        assert!(proxy.asked().is_empty(), "{case:?}: {:?}", proxy.asked());
        assert!(hub.server.requests().is_empty(), "{case:?}");
        assert!(!hub.tree.path().join("canary").exists());
    }
}

/// A host, the environment, and the authority that is asked.
type Interface<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

/// Where the interface of a host is that the settings do not say it of.
#[test]
fn known_hosts_are_asked_at_their_own_interface() {
    let cases: &[Interface] = &[
        ("github.com", &[], "api.github.com:443"),
        (
            "ghe.example.com",
            &[("GH_HOST", "ghe.example.com")],
            "ghe.example.com:443",
        ),
        (
            "octo.ghe.com",
            &[("GH_HOST", "octo.ghe.com")],
            "api.octo.ghe.com:443",
        ),
        // `gh` has a login for it.
        ("logged.example.com", &[], "logged.example.com:443"),
    ];
    for (host, environment, expected) in cases {
        let hub = Hub::new();
        workspace(&hub, &[("origin", &format!("git@{host}:octo/demo.git"))]);
        hub.program(
            "gh",
            "[ \"$4\" = logged.example.com ] && echo gho_x && exit 0; exit 1",
        );
        let proxy = Proxy::to(hub.server.address());
        let daemon = behind(&hub, &proxy, json!({}), environment);
        assert_eq!(refused(&daemon, "issue://7?comments=0").kind(), "network");
        let asked = proxy.asked();
        let line = format!("CONNECT {expected} HTTP/1.1\r\n");
        assert!(asked.iter().all(|it| it.starts_with(&line)), "{asked:?}");
        assert_eq!(asked.len(), 1, "{asked:?}");
    }
}

#[test]
fn the_first_root_with_a_known_remote_is_meant() {
    let hub = Hub::new();
    let other = Tree::new();
    workspace(&hub, &[("origin", "https://gitlab.com/x/y")]);
    git(other.path(), &["init", "-q"]);
    git(
        other.path(),
        &["remote", "add", "origin", "git@github.com:octo/other.git"],
    );
    answer(&hub, "octo/other");
    let daemon = hub.builder(no_repo(), &[]).root(other.path()).start();
    let result = daemon.read("issue://7?comments=0").expect("an issue");
    assert_eq!(
        result["details"]["meta"]["source"],
        "issue://octo/other/7?comments=0"
    );
}

/// A submodule, a linked work tree, a folder below the root of its repository: git knows.
#[test]
fn git_finds_the_repository_of_any_folder() {
    let hub = Hub::new();
    workspace(&hub, &[("origin", "https://github.com/octo/demo")]);
    hub.tree.write("sub/a.txt", "a\n");
    git(hub.tree.path(), &["add", "-A"]);
    git(hub.tree.path(), &["commit", "-q", "-m", "a"]);
    git(hub.tree.path(), &["worktree", "add", "-q", "linked"]);
    answer(&hub, "octo/demo");
    for folder in ["sub", "linked"] {
        let mut settings = hub.settings(json!({}));
        settings["github"]["repo"] = Value::Null;
        let path = std::env::var("PATH").unwrap_or_default();
        let daemon = Daemon::builder()
            .root(hub.tree.join(folder))
            .settings(settings)
            .env("PATH", &format!("{}:{path}", hub.programs.path().display()))
            .env("XDG_CACHE_HOME", &hub.cache.path().display().to_string())
            .start();
        let result = daemon.read("issue://7?comments=0").expect("an issue");
        assert_eq!(
            result["details"]["meta"]["source"],
            "issue://octo/demo/7?comments=0"
        );
    }
}

/// What git said is good for a minute, and one that is not there is said to be missing.
#[test]
fn git_is_asked_once_and_need_not_be_there() {
    let hub = Hub::new();
    workspace(&hub, &[("origin", "https://github.com/octo/demo")]);
    answer(&hub, "octo/demo");
    let log = hub.programs.path().join("git.log");
    let script = format!(
        "echo \"$3\" >> {}; PATH=${{PATH#*:}} exec git \"$@\"",
        log.display()
    );
    hub.program("git", &script);
    let daemon = hub.daemon_with(no_repo(), &[]);
    for _ in 0..3 {
        read(&daemon, "issue://7?comments=0");
    }
    let asked = std::fs::read_to_string(&log).expect("git ran");
    let mut asked: Vec<&str> = asked.lines().collect();
    asked.sort_unstable();
    assert_eq!(asked, ["config", "remote"]);

    let programs = hub.programs.path().display().to_string();
    std::fs::remove_file(hub.programs.path().join("git")).expect("gone");
    let daemon = hub.builder(no_repo(), &[]).env("PATH", &programs).start();
    let error = refused(&daemon, "issue://7");
    assert!(
        error.message.contains("git is not installed"),
        "{}",
        error.message
    );
}

/// A configuration with no end of remotes is given up, and one whose remotes are at many hosts is judged.
#[test]
fn a_repository_with_many_remotes_is_no_burden() {
    let hub = Hub::new();
    git(hub.tree.path(), &["init", "-q"]);
    let config = hub.tree.join(".git/config");
    let plain = std::fs::read_to_string(&config).expect("a configuration");
    let remote =
        |at: usize| format!("[remote \"r{at:05}\"]\n\turl = https://h{at}.example.com/octo/demo\n");
    let many = |count: usize| plain.clone() + &(0..count).map(remote).collect::<String>();
    let log = hub.programs.path().join("gh.log");
    hub.program("gh", &format!("echo \"$4\" >> {}; exit 1", log.display()));
    std::fs::write(&config, many(200)).expect("written");
    let error = refused(&hub.daemon_with(no_repo(), &[]), "issue://7");
    assert!(
        error.message.contains("r00000 is at h0.example.com"),
        "{}",
        error.message
    );
    let asked = std::fs::read_to_string(&log).expect("gh was asked");
    assert_eq!(asked.lines().count(), 32);
    std::fs::write(&config, many(20_000)).expect("written");
    let error = refused(&hub.daemon_with(no_repo(), &[]), "issue://7");
    assert!(
        error
            .message
            .contains("git lists more than is looked through"),
        "{}",
        error.message
    );
}
