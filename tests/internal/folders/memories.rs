//! `memory://`: the namespaces, what each is read by, and those of the settings that can be written.

use serde_json::json;

use super::{Folders, problems, refused, resources_status, shown, text};

fn project(folders: &Folders) -> String {
    let root = folders.tree.spelled("ws");
    let as_dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let project: String = root.chars().map(as_dash).collect();
    format!("home/.claude/projects/{project}/memory")
}

/// One of each: the user's, two of the workspace, and a writable one of the settings.
fn example() -> Folders {
    let folders = Folders::new()
        .file("ws/.serena/memories/style.md", "Tabs.\n")
        .file("ws/memory-bank/memory_summary.md", "In short.\n")
        .file("ws/memory-bank/README.md", "Not this.\n")
        .file("home/notes/README.md", "My notes.\n")
        .file("home/notes/sub/deep.md", "Deep.\n");
    let project = project(&folders);
    folders.file(&format!("{project}/MEMORY.md"), "What Claude noted.\n")
}

fn settings(writable: bool) -> serde_json::Value {
    let notes =
        json!({ "scheme": "memory", "name": "notes", "path": "~/notes", "writable": writable });
    json!({ "internal": { "roots": [notes] } })
}

#[test]
fn the_bare_scheme_lists_the_namespaces() {
    let folders = example();
    let daemon = folders.builder().settings(settings(true)).start();
    let read = daemon.read("memory://").expect("a list");
    let claude = project(&folders).replace("home/", "~/");
    let expected = format!(
        "\
notes   (~/notes; writable)
claude  ({claude})
serena  (workspace: .serena/memories)
bank    (workspace: memory-bank)

[memory://NS reads one, memory://NS/ lists its files]"
    );
    assert_eq!(text(&read), expected);
    let resources = read["details"]["resources"].as_array().expect("a list");
    let providers: Vec<_> = resources.iter().map(|it| &it["provider"]).collect();
    assert_eq!(providers, ["settings", "user", "workspace", "workspace"]);
    assert_eq!(resources[0]["path"], folders.tree.spelled("home/notes"));
    assert_eq!(resources_status(&daemon)["memories"], 4);
    let empty = Folders::new();
    let daemon = empty.start();
    let said = shown(&daemon, "memory://");
    assert!(
        said.starts_with("1:No memories in ~/.claude/projects/"),
        "{said}"
    );
    assert!(said.ends_with(".serena/memories, memory-bank"), "{said}");
}

#[test]
fn each_is_read_by_its_front_file_else_as_a_listing() {
    let folders = example();
    let daemon = folders.builder().settings(settings(false)).start();
    assert_eq!(shown(&daemon, "memory://claude"), "1:What Claude noted.");
    assert_eq!(shown(&daemon, "memory://notes"), "1:My notes.");
    assert_eq!(shown(&daemon, "memory://root"), "1:My notes.");
    assert_eq!(shown(&daemon, "memory://root/sub/deep.md:1"), "1:Deep.");
    assert_eq!(
        shown(&daemon, "memory://bank"),
        "[From the workspace: memory-bank/memory_summary.md]\n1:In short."
    );
    let listing = daemon.read("memory://serena").expect("a listing");
    assert_eq!(listing["details"]["kind"], "directory");
    assert!(text(&listing).starts_with("[From the workspace: .serena/memories]\nmemory://serena/"));
    assert!(text(&listing).contains("style.md"));
    let read = daemon
        .read("memory://workspace:serena/style.md")
        .expect("a note");
    assert_eq!(
        read["details"]["meta"]["source"],
        "memory://serena/style.md"
    );
    assert_eq!(read["details"]["trusted"], false);
    assert!(shown(&daemon, "memory://notes/").contains("README.md"));
    assert!(shown(&daemon, "memory://notes/sub").starts_with("memory://notes/sub"));
    let missing = refused(&daemon, "memory://note");
    assert_eq!(missing.data["suggestions"][0], "memory://notes");
    let missing = refused(&daemon, "memory://notes/sub/dep.md");
    assert_eq!(missing.data["suggestions"][0], "memory://notes/sub/deep.md");
    for bad in [
        "memory://notes/../x",
        "memory://notes/%2e%2e/x",
        "memory://notes//etc",
        "memory://notes/a%2Fb",
    ] {
        assert_eq!(refused(&daemon, bad).kind(), "badParams", "{bad}");
    }
}

#[test]
fn a_writable_one_is_edited_by_its_address() {
    let folders = example().file("ws/a.txt", "one\ntwo\n");
    let daemon = folders.builder().settings(settings(true)).start();
    let read = daemon.read("memory://notes/README.md").expect("a note");
    let tag = read["details"]["hashline"]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    assert_eq!(
        text(&read),
        format!("¶memory://notes/README.md#{tag}\n1:My notes.")
    );
    assert_eq!(read["details"]["kind"], "file");
    // One patch may hold this and a file of the workspace.
    let other = daemon.read("a.txt").expect("a file");
    let other = other["details"]["hashline"]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    let patch = format!(
        "¶memory://notes/README.md#{tag}\nreplace 1..1:\n+My own notes.\n¶a.txt#{other}\ndelete 2\n"
    );
    daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("edited");
    let on_disk =
        |name: &str| std::fs::read_to_string(folders.tree.join(name)).expect("it is there");
    assert_eq!(on_disk("home/notes/README.md"), "My own notes.\n");
    assert_eq!(on_disk("ws/a.txt"), "one\n");
    let made = json!({ "path": "memory://notes/new/today.md", "text": "Today.\n" });
    let made = daemon.call("agent/write", made).expect("made");
    assert!(
        made.to_string().contains("memory://notes/new/today.md"),
        "{made}"
    );
    assert_eq!(on_disk("home/notes/new/today.md"), "Today.\n");
    assert!(shown(&daemon, "memory://notes/new/today.md").ends_with("\n1:Today."));
    assert!(!folders.tree.join("ws/memory:").exists());
    for bad in [
        "memory://notes/../x.md",
        "memory://notes/a\\b.md",
        "memory://notes//etc/x",
    ] {
        let write = json!({ "path": bad, "text": "x\n" });
        let error = daemon.call("agent/write", write).expect_err(bad);
        assert_eq!(error.kind(), "badParams", "{bad}: {}", error.message);
    }
}

#[test]
fn what_changes_in_a_writable_one_is_told() {
    let folders = example();
    let daemon = folders.builder().settings(settings(true)).start();
    let read = daemon.read("memory://notes/README.md").expect("a note");
    let tag = read["details"]["hashline"]["tag"].clone();
    folders
        .tree
        .replace("home/notes/README.md", "Somebody else's.\n");
    let told = daemon.expect_notification("agent/didChangeSnapshot");
    assert_eq!(told["path"], "memory://notes/README.md");
    assert_eq!(told["tag"], tag);
}

#[test]
fn one_that_is_not_there_is_not_made() {
    let folders = Folders::new();
    let daemon = folders.builder().settings(settings(true)).start();
    assert_eq!(refused(&daemon, "memory://notes/a.md").kind(), "notFound");
    let write = json!({ "path": "memory://notes/a.md", "text": "First.\n" });
    let error = daemon
        .call("agent/write", write.clone())
        .expect_err("refused");
    assert_eq!(error.kind(), "unsupported");
    assert!(error.message.contains("must be there"), "{}", error.message);
    // Once somebody has made it, it is written.
    std::fs::create_dir(folders.tree.join("home/notes")).expect("made");
    daemon.call("agent/write", write).expect("made");
    assert!(shown(&daemon, "memory://notes/a.md").ends_with("\n1:First."));
    let listed = shown(&daemon, "memory://");
    assert_eq!(listed.lines().next(), Some("notes  (~/notes; writable)"));
}

#[test]
fn no_other_is_changed() {
    let folders = example();
    let daemon = folders.builder().settings(settings(false)).start();
    for (path, file) in [
        ("memory://notes/x.md", "~/notes/x.md"),
        ("memory://serena/style.md", ".serena/memories/style.md"),
        ("memory://bank", "memory-bank/MEMORY.md"),
    ] {
        let write = json!({ "path": path, "text": "x\n" });
        let error = daemon.call("agent/write", write).expect_err("refused");
        assert_eq!(error.kind(), "unsupported");
        let said = format!("is read-only here; its file is {file}");
        assert!(error.message.contains(&said), "{}", error.message);
    }
    let write = json!({ "path": "memory://other/x.md", "text": "x\n" });
    let error = daemon.call("agent/write", write).expect_err("refused");
    assert!(
        error.message.contains("internal.roots"),
        "{}",
        error.message
    );
    let names = json!([
        { "scheme": "memory", "name": "user:notes", "path": "~/notes" },
        { "scheme": "skill", "name": "s", "path": "~/notes", "writable": true },
    ]);
    let settings = json!({ "internal": { "roots": names } });
    let daemon = folders.builder().settings(settings).start();
    let said = problems(&daemon);
    assert!(said.contains("a memory needs a name"), "{said}");
    assert!(said.contains("only memories can be changed"), "{said}");
}
