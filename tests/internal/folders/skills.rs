//! `skill://`: what is a skill, which one goes by a name, its files, and what is said where there is none.

use serde_json::{Value, json};

use super::{Folders, problems, refused, resources_status, rows, shown, skill, text};

/// The page's own example: two of the user's, two of the workspace's, one of which is called like one
/// of the user's.
fn example() -> Folders {
    Folders::new()
        .skill(
            "home/.agents/skills/pdf-processing",
            "Extract PDF text, fill forms, merge files. Use when handling PDFs.",
        )
        .skill(
            "home/.claude/skills/review",
            "Review a change against my list.",
        )
        .skill("ws/.agents/skills/deploy", "Deploy to staging.")
        .skill("ws/.claude/skills/review", "Review.")
}

#[test]
fn the_bare_scheme_lists_them() {
    let folders = example();
    let daemon = folders.start();
    let read = daemon.read("skill://").expect("a list");
    let expected = "\
pdf-processing    Extract PDF text, fill forms, merge files. Use when handling PDFs.
review            Review a change against my list.
deploy            (workspace: .agents/skills/deploy)  Deploy to staging.
workspace:review  (workspace: .claude/skills/review; skill://review is another)  Review.

[skill://NAME reads one, skill://NAME/ lists its files]";
    assert_eq!(text(&read), expected);
    let details = &read["details"];
    assert_eq!(details["kind"], "internal");
    assert_eq!(details["meta"]["source"], "skill://");
    let resources = details["resources"].as_array().expect("a list");
    let uris: Vec<&Value> = resources.iter().map(|it| &it["uri"]).collect();
    assert_eq!(
        uris,
        [
            "skill://pdf-processing",
            "skill://review",
            "skill://deploy",
            "skill://workspace:review"
        ]
    );
    let last = &resources[3];
    assert_eq!(last["name"], "review");
    assert_eq!(last["description"], "Review.");
    assert_eq!(last["provider"], "workspace");
    assert_eq!(last["mimeType"], "text/markdown");
    assert_eq!(last["shadowedBy"], "skill://review");
    assert_eq!(last["size"], skill("review", "Review.").len());
    let path = folders.tree.spelled("ws/.claude/skills/review/SKILL.md");
    assert_eq!(last["path"], path);
    assert_eq!(resources[0]["provider"], "user");
    assert!(resources[0]["shadowedBy"].is_null());
    let some = daemon.read("skill://:2-3").expect("some rows");
    assert!(text(&some).starts_with("review            Review a change"));
    assert_eq!(some["details"]["resources"], details["resources"]);
    assert_eq!(
        resources_status(&daemon),
        json!({ "skills": 4, "rules": 0, "memories": 0, "shadowed": 1, "problems": [] })
    );
}

#[test]
fn one_is_numbered_rows_without_a_header() {
    let folders = example();
    let daemon = folders.start();
    let read = daemon.read("skill://review").expect("a skill");
    let expected = "1:---\n2:name: review\n3:description: Review a change against my list.\n4:---\n5:# review\n6:\n7:The steps.";
    assert_eq!(text(&read), expected);
    let details = &read["details"];
    assert_eq!(details["kind"], "internal");
    assert_eq!(details["meta"]["source"], "skill://review/SKILL.md");
    assert_eq!(details["provider"], "user");
    let real = details["resolvedPath"].as_str().expect("a path");
    assert!(
        real.ends_with("/home/.claude/skills/review/SKILL.md"),
        "{real}"
    );
    for absent in ["hashline", "trusted", "uri", "origin", "summary"] {
        assert!(details[absent].is_null(), "{absent}");
    }
    assert_eq!(shown(&daemon, "skill://user:review"), expected);
    assert_eq!(shown(&daemon, "skill://user:review:7-"), "7:The steps.");
    assert_eq!(shown(&daemon, "SKILL://re%76iew:5-6"), "5:# review\n6:");
    assert_eq!(
        daemon.read_text("skill://review:raw"),
        skill("review", "Review a change against my list.")
    );
    let apart = json!({ "path": "skill://review", "selector": "7" });
    let apart = daemon.read_with(apart).expect("one line");
    assert_eq!(text(&apart).lines().next(), Some("7:The steps."));
}

#[test]
fn the_workspaces_say_so() {
    let folders = example();
    let daemon = folders.start();
    for path in ["skill://deploy:5-5", "skill://workspace:deploy:5-5"] {
        let read = daemon.read(path).expect("a skill");
        assert_eq!(
            rows(&read),
            "[From the workspace: .agents/skills/deploy/SKILL.md]\n5:# deploy",
            "{path}"
        );
        assert_eq!(read["details"]["trusted"], false);
        assert_eq!(read["details"]["provider"], "workspace");
        assert_eq!(read["details"]["meta"]["source"], "skill://deploy/SKILL.md");
    }
    let other = shown(&daemon, "skill://workspace:review");
    assert!(other.starts_with("[From the workspace: .claude/skills/review/SKILL.md]\n1:---"));
}

#[test]
fn files_beside_it_are_read_as_what_they_are() {
    let png = std::fs::read("fixtures/image/plain.png").or_else(|_| first_image());
    let folders = example()
        .file(
            "home/.claude/skills/review/references/list.md",
            super::super::super::tree::numbered_lines(1, 30),
        )
        .file("home/.claude/skills/review/a b.txt", "blank\n")
        .file("home/.claude/skills/review/10%.txt", "percent\n")
        .file(
            "home/.claude/skills/review/logo.png",
            png.expect("an image"),
        );
    let daemon = folders.start();
    assert_eq!(
        shown(&daemon, "skill://review/references/list.md:5-6"),
        "5:line 5\n6:line 6"
    );
    assert_eq!(shown(&daemon, "skill://review/a%20b.txt"), "1:blank");
    assert_eq!(shown(&daemon, "skill://review/a b.txt"), "1:blank");
    let percent = daemon.read("skill://review/10%25.txt").expect("a file");
    assert_eq!(text(&percent), "1:percent");
    assert_eq!(
        percent["details"]["meta"]["source"],
        "skill://review/10%.txt"
    );
    let image = daemon.read("skill://review/logo.png").expect("an image");
    assert_eq!(image["details"]["kind"], "image");
    assert_eq!(image["details"]["provider"], "user");
    assert_eq!(image["content"][1]["type"], "image");
    for (path, names) in [
        (
            "skill://review/",
            vec!["SKILL.md", "a b.txt", "logo.png", "references/", "list.md"],
        ),
        ("skill://review/references", vec!["list.md"]),
        ("skill://review/references/", vec!["list.md"]),
    ] {
        let read = daemon.read(path).expect("a listing");
        assert_eq!(read["details"]["kind"], "directory", "{path}");
        assert_eq!(read["details"]["isDirectory"], true);
        let listed = text(&read);
        assert!(listed.starts_with("skill://review/"), "{listed}");
        for name in names {
            assert!(listed.contains(name), "{name}: {listed}");
        }
    }
    let mine = folders.skill("ws/.agents/skills/deploy/deeper", "Inside.");
    assert!(
        !shown(&daemon, "skill://").contains("Inside."),
        "a skill's folders are its own"
    );
    let listed = shown(&daemon, "skill://deploy/");
    assert!(
        listed.starts_with("[From the workspace: .agents/skills/deploy]\n"),
        "{listed}"
    );
    drop(mine);
}

fn first_image() -> std::io::Result<Vec<u8>> {
    let mut names = std::fs::read_dir("fixtures/image")?;
    let png = names.find_map(|entry| {
        let path = entry.ok()?.path();
        (path.extension()? == "png").then_some(path)
    });
    std::fs::read(png.expect("a PNG"))
}

#[test]
fn only_the_hard_limits_cut_it() {
    let mut long = skill("long", "Long.");
    long.push_str(&"a line of the skill\n".repeat(10_000));
    let mut longer = skill("longer", "Longer.");
    longer.push_str(&"a line\n".repeat(30_000));
    let folders = Folders::new()
        .file("home/.agents/skills/long/SKILL.md", &long)
        .file("home/.agents/skills/longer/SKILL.md", &longer);
    let daemon = folders.start();
    let read = daemon.read("skill://long").expect("all of it");
    assert!(read["details"]["truncation"].is_null());
    assert_eq!(text(&read).lines().count(), 10_007);
    let read = daemon.read("skill://longer").expect("some of it");
    let truncation = &read["details"]["truncation"];
    assert_eq!(truncation["nextSelector"], "20001-");
    let rest = daemon.read("skill://longer:20001-").expect("the rest");
    assert!(rest["details"]["truncation"].is_null());
    // Whoever asks for less gets less.
    let less = json!({ "path": "skill://long", "budget": { "lines": 5 } });
    let less = daemon.read_with(less).expect("five lines");
    assert_eq!(less["details"]["truncation"]["nextSelector"], "6-");
}

#[test]
fn every_folder_of_the_tables_is_looked_in() {
    let user = [
        ".agents/skills",
        ".config/agents/skills",
        ".claude/skills",
        ".copilot/skills",
        ".cursor/skills",
        ".codex/skills",
        ".gemini/skills",
        ".config/opencode/skills",
    ];
    let workspace = [
        ".agents/skills",
        ".claude/skills",
        ".github/skills",
        ".cursor/skills",
        ".codex/skills",
        ".gemini/skills",
        ".opencode/skills",
        ".roo/skills",
        ".kiro/skills",
    ];
    let mut folders = Folders::new();
    for (index, folder) in user.iter().enumerate() {
        folders = folders.skill(&format!("home/{folder}/u{index}"), "The user's.");
        // Each has one of the same name, too: the first folder's goes by it.
        folders = folders.file(
            &format!("home/{folder}/same/SKILL.md"),
            skill("same", folder),
        );
    }
    for (index, folder) in workspace.iter().enumerate() {
        folders = folders.skill(&format!("ws/{folder}/w{index}"), "The workspace's.");
    }
    let daemon = folders.start();
    let listed = shown(&daemon, "skill://");
    for index in 0..user.len() {
        assert!(listed.contains(&format!("u{index} ")), "{listed}");
    }
    for (index, folder) in workspace.iter().enumerate() {
        let row = format!("(workspace: {folder}/w{index})  The workspace's.");
        assert!(listed.contains(&row), "{listed}");
    }
    assert!(listed.contains("same  .agents/skills\n"), "{listed}");
    assert_eq!(resources_status(&daemon)["shadowed"], user.len() - 1);
    // What programs' own variables say goes before the home directory.
    let elsewhere = Folders::new()
        .skill("claude/skills/c", "Claude's.")
        .skill("codex/skills/x", "Codex's.")
        .skill("config/opencode/skills/o", "Opencode's.")
        .skill("home/.claude/skills/gone", "Not looked at.");
    let daemon = elsewhere
        .builder()
        .env("CLAUDE_CONFIG_DIR", &elsewhere.tree.spelled("claude"))
        .env("CODEX_HOME", &elsewhere.tree.spelled("codex"))
        .env("XDG_CONFIG_HOME", &elsewhere.tree.spelled("config"))
        .start();
    let listed = shown(&daemon, "skill://");
    assert!(
        listed.starts_with("c  Claude's.\no  Opencode's.\nx  Codex's.\n\n["),
        "{listed}"
    );
}

#[test]
fn settings_name_folders_and_leave_some_out() {
    let folders = example()
        .skill("mine/review", "The settings' own.")
        .skill("mine/team/a/deep", "Three deep.")
        .skill("mine/team/a/b/deeper", "Four deep.");
    let roots = json!([
        { "scheme": "skill", "name": "mine", "path": folders.tree.spelled("mine") },
        { "scheme": "skill", "name": "none", "path": "relative/one" },
    ]);
    let settings = json!({ "internal": { "roots": roots } });
    let daemon = folders.builder().settings(settings).start();
    let listed = shown(&daemon, "skill://");
    let rows: Vec<&str> = listed.lines().collect();
    assert_eq!(rows[0], "deep              Three deep.");
    assert_eq!(rows[1], "review            The settings' own.");
    assert!(
        rows[3].contains("(user: ~/.claude/skills/review; skill://review is another)"),
        "{listed}"
    );
    assert!(!listed.contains("Four deep."));
    for (path, description) in [
        ("skill://review:3-3", "The settings' own."),
        ("skill://settings:review:3-3", "The settings' own."),
        (
            "skill://user:review:3-3",
            "Review a change against my list.",
        ),
        ("skill://workspace:review:3-3", "Review."),
    ] {
        let shown = shown(&daemon, path);
        assert!(
            shown.ends_with(&format!("3:description: {description}")),
            "{shown}"
        );
    }
    let said = problems(&daemon);
    assert!(
        said.contains("relative/one: neither absolute nor below ~/"),
        "{said}"
    );
    for (settings, gone, left) in [
        (
            json!({ "internal": { "workspace": false } }),
            "deploy",
            "pdf-processing",
        ),
        (
            json!({ "internal": { "user": false } }),
            "pdf-processing",
            "deploy",
        ),
    ] {
        let daemon = folders.builder().settings(settings).start();
        let listed = shown(&daemon, "skill://");
        assert!(!listed.contains(gone) && listed.contains(left), "{listed}");
        assert_eq!(
            refused(&daemon, &format!("skill://{gone}")).kind(),
            "notFound"
        );
    }
}

#[test]
fn what_is_no_skill_is_told_in_the_status() {
    let folders = Folders::new()
        .skill("ws/.agents/skills/good", "Good.")
        .file("ws/.agents/skills/silent/SKILL.md", "# No front matter\n")
        .file(
            "ws/.agents/skills/colon/SKILL.md",
            skill("user:good", "Bad."),
        )
        .file(
            "ws/.agents/skills/a b/SKILL.md",
            "---\ndescription: Bad name.\n---\n",
        )
        .file(
            "ws/.agents/skills/long/SKILL.md",
            skill(&"n".repeat(65), "Bad."),
        )
        .file(
            "ws/.agents/skills/odd/SKILL.md",
            "---\nname: odd\ndescription: Use when: asked\n---\n",
        )
        .file("ws/.agents/skills/.git/SKILL.md", skill("git", "Bad."))
        .file(
            "ws/.agents/skills/node_modules/m/SKILL.md",
            skill("module", "Bad."),
        )
        .file(
            "ws/.agents/skills/SKILL.md",
            skill("top", "No folder of its own."),
        );
    let daemon = folders.start();
    let listed = shown(&daemon, "skill://");
    let rows: Vec<&str> = listed.lines().take_while(|row| !row.is_empty()).collect();
    assert_eq!(
        rows,
        [
            "good  (workspace: .agents/skills/good)  Good.",
            "odd   (workspace: .agents/skills/odd)  Use when: asked"
        ]
    );
    let said = problems(&daemon);
    for (folder, what) in [
        ("silent", "it has no description"),
        ("colon", "the name 'user:good' is not"),
        ("a b", "the name 'a b' is not"),
        ("long", "the name 'nnn"),
    ] {
        let begins = format!(".agents/skills/{folder}/SKILL.md: {what}");
        assert!(said.lines().any(|line| line.starts_with(&begins)), "{said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");
}

#[test]
fn what_is_not_there_or_not_meant_is_said() {
    let folders = example().file("home/.claude/skills/review/notes.md", "x\n");
    let daemon = folders.start();
    let missing = refused(&daemon, "skill://reviw");
    assert_eq!(missing.kind(), "notFound");
    assert_eq!(missing.data["suggestions"][0], "skill://review");
    let missing = refused(&daemon, "skill://review/note.md");
    assert_eq!(missing.kind(), "notFound");
    assert_eq!(
        missing.data["suggestions"],
        json!(["skill://review/notes.md"])
    );
    for path in ["skill://settings:review", "skill:///review"] {
        assert_eq!(refused(&daemon, path).kind(), "notFound", "{path}");
    }
    for path in [
        "skill://review/../review/SKILL.md",
        "skill://review/%2e%2e/x",
        "skill://review//etc/passwd",
        "skill://review/a\\b",
        "skill://review/references%2Fx.md",
        "skill://review/a%00b",
        "skill://review?x=1",
    ] {
        assert_eq!(refused(&daemon, path).kind(), "badParams", "{path}");
    }
    for path in [
        "skill://review:0",
        "skill://review:9-5",
        "skill://review/notes.md:x",
        "skill://:x",
    ] {
        assert_eq!(refused(&daemon, path).kind(), "badSelector", "{path}");
    }
    let none = Folders::new();
    let daemon = none.start();
    let said = shown(&daemon, "skill://");
    assert!(
        said.starts_with("1:No skills in ~/.agents/skills, ~/.config/agents/skills, "),
        "{said}"
    );
    assert!(said.ends_with(", .roo/skills, .kiro/skills"), "{said}");
    assert_eq!(refused(&daemon, "skill://any").kind(), "notFound");
}

#[test]
fn nothing_of_it_is_changed() {
    let folders = example();
    let daemon = folders.start();
    for (path, file) in [
        ("skill://deploy", ".agents/skills/deploy/SKILL.md"),
        ("skill://deploy/new.md", ".agents/skills/deploy/new.md"),
        ("skill://user:review", "~/.claude/skills/review/SKILL.md"),
    ] {
        let write = json!({ "path": path, "text": "x\n" });
        let patch = json!({ "patch": format!("¶{path}#1234\ndelete 1\n") });
        for (method, params) in [("agent/write", write), ("agent/edit", patch)] {
            let error = daemon.call(method, params).expect_err("refused");
            assert_eq!(error.kind(), "unsupported", "{}", error.message);
            let said = format!("is read-only here; its file is {file}");
            assert!(error.message.contains(&said), "{}", error.message);
        }
    }
    assert!(!folders.tree.join("ws/skill:").exists());
    assert!(
        !folders
            .tree
            .join("ws/.agents/skills/deploy/new.md")
            .exists()
    );
}

#[test]
fn an_open_document_and_unsaved_text_go_first() {
    let folders = example();
    let daemon = folders.start();
    let open = |uri: &str, text: &str| {
        let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": text });
        daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    };
    let read = daemon.read("skill://deploy").expect("a skill");
    let path = read["details"]["resolvedPath"]
        .as_str()
        .expect("a path")
        .to_owned();
    let uri = format!("file://{path}");
    open(&uri, "not saved yet\n");
    daemon.notify(
        "agent/documentState",
        json!({ "uri": uri, "version": 1, "dirty": true }),
    );
    assert!(shown(&daemon, "skill://deploy").ends_with("\n1:not saved yet"));
    open("skill://review", "the editor's\n");
    assert!(shown(&daemon, "skill://review").ends_with("\n1:the editor's"));
}

#[test]
fn a_folder_of_that_name_shadows_nothing() {
    let folders = example().file("ws/skill:/review", "a file\n");
    let daemon = folders.start();
    assert!(shown(&daemon, "skill://review").starts_with("1:---"));
    assert!(shown(&daemon, "./skill:/review").ends_with("\n1:a file"));
}

#[test]
fn the_command_line_reads_it() {
    let folders = example();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pilcrow"))
        .current_dir(folders.tree.join("ws"))
        .env("HOME", folders.tree.join("home"))
        .env("CLAUDE_CONFIG_DIR", "")
        .args(["read", "skill://review:5-5"])
        .output()
        .expect("the binary runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.starts_with("5:# review\n"), "{printed}");
}
