//! What was found is remembered and never given out once it is not so any more.

use std::time::{Duration, Instant};

use super::{Folders, shown, skill};

/// How long until the times of what was just written are believed.
const SETTLED: Duration = Duration::from_millis(2_200);

#[test]
fn each_change_is_seen_by_the_next_read() {
    let folders = Folders::new()
        .skill("home/.agents/skills/mine", "Mine.")
        .skill("ws/.agents/skills/ours", "Ours.")
        .skill("elsewhere/linked", "By a link.")
        .file("ws/.cursor/rules/r.mdc", "---\ndescription: Before.\n---\n")
        .link("home/.claude/skills/linked", "tree:elsewhere/linked");
    let daemon = folders.start();
    let tree = &folders.tree;
    // The test is of what is remembered, and young times are not: here time itself has to pass.
    std::thread::sleep(SETTLED);
    let listed = || shown(&daemon, "skill://") + &shown(&daemon, "rule://");
    let before = listed();
    assert_eq!(listed(), before);
    let began = Instant::now();
    let changed = |what: &str, change: &dyn Fn(), now: &str, gone: &str| {
        change();
        let listed = listed();
        assert!(listed.contains(now), "{what}: {listed}");
        assert!(
            gone.is_empty() || !listed.contains(gone),
            "{what}: {listed}"
        );
    };
    changed(
        "a text",
        &|| tree.write("ws/.agents/skills/ours/SKILL.md", skill("ours", "Newer.")),
        "Newer.",
        "Ours.",
    );
    changed(
        "a new one",
        &|| {
            tree.write(
                "home/.codex/skills/new/SKILL.md",
                skill("new", "A new one."),
            )
        },
        "A new one.",
        "",
    );
    changed(
        "one less",
        &|| std::fs::remove_dir_all(tree.join("home/.agents/skills/mine")).expect("removed"),
        "By a link.",
        "Mine.",
    );
    changed(
        "behind a link",
        &|| {
            tree.write(
                "elsewhere/linked/SKILL.md",
                skill("linked", "Changed behind."),
            )
        },
        "Changed behind.",
        "By a link.",
    );
    changed(
        "a rule",
        &|| tree.replace("ws/.cursor/rules/r.mdc", "---\ndescription: After.\n---\n"),
        "After.",
        "Before.",
    );
    changed(
        "the link",
        &|| std::fs::remove_file(tree.join("home/.claude/skills/linked")).expect("removed"),
        "Newer.",
        "Changed behind.",
    );
    assert!(began.elapsed() < Duration::from_secs(30), "not held up");
}

/// The same changes once more, each after the times have settled: what is remembered is dropped.
#[test]
fn what_was_remembered_is_dropped() {
    let folders = Folders::new()
        .skill("ws/.agents/skills/a", "First.")
        .skill("ws/.agents/skills/b", "Other.");
    let daemon = folders.start();
    for (index, text) in ["Second.", "Third."].into_iter().enumerate() {
        std::thread::sleep(SETTLED);
        let before = shown(&daemon, "skill://");
        assert_eq!(shown(&daemon, "skill://"), before);
        folders
            .tree
            .write("ws/.agents/skills/a/SKILL.md", skill("a", text));
        assert!(shown(&daemon, "skill://").contains(text), "{index}");
    }
    std::thread::sleep(SETTLED);
    shown(&daemon, "skill://");
    folders.tree.write("ws/.agentignore", "b/\n");
    let rules_are_heeded_within = Instant::now() + Duration::from_secs(10);
    while shown(&daemon, "skill://").contains("Other.") {
        assert!(
            Instant::now() < rules_are_heeded_within,
            "an ignore file is heeded"
        );
    }
    assert!(shown(&daemon, "skill://").contains("Third."));
}
