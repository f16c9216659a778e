//! Pull requests in all their states, with long conversations and many checks.

use serde_json::{Value, json};

use super::hub::{Hub, comment, read, text, user};
use crate::web::server::Reply;

const BASE: &str = "/repos/octo/demo";

fn pull(change: Value) -> Value {
    let mut pull = json!({
        "number": 9, "title": "Fix", "state": "open", "draft": false, "merged": false,
        "user": user("alice"), "created_at": "2026-11-02T08:00:00Z", "updated_at": "2026-11-04T08:00:00Z",
        "html_url": "https://github.com/octo/demo/pull/9", "body": "Fixes #7.",
        "base": { "ref": "main" }, "head": { "ref": "fix", "label": "alice:fix", "sha": "1a2b3c4d5e6f" },
        "changed_files": 1, "additions": 2, "deletions": 1, "mergeable": true, "mergeable_state": "clean",
        "labels": [], "assignees": [], "requested_reviewers": [],
    });
    for (name, value) in change.as_object().expect("members") {
        pull[name] = value.clone();
    }
    pull
}

/// Answers a pull request about which nothing was said.
fn answer(hub: &Hub, pull: Value) {
    hub.answers.json(&format!("{BASE}/pulls/9"), pull);
    for rest in ["pulls/9/reviews", "pulls/9/comments", "issues/9/comments"] {
        hub.answers.json(&format!("{BASE}/{rest}"), json!([]));
    }
    let of_commit = format!("{BASE}/commits/1a2b3c4d5e6f");
    hub.answers.json(
        &format!("{of_commit}/check-runs"),
        json!({ "check_runs": [] }),
    );
    hub.answers
        .json(&format!("{of_commit}/status"), json!({ "statuses": [] }));
}

/// Answers a list in pages, each of which leads to the next.
fn pages(hub: &Hub, path: &str, pages: Vec<Value>) {
    let count = pages.len();
    for (at, page) in pages.into_iter().enumerate() {
        let mut reply = Reply::json(page.to_string());
        if at + 1 < count {
            let next = hub
                .server
                .url(&format!("{path}?per_page=100&page={}", at + 2));
            reply = reply.header("link", &format!("<{next}>; rel=\"next\""));
        }
        let query = match at {
            0 => "per_page=100".to_owned(),
            at => format!("per_page=100&page={}", at + 1),
        };
        hub.answers.reply(&format!("{path}?{query}"), reply);
    }
}

