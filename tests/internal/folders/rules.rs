//! `rule://`: the files that agents agreed on, how they are named, and which of them are for a path.

use serde_json::{Value, json};

use super::{Folders, problems, refused, resources_status, rows, shown, text};

fn example() -> Folders {
    let typescript = "---\ndescription: TypeScript style\nglobs: **/*.ts\n---\nUse types.\n";
    let copilot = "---\napplyTo: \"**/*.py,docs/**\"\n---\nPython.\n";
    Folders::new()
        .file("home/.claude/CLAUDE.md", "Mine: $HOME @import !`id`\n")
        .file("ws/AGENTS.md", "Ours.\n")
        .file("ws/packages/api/AGENTS.md", "The API's.\n")
        .file("ws/.cursor/rules/typescript.mdc", typescript)
        .file(
            "ws/.cursor/rules/frontend/react.mdc",
            "---\nalwaysApply: false\ndescription: React\n---\n",
        )
        .file("ws/.github/copilot-instructions.md", "Copilot's.\n")
        .file("ws/.github/instructions/python.instructions.md", copilot)
        .file("ws/.claude/CLAUDE.md", "A second one.\n")
        .file("ws/CLAUDE.md", "The first of the workspace.\n")
}

#[test]
fn the_bare_scheme_lists_them() {
    let folders = example();
    let daemon = folders.start();
    let read = daemon.read("rule://").expect("a list");
    let expected = "\
CLAUDE.md  always
AGENTS.md  always  (workspace: AGENTS.md)
workspace:CLAUDE.md  always  (workspace: CLAUDE.md; rule://CLAUDE.md is another)
.claude/CLAUDE.md  always  (workspace: .claude/CLAUDE.md)
copilot-instructions  always  (workspace: .github/copilot-instructions.md)
frontend/react  on request  (workspace: .cursor/rules/frontend/react.mdc)  React
typescript  **/*.ts  (workspace: .cursor/rules/typescript.mdc)  TypeScript style
python  **/*.py, docs/**  (workspace: .github/instructions/python.instructions.md)

[rule://NAME reads one, rule://?for=PATH lists those for a path]";
    assert_eq!(text(&read), expected);
    let resources = read["details"]["resources"].as_array().expect("a list");
    let typescript = &resources[6];
    assert_eq!(typescript["uri"], "rule://typescript");
    assert_eq!(typescript["appliesTo"], json!(["**/*.ts"]));
    assert_eq!(typescript["always"], false);
    assert_eq!(resources[0]["always"], true);
    assert!(resources[0]["appliesTo"].is_null());
    assert_eq!(resources[2]["shadowedBy"], "rule://CLAUDE.md");
    assert_eq!(resources[7]["appliesTo"], json!(["**/*.py", "docs/**"]));
    let status = resources_status(&daemon);
    assert_eq!(
        (&status["rules"], &status["shadowed"]),
        (&json!(8), &json!(1))
    );
}

#[test]
fn each_is_read_by_its_name() {
    let folders = example();
    let daemon = folders.start();
    let mine = daemon.read("rule://CLAUDE.md").expect("the user's");
    // Nothing in it is run or expanded.
    assert_eq!(text(&mine), "1:Mine: $HOME @import !`id`");
    assert_eq!(mine["details"]["provider"], "user");
    for (name, file, last) in [
        (
            "workspace:CLAUDE.md",
            "CLAUDE.md",
            "1:The first of the workspace.",
        ),
        (".claude/CLAUDE.md", ".claude/CLAUDE.md", "1:A second one."),
        (
            "copilot-instructions",
            ".github/copilot-instructions.md",
            "1:Copilot's.",
        ),
        (
            "typescript:5-5",
            ".cursor/rules/typescript.mdc",
            "5:Use types.",
        ),
        (
            "packages/api/AGENTS.md",
            "packages/api/AGENTS.md",
            "1:The API's.",
        ),
        (
            "workspace:packages/api/AGENTS.md",
            "packages/api/AGENTS.md",
            "1:The API's.",
        ),
        (
            "front%65nd/react:4-4",
            ".cursor/rules/frontend/react.mdc",
            "4:---",
        ),
    ] {
        let read = daemon.read(format!("rule://{name}")).expect(name);
        let expected = format!("[From the workspace: {file}]\n{last}");
        assert_eq!(rows(&read), expected, "{name}");
        assert_eq!(read["details"]["trusted"], false);
        assert_eq!(read["details"]["kind"], "internal");
    }
    let near = refused(&daemon, "rule://typscript");
    assert_eq!(near.kind(), "notFound");
    assert_eq!(near.data["suggestions"][0], "rule://typescript");
    for missing in [
        "rule://packages/web/AGENTS.md",
        "rule://user:AGENTS.md",
        "rule://packages/api",
    ] {
        assert_eq!(refused(&daemon, missing).kind(), "notFound", "{missing}");
    }
    for bad in [
        "rule://../AGENTS.md",
        "rule://a\\/AGENTS.md",
        "rule://?x=1",
        "rule://AGENTS.md?for=x",
    ] {
        assert_eq!(refused(&daemon, bad).kind(), "badParams", "{bad}");
    }
    assert_eq!(
        refused(&daemon, "rule://typescript:0").kind(),
        "badSelector"
    );
}

#[test]
fn those_for_a_path_are_listed_general_before_special() {
    let folders = example();
    let daemon = folders.start();
    let rows = |path: &str| -> Vec<String> {
        let listed = shown(&daemon, path);
        let rows = listed.lines().take_while(|row| !row.is_empty());
        rows.map(str::to_owned).collect()
    };
    let always = [
        "CLAUDE.md  always",
        "AGENTS.md  always  (workspace: AGENTS.md)",
        "workspace:CLAUDE.md  always  (workspace: CLAUDE.md; rule://CLAUDE.md is another)",
        ".claude/CLAUDE.md  always  (workspace: .claude/CLAUDE.md)",
        "copilot-instructions  always  (workspace: .github/copilot-instructions.md)",
    ];
    let of_api = rows("rule://?for=packages/api/x.ts");
    assert_eq!(of_api[..5], always);
    assert_eq!(
        of_api[5..],
        [
            "typescript  **/*.ts  (workspace: .cursor/rules/typescript.mdc)  TypeScript style",
            "packages/api/AGENTS.md  nested"
        ]
    );
    assert_eq!(rows("rule://?for=packages/web/../api/./x.ts"), of_api);
    let absolute = format!(
        "rule://?for={}",
        folders.tree.spelled("ws/packages/api/x.ts")
    );
    assert_eq!(rows(&absolute), of_api);
    assert_eq!(rows("rule://?for=packages%2Fapi/x.ts"), of_api);
    let of_docs = rows("rule://?for=docs/a.md");
    assert_eq!(of_docs[..5], always);
    assert_eq!(
        of_docs[5..],
        ["python  **/*.py, docs/**  (workspace: .github/instructions/python.instructions.md)"]
    );
    assert_eq!(rows("rule://?for=x.rs"), always);
    assert_eq!(
        rows("rule://?for=packages/api").last().map(String::as_str),
        Some("packages/api/AGENTS.md  nested")
    );
    let read = daemon
        .read("rule://?for=packages/api/x.ts")
        .expect("a list");
    assert_eq!(
        read["details"]["meta"]["source"],
        "rule://?for=packages/api/x.ts"
    );
    let resources = read["details"]["resources"].as_array().expect("a list");
    assert_eq!(
        resources.last().expect("one")["uri"],
        "rule://packages/api/AGENTS.md"
    );
    for outside in [
        "rule://?for=",
        "rule://?for=../x.ts",
        "rule://?for=/etc/passwd",
        "rule://?for=a/../../x",
    ] {
        assert_eq!(refused(&daemon, outside).kind(), "badParams", "{outside}");
    }
}

#[test]
fn every_place_of_the_tables_is_looked_in() {
    let user = [
        (".agents/AGENTS.md", "AGENTS.md"),
        (".claude/CLAUDE.md", "CLAUDE.md"),
        (".codex/AGENTS.md", ".codex/AGENTS.md"),
        (".gemini/GEMINI.md", "GEMINI.md"),
        (".config/opencode/AGENTS.md", ".config/opencode/AGENTS.md"),
        (".agents/rules/u1.md", "u1"),
        (".claude/rules/u2.md", "u2"),
        (".cursor/rules/u3.mdc", "u3"),
    ];
    let workspace = [
        ("AGENTS.md", "workspace:AGENTS.md"),
        ("CLAUDE.md", "workspace:CLAUDE.md"),
        (".claude/CLAUDE.md", ".claude/CLAUDE.md"),
        ("GEMINI.md", "workspace:GEMINI.md"),
        (".rules", ".rules"),
        (".cursorrules", ".cursorrules"),
        (".windsurfrules", ".windsurfrules"),
        (".clinerules", ".clinerules"),
        (".github/copilot-instructions.md", "copilot-instructions"),
        (".agents/rules/w1.md", "w1"),
        (".claude/rules/w2.md", "w2"),
        (".cursor/rules/w3.mdc", "w3"),
        (".windsurf/rules/w4.md", "w4"),
        (".roo/rules/w5.md", "w5"),
        (".kiro/steering/w6.md", "w6"),
        (".github/instructions/w7.instructions.md", "w7"),
    ];
    let mut folders = Folders::new();
    for (file, _) in user {
        folders = folders.file(&format!("home/{file}"), format!("home {file}\n"));
    }
    for (file, _) in workspace {
        folders = folders.file(&format!("ws/{file}"), format!("ws {file}\n"));
    }
    let daemon = folders.start();
    let read = daemon.read("rule://").expect("a list");
    let resources = read["details"]["resources"].as_array().expect("a list");
    let uris: Vec<&str> = resources
        .iter()
        .filter_map(|it| it["uri"].as_str())
        .collect();
    let names = user.iter().chain(&workspace).map(|(_, name)| *name);
    let expected: Vec<String> = names.map(|name| format!("rule://{name}")).collect();
    assert_eq!(uris, expected);
    for (place, list) in [("home", &user[..]), ("ws", &workspace[..])] {
        for (file, name) in list {
            let shown = shown(&daemon, &format!("rule://{name}"));
            assert!(
                shown.ends_with(&format!("1:{place} {file}")),
                "{name}: {shown}"
            );
        }
    }
    // `.clinerules` may be a folder as well.
    let folder = Folders::new().file("ws/.clinerules/a/b.md", "Cline's.\n");
    let daemon = folder.start();
    assert!(shown(&daemon, "rule://a/b").ends_with("\n1:Cline's."));
}

#[test]
fn front_matter_says_what_a_rule_is_for() {
    let rule = |matter: &str| format!("---\n{matter}---\nText.\n");
    let folders = Folders::new()
        .file(
            "ws/.cursor/rules/a.mdc",
            rule("globs:\n  - \"*.ts\"\n  - src/**\nalwaysApply: true\n"),
        )
        .file(
            "ws/.cursor/rules/b.mdc",
            rule("globs: *.ts,*.{js,jsx}\nalwaysApply: false\n"),
        )
        .file("ws/.claude/rules/c.md", rule("paths:\n  - \"src/\"\n"))
        .file(
            "ws/.kiro/steering/d.md",
            rule("inclusion: fileMatch\nfileMatchPattern: \"*.vue\"\n"),
        )
        .file("ws/.kiro/steering/e.md", rule("inclusion: manual\n"))
        .file(
            "ws/.windsurf/rules/f.md",
            rule("trigger: always_on\nglobs: \n"),
        );
    let daemon = folders.start();
    let resources = daemon.read("rule://").expect("a list")["details"]["resources"].clone();
    let of = |name: &str| -> Value {
        let mut list = resources.as_array().expect("a list").iter();
        list.find(|it| it["name"] == name).expect(name).clone()
    };
    for (name, always, applies) in [
        ("a", true, Value::Null),
        ("b", false, json!(["*.ts", "*.{js,jsx}"])),
        ("c", false, json!(["src/"])),
        ("d", false, json!(["*.vue"])),
        ("e", false, Value::Null),
        ("f", true, Value::Null),
    ] {
        assert_eq!(
            (&of(name)["always"], &of(name)["appliesTo"]),
            (&json!(always), &applies),
            "{name}"
        );
    }
    for (path, names) in [("src/x.jsx", "a f b c"), ("y.vue", "a f d"), ("z", "a f")] {
        let read = daemon.read(format!("rule://?for={path}")).expect("a list");
        let list = read["details"]["resources"]
            .as_array()
            .expect("a list")
            .clone();
        let mut listed: Vec<&str> = list.iter().filter_map(|it| it["name"].as_str()).collect();
        let mut expected: Vec<&str> = names.split(' ').collect();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected, "{path}");
    }
}

