//! Where else skills, rules and memories are looked for: where programs' own variables say, and in each workspace folder.

use serde_json::{Value, json};

use super::{Folders, refused, rows, shown, skill, text};

/// The project's folder below Claude's, for a workspace folder.
fn project(folders: &Folders, root: &str) -> String {
    let as_dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let spelled = folders.tree.spelled(root);
    format!(
        "projects/{}/memory",
        spelled.chars().map(as_dash).collect::<String>()
    )
}

#[test]
fn programs_own_variables_are_heeded() {
    let folders = Folders::new()
        .file("claude/CLAUDE.md", "Claude's.\n")
        .file("claude/rules/c.md", "Claude's rule.\n")
        .file("codex/AGENTS.md", "Codex's.\n")
        .file("config/opencode/AGENTS.md", "Opencode's.\n")
        .file("home/.claude/CLAUDE.md", "Not looked at.\n")
        .file("home/.codex/AGENTS.md", "Not looked at.\n")
        .file("home/.config/opencode/AGENTS.md", "Not looked at.\n");
    let memory = project(&folders, "ws");
    let folders = folders
        .file(&format!("claude/{memory}/MEMORY.md"), "Claude's memory.\n")
        .file(
            &format!("home/.claude/{memory}/MEMORY.md"),
            "Not looked at.\n",
        );
    let daemon = folders
        .builder()
        .env("CLAUDE_CONFIG_DIR", &folders.tree.spelled("claude"))
        .env("CODEX_HOME", &folders.tree.spelled("codex"))
        .env("XDG_CONFIG_HOME", &folders.tree.spelled("config"))
        .start();
    let list = daemon.read("rule://").expect("a list");
    let resources = list["details"]["resources"].as_array().expect("a list");
    let mut all: Vec<String> = resources
        .iter()
        .map(|it| shown(&daemon, it["uri"].as_str().expect("a URI")))
        .collect();
    all.sort();
    assert_eq!(
        all,
        [
            "1:Claude's rule.",
            "1:Claude's.",
            "1:Codex's.",
            "1:Opencode's."
        ]
    );
    assert_eq!(shown(&daemon, "memory://claude"), "1:Claude's memory.");
    assert!(shown(&daemon, "memory://").starts_with("claude  ("));
    assert_eq!(shown(&daemon, "memory://root"), "1:Claude's memory.");
}

#[test]
fn each_workspace_folder_has_its_own() {
    let folders = Folders::new()
        .skill("ws/.agents/skills/one", "The first's.")
        .skill("lib/.agents/skills/two", "The second's.")
        .skill("lib/.agents/skills/one", "Called the same.")
        .file("ws/.serena/memories/a.md", "First.\n")
        .file("lib/.serena/memories/b.md", "Second.\n")
        .file("lib/memory-bank/README.md", "The bank's.\n");
    let memory = project(&folders, "lib");
    let folders = folders.file(&format!("home/.claude/{memory}/MEMORY.md"), "Claude's.\n");
    let daemon = folders.builder().root(folders.tree.join("lib")).start();
    let listed = shown(&daemon, "skill://");
    assert!(
        listed.contains("(workspace: .agents/skills/one)  The first's."),
        "{listed}"
    );
    assert!(
        listed.contains("(workspace: lib/.agents/skills/two)  The second's."),
        "{listed}"
    );
    assert!(!listed.contains("Called the same."), "{listed}");
    let read = daemon.read("skill://two:3-3").expect("a skill");
    assert_eq!(
        rows(&read),
        "[From the workspace: lib/.agents/skills/two/SKILL.md]\n3:description: The second's."
    );
    let list = daemon.read("memory://").expect("a list");
    let resources = list["details"]["resources"].as_array().expect("a list");
    let uris: Vec<&Value> = resources.iter().map(|it| &it["uri"]).collect();
    assert_eq!(
        uris,
        [
            "memory://claude-lib",
            "memory://serena",
            "memory://serena-lib",
            "memory://bank-lib"
        ]
    );
    assert!(shown(&daemon, "memory://serena-lib/b.md").ends_with("\n1:Second."));
    assert!(shown(&daemon, "memory://serena/a.md").ends_with("\n1:First."));
    assert_eq!(shown(&daemon, "memory://claude-lib"), "1:Claude's.");
    assert_eq!(refused(&daemon, "memory://serena/b.md").kind(), "notFound");
    let bank = shown(&daemon, "memory://bank-lib");
    assert_eq!(
        bank,
        "[From the workspace: lib/memory-bank/README.md]\n1:The bank's."
    );
}

#[test]
fn a_namespace_may_be_called_root() {
    let folders = Folders::new()
        .file("home/first/README.md", "First.\n")
        .file("home/second/README.md", "Second.\n");
    let memory = |name: &str, path: &str| json!({ "scheme": "memory", "name": name, "path": path });
    let roots = json!([memory("first", "~/first"), memory("root", "~/second")]);
    let settings = json!({ "internal": { "roots": roots } });
    let daemon = folders.builder().settings(settings).start();
    assert_eq!(shown(&daemon, "memory://root"), "1:Second.");
    assert_eq!(shown(&daemon, "memory://first"), "1:First.");
}

#[test]
fn rules_lie_three_folders_deep_and_no_deeper() {
    let folders = Folders::new()
        .file("ws/.cursor/rules/a/b/deep.mdc", "Deep.\n")
        .file("ws/.cursor/rules/a/b/c/d/deeper.mdc", "Deeper.\n")
        .file("ws/.cursor/rules/notes.txt", "No rule.\n");
    let daemon = folders.start();
    let listed = shown(&daemon, "rule://");
    assert!(listed.contains("a/b/deep  always"), "{listed}");
    assert!(
        !listed.contains("deeper") && !listed.contains("notes"),
        "{listed}"
    );
}

#[test]
fn a_name_with_a_colon_wins_and_code_is_shown_whole() {
    let code: String = (1..=200)
        .map(|n| format!("fn f{n}() {{\n    {n}\n}}\n"))
        .collect();
    let folders = Folders::new()
        .file("home/.agents/skills/s/SKILL.md", skill("s", "S."))
        .file("home/.agents/skills/s/a:5", "with a colon\n")
        .file("home/.agents/skills/s/b", "1\n2\n3\n4\n5\n6\n")
        .file("home/.agents/skills/s/code.rs", &code);
    let daemon = folders.start();
    assert_eq!(shown(&daemon, "skill://s/a:5"), "1:with a colon");
    assert_eq!(shown(&daemon, "skill://s/a:5:1"), "1:with a colon");
    assert_eq!(shown(&daemon, "skill://s/b:5-5"), "5:5");
    let whole = daemon.read("skill://s/code.rs").expect("all of it");
    assert!(whole["details"]["summary"].is_null());
    assert_eq!(text(&whole).lines().count(), 600);
    // Exactly the lines that were asked for.
    assert_eq!(shown(&daemon, "skill://s/code.rs:10-11").lines().count(), 2);
}