#[test]
fn every_state_has_its_words() {
    let cases = [
        (
            json!({}),
            "2:open; opened 2026-11-02 by @alice; updated 2026-11-04\n3:main ← alice:fix, head 1a2b3c4; 1 file, +2 -1: pr://octo/demo/9/diff\n4:review: none; mergeable: yes\n5:https://github.com/octo/demo/pull/9\n6:\n7:Fixes #7.",
        ),
        (json!({ "draft": true }), "2:open (draft); opened"),
        (
            json!({ "state": "closed", "merged": true, "merged_by": user("bob") }),
            "2:merged by @bob; opened",
        ),
        (
            json!({ "state": "closed", "merged": true, "mergeable": null }),
            "4:review: none; mergeable: merged\n",
        ),
        (
            json!({ "state": "closed", "locked": true }),
            "updated 2026-11-04; locked\n",
        ),
        (json!({ "mergeable": null }), "mergeable: unknown\n"),
        (
            json!({ "mergeable_state": "behind" }),
            "mergeable: yes, but behind its base\n",
        ),
        (
            json!({ "mergeable_state": "blocked" }),
            "mergeable: yes, but blocked\n",
        ),
        (
            json!({ "requested_reviewers": [user("dave")] }),
            "4:review: requested of @dave; mergeable",
        ),
        // The fork and its owner are gone.
        (
            json!({ "user": null, "head": { "ref": "fix", "label": null, "sha": "1a2b3c4d5e6f", "repo": null } }),
            "by @ghost; updated 2026-11-04\n3:main ← fix, head 1a2b3c4;",
        ),
        (
            json!({ "body": null }),
            "5:https://github.com/octo/demo/pull/9",
        ),
    ];
    for (change, expected) in cases {
        let hub = Hub::new();
        answer(&hub, pull(change));
        let shown = read(&hub.daemon(), "pr://9");
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
}

#[test]
fn reviews_and_remarks_stand_in_the_order_of_time() {
    let hub = Hub::new();
    answer(&hub, pull(json!({})));
    let at = |hour: u64| format!("2026-11-03T{hour:02}:00:00Z");
    let review = |id: u64, who: &str, state: &str, body: &str, hour: u64| json!({ "id": id, "user": user(who), "state": state, "body": body, "submitted_at": at(hour) });
    let remark = |id: u64, review: u64, answers: Option<u64>, body: &str, hour: u64| {
        json!({ "id": id, "pull_request_review_id": review, "in_reply_to_id": answers, "path": "a.rs", "line": 3,
            "side": "RIGHT", "user": user("bob"), "created_at": at(hour), "body": body, "diff_hunk": "@@ -3 +3 @@\n+<!-- x -->\u{202e}y" })
    };
    hub.answers.json(
        &format!("{BASE}/pulls/9/reviews"),
        json!([
            review(1, "bob", "CHANGES_REQUESTED", "no", 9),
            review(2, "carol", "DISMISSED", "", 10),
            // It is there for its reply alone.
            review(3, "alice", "COMMENTED", "", 11),
            review(4, "bob", "APPROVED", "yes", 15),
            review(5, "bob", "COMMENTED", "and thanks", 16),
        ]),
    );
    hub.answers.json(
        &format!("{BASE}/pulls/9/comments"),
        json!([
            remark(11, 1, None, "why", 9),
            remark(12, 3, Some(11), "because", 11),
            // Of a review that is gone, and a reply to what is gone.
            remark(13, 77, None, "loose", 13),
            remark(14, 78, Some(99), "reply to nothing", 14),
        ]),
    );
    let said = |body: &str, hour: u64| {
        let mut said = comment(body);
        said["created_at"] = json!(at(hour));
        said["updated_at"] = json!(at(hour));
        said["author_association"] = json!("FIRST_TIME_CONTRIBUTOR");
        said
    };
    hub.answers.json(
        &format!("{BASE}/issues/9/comments"),
        json!([said("early", 8), said("late", 12)]),
    );
    let shown = read(&hub.daemon(), "pr://9");
    let rows = shown.lines().skip(1);
    let rows = rows.take_while(|line| !line.starts_with('['));
    let bare: Vec<&str> = rows
        .filter_map(|line| line.split_once(':'))
        .map(|(_, line)| line)
        .filter(|line| !line.is_empty())
        .skip(6)
        .collect();
    let expected = [
        "--- comment 1 of 2: @bob (first-time-contributor), 2026-11-03 08:00 ---",
        "early",
        "--- review: @bob, 2026-11-03 09:00, changes requested ---",
        "no",
        "--- a.rs:3, @bob, 2026-11-03 09:00 ---",
        "| @@ -3 +3 @@",
        "| +<!-- x -->y",
        "why",
        "--- a.rs:3, @bob, 2026-11-03 11:00 ---",
        "because",
        "--- review: @carol, 2026-11-03 10:00, dismissed ---",
        "--- comment 2 of 2: @bob (first-time-contributor), 2026-11-03 12:00 ---",
        "late",
        "--- a.rs:3, @bob, 2026-11-03 13:00 ---",
        "| @@ -3 +3 @@",
        "| +<!-- x -->y",
        "loose",
        "--- a.rs:3, @bob, 2026-11-03 14:00 ---",
        "| @@ -3 +3 @@",
        "| +<!-- x -->y",
        "reply to nothing",
        "--- review: @bob, 2026-11-03 15:00, approved ---",
        "yes",
        "--- review: @bob, 2026-11-03 16:00, commented ---",
        "and thanks",
    ];
    assert_eq!(bare, expected, "{shown}");
    // The last word of each: a comment takes none back.
    let line = "4:review: approved by @bob, dismissed of @carol; mergeable: yes\n";
    assert!(shown.contains(line), "{shown}");
    assert!(
        shown.contains("[3 invisible characters left out; :raw has them]"),
        "{shown}"
    );
}

#[test]
fn long_lists_come_from_all_their_pages() {
    let hub = Hub::new();
    answer(&hub, pull(json!({})));
    let many = |of: &dyn Fn(usize) -> Value, pages: usize| -> Vec<Value> {
        let page = |page: usize| (0..100).map(|at| of(page * 100 + at)).collect::<Vec<_>>();
        (0..pages).map(|at| json!(page(at))).collect()
    };
    let review = |at: usize| json!({ "id": at, "user": user("bob"), "state": "COMMENTED", "body": format!("review {at}"), "submitted_at": "2026-11-03T09:00:00Z" });
    pages(&hub, &format!("{BASE}/pulls/9/reviews"), many(&review, 2));
    let remark = |at: usize| json!({ "id": 1000 + at, "pull_request_review_id": 0, "path": "a.rs", "line": 3, "user": user("bob"), "created_at": "2026-11-03T09:00:00Z", "body": format!("remark {at}"), "diff_hunk": "@@" });
    pages(&hub, &format!("{BASE}/pulls/9/comments"), many(&remark, 3));
    let said = |at: usize| comment(&format!("said {at}"));
    pages(&hub, &format!("{BASE}/issues/9/comments"), many(&said, 11));
    let run = |at: usize| {
        let conclusion = if at == 150 { "timed_out" } else { "success" };
        json!({ "name": format!("run {at}"), "status": "completed", "conclusion": conclusion })
    };
    let runs = many(&run, 2)
        .into_iter()
        .map(|runs| json!({ "check_runs": runs }));
    pages(
        &hub,
        &format!("{BASE}/commits/1a2b3c4d5e6f/check-runs"),
        runs.collect(),
    );
    let daemon = hub.daemon();
    let shown: String = (0..12)
        .map_while(|at| {
            let params =
                json!({ "path": format!("pr://9:{}-{}:raw", 500 * at + 1, 500 * at + 500) });
            Some(text(&daemon.read_with(params).ok()?))
        })
        .collect();
    assert!(
        shown.contains("checks: 199 passed, 1 failed\n  failed: run 150 (timed out)\n"),
        "{}",
        &shown[..500]
    );
    for expected in [
        "review 199\n",
        "remark 299\n",
        "said 999\n",
        "comment 1000 of 1000",
    ] {
        assert!(shown.contains(expected), "{expected}");
    }
    assert!(!shown.contains("said 1000"));
    let footer =
        "[There are more comments than the first 1000: https://github.com/octo/demo/pull/9]";
    let end = read(&daemon, "pr://9:-2");
    assert!(end.contains(footer), "{end}");
    let bare = read(&daemon, "pr://9?comments=0");
    assert!(bare.trim_end().ends_with("Fixes #7."), "{bare}");
}
