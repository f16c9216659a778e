//! Each dialect writes these texts and listings as it writes files and directories, with the address where a path stands.

use serde_json::json;

use super::{Folders, text};

/// A dialect, the parameter that its path is in, and what a skill's first line and a list look like.
const DIALECTS: &[(&str, &str, &str, &str)] = &[
    (
        "hashline",
        "path",
        "[From the workspace: .agents/skills/deploy/SKILL.md]\n1:---\n",
        "deploy  (workspace: ",
    ),
    (
        "numbered",
        "path",
        "[From the workspace: .agents/skills/deploy/SKILL.md]\n1:---\n",
        "deploy  (workspace: ",
    ),
    (
        "plain",
        "path",
        "---\nname: deploy\n",
        "deploy  (workspace: ",
    ),
    (
        "opencode",
        "filePath",
        "<path>skill://deploy/SKILL.md</path>\n<type>file</type>\n<content>\n1: ---\n",
        "<path>skill://</path>\n<type>directory</type>\n<entries>\ndeploy  (workspace: ",
    ),
    ("pikuri", "path", "     1\t---\n", "deploy  (workspace: "),
    (
        "llm-gateway",
        "filePath",
        "<file path=\"skill://deploy/SKILL.md\" lines=\"1-7\" total=\"7\">\n   1 | ---\n",
        "deploy  (workspace: ",
    ),
    ("roo", "path", "1 | ---\n", "deploy  (workspace: "),
];

#[test]
fn a_skill_a_rule_a_memory_and_their_lists() {
    let folders = Folders::new()
        .skill("ws/.agents/skills/deploy", "Deploy.")
        .file("home/.claude/CLAUDE.md", "Mine.\n")
        .file("home/notes/README.md", "Notes.\n");
    let notes = json!({ "scheme": "memory", "name": "notes", "path": "~/notes" });
    let settings = json!({ "internal": { "roots": [notes] } });
    let daemon = folders.builder().settings(settings).start();
    for (dialect, parameter, first, list) in DIALECTS {
        let read = |path: &str| {
            let params = json!({ "dialect": dialect, *parameter: path });
            let read = daemon
                .read_with(params)
                .unwrap_or_else(|error| panic!("{dialect}: {}", error.message));
            text(&read).to_owned()
        };
        let shown = read("skill://deploy");
        assert!(shown.contains(first), "{dialect}: {shown}");
        let listed = read("skill://");
        assert!(listed.contains(list), "{dialect}: {listed}");
        assert!(read("rule://CLAUDE.md").contains("Mine."), "{dialect}");
        assert!(read("rule://").contains("CLAUDE.md  always"), "{dialect}");
        assert!(
            read("rule://?for=x.ts").contains("CLAUDE.md  always"),
            "{dialect}"
        );
        assert!(read("memory://notes").contains("Notes."), "{dialect}");
        assert!(read("memory://").contains("notes  (~/notes)"), "{dialect}");
        let missing = daemon.read_with(json!({ "dialect": dialect, *parameter: "skill://deplo" }));
        let said = match missing {
            Ok(result) => text(&result).to_owned(),
            Err(error) => error.message,
        };
        assert!(said.contains("skill://deplo"), "{dialect}: {said}");
    }
}

#[test]
fn offsets_count_the_lines_of_the_text() {
    let folders = Folders::new().skill("home/.agents/skills/s", "S.");
    let daemon = folders.start();
    let read = |params| text(&daemon.read_with(params).expect("a part")).to_owned();
    let opencode =
        json!({ "dialect": "opencode", "filePath": "skill://s", "offset": 5, "limit": 1 });
    assert!(read(opencode).contains("\n5: # s\n"));
    let gateway =
        json!({ "dialect": "llm-gateway", "filePath": "skill://s", "offset": 4, "limit": 1 });
    assert!(read(gateway).contains("   5 | # s\n"));
    let roo = json!({ "dialect": "roo", "path": "skill://s", "start_line": 5, "end_line": 5 });
    assert!(read(roo).contains("5 | # s"));
    let pikuri = json!({ "dialect": "pikuri", "path": "skill://s", "offset": 5, "limit": 1 });
    assert!(read(pikuri).contains("     5\t# s"));
}
