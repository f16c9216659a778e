//! Whose lines count as seen, and what a session is told of changes by others.

use serde_json::{Value, json};

use crate::tree::{Tree, numbered_lines};

use super::{McpProcess, tag_in, text};

fn session(name: &str) -> Value {
    json!({ "pilcrow/session": name })
}

fn read(server: &McpProcess, path: &str, meta: Value) -> String {
    text(&server.call_with("read", json!({ "path": path }), meta))
}

#[test]
fn what_one_session_was_shown_is_not_anothers() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n");
    let server = McpProcess::start(tree.path());
    let tag = tag_in(&read(&server, "a.txt", session("a")));
    let patch = json!({ "patch": format!("¶a.txt#{tag}\nreplace 1:\n+1\n") });
    let refused = server.call_with("edit", patch.clone(), json!({ "threadId": "b" }));
    assert!(text(&refused).contains("never shown to you"), "{refused}");
    let made = server.call_with("edit", patch, session("a"));
    assert_eq!(made["isError"], false, "{made}");
    // Without a name all are one, and what is no name is none.
    let tag = tag_in(&read(&server, "a.txt", json!({ "pilcrow/session": 5 })));
    server.text(
        "edit",
        json!({ "patch": format!("¶a.txt#{tag}\nreplace 2:\n+2\n") }),
    );
}

#[test]
fn an_old_tag_is_answered_with_the_live_lines() {
    let tree = Tree::new().file("a.txt", "one\n");
    let tag = McpProcess::start(tree.path()).tag("a.txt");
    tree.write("a.txt", "one\ntwo\n");
    let server = McpProcess::start(tree.path());
    let patch = |tag: &str| json!({ "patch": format!("¶a.txt#{tag}\nreplace 1:\n+1\n") });
    let refused = server.error("edit", patch(&tag));
    assert!(refused.contains("\n1:one\n2:two"), "{refused}");
    server.text("edit", patch(&tag_in(&refused)));
}

/// Reads another file until an answer tells of a change.
fn told(server: &McpProcess, path: &str, meta: Value) -> String {
    let deadline = std::time::Instant::now() + crate::client::HANG;
    loop {
        let said = read(server, path, meta.clone());
        if said.contains(" after you read it") {
            return said;
        }
        assert!(std::time::Instant::now() < deadline, "{said}");
        std::thread::yield_now();
    }
}

#[test]
fn a_change_by_others_is_told_once_with_the_next_answer() {
    let tree = Tree::new()
        .file("a.txt", numbered_lines(1, 20))
        .file("b.txt", "b\n");
    let server = McpProcess::start(tree.path());
    read(&server, "a.txt", session("a"));
    read(&server, "a.txt", session("b"));
    let changed = numbered_lines(1, 20).replace("line 7\n", "line seven\n");
    tree.replace("a.txt", changed);
    let said = told(&server, "b.txt", session("a"));
    let (_, notice) = said.split_once("\n\n").expect("a blank line");
    assert!(
        notice.starts_with(
            "[a.txt changed after you read it: line 7, by another program. Its tag is now "
        ),
        "{said}"
    );
    assert!(!read(&server, "b.txt", session("a")).contains("after you read it"));
    // What an answer shows itself needs no word.
    assert!(!read(&server, "a.txt", session("b")).contains("after you read it"));
    assert!(!read(&server, "b.txt", session("b")).contains("after you read it"));
}

#[test]
fn an_edit_is_news_to_others_and_not_to_who_made_it() {
    let tree = Tree::new().file("a.txt", "one\ntwo\n").file("b.txt", "b\n");
    let server = McpProcess::start(tree.path());
    read(&server, "a.txt", session("a"));
    let tag = tag_in(&read(&server, "a.txt", session("b")));
    let patch = json!({ "patch": format!("¶a.txt#{tag}\nreplace 1:\n+1\n") });
    let made = text(&server.call_with("edit", patch, session("b")));
    let said = told(&server, "b.txt", session("a"));
    let tag = tag_in(&made);
    assert!(
        said.ends_with(&format!(
            "\n\n[a.txt changed after you read it: line 1, by another agent. Its tag is now {tag}.]"
        )),
        "{said}"
    );
    assert!(!read(&server, "b.txt", session("b")).contains("after you read it"));
}

/// What is told stands within the cap of the answer that it ends.
#[test]
fn three_changes_are_named_and_the_others_counted() {
    let mut tree = Tree::new().file("wide.txt", format!("{}\n", "w".repeat(90)).repeat(900));
    let name = |n: usize| format!("{}/{n}.txt", ["a_long_name"; 9].join("/"));
    for number in 0..6 {
        tree = tree.file(&name(number), "one\n");
    }
    let server = McpProcess::start(tree.path());
    let mut tags = Vec::new();
    for number in 0..6 {
        for reading in ["a", "b", "c"] {
            let shown = read(&server, &name(number), session(reading));
            tags.push(tag_in(&shown));
        }
    }
    for (number, tag) in tags.iter().step_by(3).enumerate() {
        let patch = json!({ "patch": format!("¶{}#{tag}\nreplace 1:\n+1\n", name(number)) });
        let made = server.call_with("edit", patch, session("b"));
        assert_eq!(made["isError"], false, "{made}");
    }
    // Once one of them knows of all, so does the other.
    let mut known = 0;
    while known < 6 {
        let said = told(&server, "wide.txt:1-1", session("c"));
        let (_, notices) = said.rsplit_once("\n\n").expect("a blank line");
        let notices =
            notices.lines().map(
                |notice| match notice.strip_suffix(" more files changed.]") {
                    Some(count) => count[1..].parse().expect("a number"),
                    None => 1,
                },
            );
        known += notices.sum::<usize>();
    }
    let said = told(&server, "wide.txt", session("a"));
    assert!(said.chars().count() <= 38_000, "{}", said.chars().count());
    let (_, notices) = said.rsplit_once("\n\n").expect("a blank line");
    let notices: Vec<&str> = notices.lines().collect();
    assert_eq!(notices.len(), 4, "{notices:#?}");
    for (number, notice) in notices[..3].iter().enumerate() {
        assert!(notice.starts_with("[…"), "{notice}");
        assert!(
            notice.contains(&format!(
                "/{number}.txt changed after you read it: line 1, by another agent."
            )),
            "{notice}"
        );
    }
    assert_eq!(notices[3], "[3 more files changed.]");
    assert!(!read(&server, "wide.txt", session("a")).contains("changed"));
}

#[test]
fn files_are_moved_and_deleted_and_others_hear_where_they_are() {
    let tree = Tree::new().file("a.txt", "one\n").file("b.txt", "b\n");
    let server = McpProcess::start(tree.path());
    read(&server, "a.txt", session("b"));
    let tag = tag_in(&read(&server, "a.txt", session("a")));
    let edit =
        |patch: String| text(&server.call_with("edit", json!({ "patch": patch }), session("a")));
    let moved = edit(format!("¶a.txt#{tag}\nmove file to d/c.txt\n"));
    assert_eq!(moved, format!("¶d/c.txt#{tag}\n[a.txt is d/c.txt now]"));
    let said = read(&server, "b.txt", session("b"));
    let notice = "[a.txt was moved to d/c.txt after you read it, by another agent.]";
    assert!(said.ends_with(notice), "{said}");
    assert_eq!(
        edit(format!("¶d/c.txt#{tag}\ndelete file\n")),
        "[d/c.txt is deleted]"
    );
    let back = edit(format!("¶d/c.txt#{tag}\nundo\n"));
    assert!(back.contains("[d/c.txt is there again]"), "{back}");
}
