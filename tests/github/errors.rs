//! What GitHub refuses, in words that say what to do; and where a login never goes.

use serde_json::json;

use super::hub::{Hub, comment, issue, read, refused};
use crate::client::Next;
use crate::web::server::{Reply, Server};

const ISSUE: &str = "/repos/octo/demo/issues/7";

fn said(status: u16, message: &str) -> Reply {
    Reply::json(json!({ "message": message }).to_string()).status(status)
}

#[test]
fn a_refused_login_says_how_to_log_in() {
    let hub = Hub::new();
    hub.answers.reply(ISSUE, said(401, "Bad credentials"));
    let daemon = hub.daemon_with(json!({}), &[("GITHUB_TOKEN", "ghp_canary")]);
    let error = refused(&daemon, "issue://7");
    assert_eq!(error.kind(), "denied");
    assert_eq!(
        error.message,
        "GitHub refused the login for github.com. Run: gh auth login --hostname github.com (or set GITHUB_TOKEN for the daemon)."
    );
    let data = &error.data;
    assert_eq!(data["command"], "gh auth login --hostname github.com");
    assert!(!data.to_string().contains("ghp_canary"));
}

#[test]
fn what_is_not_there_may_be_hidden() {
    let hub = Hub::new();
    let daemon = hub.daemon();
    let error = refused(&daemon, "issue://7");
    assert_eq!(error.kind(), "notFound");
    assert!(
        error
            .message
            .contains("octo/demo has no issue 7, or a login is needed"),
        "{}",
        error.message
    );
    assert_eq!(error.data["command"], "gh auth login --hostname github.com");
    let daemon = hub.daemon_with(json!({}), &[("GH_TOKEN", "ghp_canary")]);
    let error = refused(&daemon, "issue://7");
    assert_eq!(
        error.message,
        "octo/demo has no issue 7, or this login may not see it."
    );
}

#[test]
fn limits_are_heeded_for_the_whole_host() {
    let hub = Hub::new();
    hub.answers
        .reply(ISSUE, said(429, "slow down").header("retry-after", "30"));
    let daemon = hub.daemon();
    let error = refused(&daemon, "issue://7?comments=0");
    assert_eq!(error.kind(), "busy");
    let wait = error.data["retryAfterMs"].as_u64().expect("a wait");
    assert!((1..=30_000).contains(&wait), "{wait}");
    let before = hub.server.requests().len();
    assert_eq!(refused(&daemon, "issue://8").kind(), "busy");
    assert_eq!(hub.server.requests().len(), before);
}

#[test]
fn a_confirmation_that_an_organisation_wants_is_named() {
    let hub = Hub::new();
    let url = "https://github.com/orgs/octo/sso?x=1";
    hub.answers.reply(
        ISSUE,
        said(403, "SSO").header("x-github-sso", &format!("required; url={url}")),
    );
    let daemon = hub.daemon();
    let error = refused(&daemon, "issue://7");
    assert_eq!(error.kind(), "denied");
    assert!(error.message.contains(url), "{}", error.message);
}

/// Neither a redirect nor a `Link` takes a login to another host.
#[test]
fn a_login_goes_to_its_host_alone() {
    let other = Server::new().otherwise(|_| Reply::json("[]")).start();
    let hub = Hub::new();
    hub.answers.reply(
        ISSUE,
        Reply::redirect(301, &other.url("/repos/octo/demo/issues/7")),
    );
    hub.answers.json("/repos/octo/demo/issues/8", issue(8));
    let link = format!(
        "<{}>; rel=\"next\"",
        other.url("/repos/octo/demo/issues/8/comments?page=2")
    );
    let reply = Reply::json(json!([comment("first")]).to_string()).header("link", &link);
    hub.answers
        .reply("/repos/octo/demo/issues/8/comments", reply);
    hub.answers.reply(
        "/repos/octo/demo/issues/6",
        Reply::redirect(301, "/repositories/1/issues/6"),
    );
    hub.answers.json("/repositories/1/issues/6", issue(6));
    let daemon = hub.daemon_with(json!({}), &[("GH_TOKEN", "ghp_canary")]);
    assert_eq!(refused(&daemon, "issue://7").kind(), "network");
    // Where it would go on elsewhere, that is said.
    let shown = read(&daemon, "issue://8");
    let footer =
        "[There are more comments than the first 1: https://github.com/octo/demo/issues/8]";
    assert!(shown.contains(footer), "{shown}");
    assert!(read(&daemon, "issue://6?comments=0").contains("Issue #6"));
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn the_client_has_logins_and_is_asked_again_after_a_refusal() {
    let hub = Hub::new();
    hub.answers.reply(ISSUE, said(401, "Bad credentials"));
    hub.issue(8, &[]);
    let capabilities = json!({ "experimental": { "pilcrow": { "credentials": ["github"] } } });
    let daemon = hub
        .builder(json!({}), &[("GH_TOKEN", "ghp_other")])
        .capabilities(capabilities)
        .start();
    let id = daemon.request("agent/read", json!({ "path": "issue://7" }));
    for (reason, token) in [("missing", "one"), ("refused", "two")] {
        let Next::Request(question, params) = daemon.answer_or_request(&id, "agent/credential")
        else {
            panic!("an answer before a login");
        };
        assert_eq!(
            params,
            json!({ "service": "github", "host": "github.com", "reason": reason })
        );
        daemon.respond(question, json!({ "token": token }));
    }
    assert_eq!(daemon.wait(&id).expect_err("refused").kind(), "denied");
    let asked = hub.server.requests();
    let sent: Vec<&str> = asked
        .iter()
        .filter(|it| it.path == ISSUE)
        .map(|it| it.header("authorization"))
        .collect();
    assert_eq!(sent, ["Bearer one", "Bearer two"]);
}

#[test]
fn a_dead_host_is_an_error_of_the_network() {
    let hub = Hub::new();
    let closed = Server::new().start().url("");
    let hosts = json!({ "github.com": { "api": closed } });
    let daemon = hub.daemon_with(json!({ "hosts": hosts }), &[]);
    assert_eq!(refused(&daemon, "issue://7").kind(), "network");
    let plain = json!({ "github.com": { "api": "http://ghe.example.com" } });
    let daemon = hub.daemon_with(json!({ "hosts": plain }), &[]);
    assert!(refused(&daemon, "issue://7").message.contains("https"));
    let daemon = hub.daemon_with(json!({ "enabled": false }), &[]);
    assert_eq!(refused(&daemon, "issue://7").kind(), "unsupported");
}