#[test]
fn several_workspace_folders_and_the_settings_have_their_own() {
    let folders = Folders::new()
        .file("ws/AGENTS.md", "First.\n")
        .file("lib/AGENTS.md", "Second.\n")
        .file("lib/.cursor/rules/l.mdc", "---\nglobs: '*.ts'\n---\n")
        .file("lib/deep/AGENTS.md", "Deep.\n")
        .file("house/style.md", "The house's.\n");
    let roots =
        json!([{ "scheme": "rule", "name": "house", "path": folders.tree.spelled("house") }]);
    let daemon = folders
        .builder()
        .root(folders.tree.join("lib"))
        .settings(json!({ "internal": { "roots": roots } }))
        .start();
    assert_eq!(shown(&daemon, "rule://style"), "1:The house's.");
    assert!(
        shown(&daemon, "rule://lib/AGENTS.md")
            .ends_with("[From the workspace: lib/AGENTS.md]\n1:Second.")
    );
    assert!(shown(&daemon, "rule://lib/deep/AGENTS.md").ends_with("\n1:Deep."));
    let names = |path: &str| -> Vec<String> {
        let read = daemon.read(format!("rule://?for={path}")).expect("a list");
        let list = read["details"]["resources"]
            .as_array()
            .expect("a list")
            .clone();
        list.iter()
            .map(|it| it["uri"].as_str().expect("one").to_owned())
            .collect()
    };
    assert_eq!(names("x.ts"), ["rule://style", "rule://AGENTS.md"]);
    assert_eq!(
        names("lib/deep/x.ts"),
        [
            "rule://style",
            "rule://lib/AGENTS.md",
            "rule://l",
            "rule://lib/deep/AGENTS.md"
        ]
    );
}

#[test]
fn nothing_of_it_is_changed_and_no_rules_at_all_is_no_error() {
    let folders = example();
    let daemon = folders.start();
    for (name, file) in [
        ("typescript", ".cursor/rules/typescript.mdc"),
        ("packages/api/AGENTS.md", "packages/api/AGENTS.md"),
        ("CLAUDE.md", "~/.claude/CLAUDE.md"),
    ] {
        let write = json!({ "path": format!("rule://{name}"), "text": "x\n" });
        let error = daemon.call("agent/write", write).expect_err("refused");
        assert_eq!(error.kind(), "unsupported");
        let said = format!("is read-only here; its file is {file}");
        assert!(error.message.contains(&said), "{}", error.message);
    }
    let empty = Folders::new();
    let daemon = empty.start();
    let said = shown(&daemon, "rule://");
    assert!(
        said.starts_with("1:No rules in ~/.agents/AGENTS.md, "),
        "{said}"
    );
    assert!(shown(&daemon, "rule://?for=a/b.ts").starts_with("1:No rules for a/b.ts in "));
    assert_eq!(problems(&daemon), "");
}
