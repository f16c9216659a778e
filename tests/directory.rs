//! Listings of directories as `formats.md` shows them, over real trees with set times; nothing outside of the tree is ever named.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// Sets the age of a file or directory; half a minute more, so that it does not change under a test.
fn age(tree: &Tree, name: &str, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds + 30);
    let file = File::open(tree.join(name)).expect(name);
    let times = FileTimes::new().set_modified(then);
    file.set_times(times).expect("its time is set");
}

fn mode(tree: &Tree, name: &str, mode: u32) {
    fs::set_permissions(tree.join(name), PermissionsExt::from_mode(mode)).expect("its mode");
}

/// Whether this row, its columns set apart by two blanks, is in a listing.
fn has_row(text: &str, row: &str) -> bool {
    let narrow = |row: &str| {
        let name = row.trim_start();
        let cells: Vec<&str> = name.split("  ").map(str::trim).collect();
        let cells: Vec<&str> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
        format!("{}{}", &row[..row.len() - name.len()], cells.join("  "))
    };
    text.lines().any(|found| narrow(found) == row)
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

/// The rows without sizes and ages: what is between the first and the next two blanks.
pub fn names(text: &str) -> Vec<&str> {
    let rows = text.lines().take_while(|row| !row.is_empty());
    let name = |row| {
        let row: &str = row;
        let indent = row.len() - row.trim_start().len();
        let end = row[indent..].find("  ").map_or(row.len(), |at| indent + at);
        &row[..end]
    };
    rows.map(name).collect()
}

#[test]
fn the_sample() {
    let mut tree = Tree::new()
        .file("src/main.rs", "x".repeat(1434))
        .file("src/target/debug/deep/out.o", "x")
        .file("src/.gitignore", "/target\n")
        .file("src/read/window.rs", "x".repeat(6349));
    for number in 1..=20 {
        tree = tree.file(&format!("src/read/r{number:02}.rs"), "12345");
    }
    for number in 1..=20 {
        age(&tree, &format!("src/read/r{number:02}.rs"), number * DAY);
    }
    age(&tree, "src/main.rs", 3 * DAY);
    age(&tree, "src/.gitignore", 400 * DAY);
    age(&tree, "src/target", 4 * DAY);
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("src").expect("a listing");
    let expected = "\
src/
  read/               just now
    window.rs  6.2KB  just now
    r01.rs     5B     1d ago
    r02.rs     5B     2d ago
    r03.rs     5B     3d ago
    r04.rs     5B     4d ago
    r05.rs     5B     5d ago
    r06.rs     5B     6d ago
    r07.rs     5B     7d ago
    r08.rs     5B     8d ago
    r09.rs     5B     9d ago
    r10.rs     5B     10d ago
    r11.rs     5B     11d ago
    … 9 more (src/read)
  main.rs      1.4KB  3d ago
  target/             ignored
  .gitignore   8B     1y ago";
    assert_eq!(text_of(&result), expected);
    let details = &result["details"];
    assert_eq!(details["kind"], "directory");
    assert_eq!(details["isDirectory"], true);
    assert_eq!(details["totalLines"], 18);
    assert_eq!(details["shown"], json!([{ "start": 1, "end": 18 }]));
    assert_eq!(details["resolvedPath"], tree.spelled("src").as_str());
    assert_eq!(
        details["limits"],
        json!({ "resultLimit": 12 }),
        "that of read/"
    );
    for absent in ["truncation", "hashline"] {
        assert_eq!(details.get(absent), None, "{absent}");
    }
    for dialect in ["numbered", "plain"] {
        let other = daemon.read_with(json!({ "path": "src", "dialect": dialect }));
        assert_eq!(text_of(&other.expect(dialect)), text_of(&result));
    }
}

#[test]
fn the_first_root_and_all_ages() {
    let tree = Tree::new();
    let ages = [
        ("now", 0, "just now"),
        ("minutes", 5 * 60, "5m ago"),
        ("hours", 3 * HOUR, "3h ago"),
        ("days", 2 * DAY, "2d ago"),
        ("months", 130 * DAY, "4mo ago"),
        ("years", 400 * DAY, "1y ago"),
    ];
    let mut expected = vec!["./".to_owned()];
    let future = SystemTime::now() + Duration::from_secs(HOUR);
    tree.write("future", "");
    let file = File::options().write(true).open(tree.join("future"));
    let times = FileTimes::new().set_modified(future);
    file.and_then(|file| file.set_times(times))
        .expect("its time");
    expected.push("  future   0B  just now".to_owned());
    for (name, seconds, text) in ages {
        tree.write(name, "");
        if seconds > 0 {
            age(&tree, name, seconds);
        }
        expected.push(format!("  {name:7}  0B  {text}"));
    }
    let daemon = Daemon::start(tree.path());
    for path in [".", "/", "./"] {
        assert_eq!(daemon.read_text(path), expected.join("\n"), "{path}");
    }
}

#[test]
fn sizes_go_up_in_steps_of_1024() {
    let tree = Tree::new();
    let sizes: [(u64, &str); 5] = [
        (21, "21B"),
        (6349, "6.2KB"),
        (24_222_105, "23.1MB"),
        (1024 * 1024 - 1, "1.0MB"),
        (5 << 30, "5.0GiB"),
    ];
    for (bytes, _) in sizes {
        let file = File::create(tree.join(&format!("f{bytes}"))).expect("created");
        file.set_len(bytes).expect("sparse");
    }
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    for (bytes, size) in sizes {
        let name = format!("f{bytes}");
        let row = text
            .lines()
            .find(|row| row.trim_start().starts_with(&format!("{name} ")));
        assert_eq!(
            row.expect(&name),
            format!("  {name:11}  {size:6}  just now")
        );
    }
}

#[test]
fn equal_times_are_in_order_of_name() {
    let tree = Tree::new();
    let then = SystemTime::now() - Duration::from_secs(DAY);
    for name in ["b", "C", "a", "ä", "a.b"] {
        let file = File::create(tree.join(name)).expect("created");
        file.set_modified(then).expect("its time");
    }
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    assert_eq!(names(&text), ["./", "  C", "  a", "  a.b", "  b", "  ä"]);
}

#[test]
fn children_are_cut_at_twelve_and_name_the_path_to_ask_for() {
    let mut tree = Tree::new();
    for number in 0..13 {
        tree = tree
            .file(&format!("twelve/{number}"), "")
            .file(&format!("thirteen/{number}"), "")
            .file(&format!("in/side/{number}"), "");
    }
    fs::remove_file(tree.join("twelve/0")).expect("removed");
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    assert!(text.contains("\n    … 1 more (thirteen)\n"), "{text}");
    assert!(text.contains("\n    side/"), "{text}");
    assert_eq!(text.matches(" more (").count(), 1, "{text}");
    assert!(daemon.read_text("in").contains("    … 1 more (in/side)"));
    assert_eq!(daemon.read_text("thirteen").lines().count(), 14);
    let other = Tree::new().file("x", "");
    let daemon = Daemon::builder()
        .root(other.path())
        .root(tree.path())
        .start();
    let text = daemon.read_text(tree.spelled("in"));
    let name = tree.path().file_name().expect("a name").to_string_lossy();
    assert!(text.starts_with(&format!("{name}/in/\n")), "{text}");
    assert!(
        text.ends_with(&format!("    … 1 more ({name}/in/side)")),
        "{text}"
    );
}

#[test]
fn line_selectors_page_rows() {
    let tree = Tree::new();
    for number in 1..=20 {
        tree.write(&format!("f{number:02}"), "");
        age(&tree, &format!("f{number:02}"), number * DAY);
    }
    let daemon = Daemon::start(tree.path());
    let whole = daemon.read_text(".");
    let rows: Vec<&str> = whole.lines().collect();
    let page = |from: usize, to: usize| rows[from - 1..to].join("\n");
    for raw in ["", ":raw"] {
        assert_eq!(
            daemon.read_text(format!("./:3-5{raw}")),
            format!("{}\n\n[3-5 of 21]", page(3, 5))
        );
        assert_eq!(daemon.read_text(format!("./:20{raw}")), page(20, 21));
        assert_eq!(daemon.read_text(format!("./:-2{raw}")), page(20, 21));
    }
    assert_eq!(daemon.read_text(".:raw"), whole);
    assert_eq!(
        daemon.read_text(".:1,3"),
        format!("{}\n…\n{}", rows[0], rows[2])
    );
    assert_eq!(
        daemon.read_text(".:99"),
        "Line 99 is beyond the end of . (21 lines). Use :1 to read from the start, or :21 to read the last line."
    );
    let refused = daemon.read(".:conflicts").expect_err("no text");
    assert_eq!((refused.code, refused.kind()), (-32602, "badSelector"));
    assert!(refused.message.contains("directory"), "{}", refused.message);
}

#[test]
fn many_entries_page_completely() {
    const COUNT: usize = 15_936;
    let tree = Tree::new();
    for number in 0..COUNT {
        File::create(tree.join(&format!("file-{number:05}.txt"))).expect("created");
    }
    let daemon = Daemon::start(tree.path());
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let result = daemon.read(format!(".{next}")).expect("a page");
        let details = &result["details"];
        assert_eq!(details["totalLines"], COUNT + 1);
        let text = text_of(&result);
        seen.extend(names(text).into_iter().map(str::to_owned));
        let Some(selector) = details["truncation"]["nextSelector"].as_str() else {
            break;
        };
        assert_eq!(
            details["limits"],
            json!({ "resultLimit": 3000, "total": COUNT + 1 })
        );
        let footer = text.lines().next_back().expect("a footer");
        assert!(
            footer.ends_with(&format!(
                " of {} (50 KiB limit). Use :{selector} to continue]",
                COUNT + 1
            )),
            "{footer}"
        );
        next = format!(":{selector}");
    }
    assert_eq!(seen.len(), COUNT + 1);
    assert_eq!(seen.remove(0), "./");
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), COUNT);
    let wide = daemon.read_with(json!({ "path": ".", "budget": { "bytes": 1_000_000 } }));
    let wide = wide.expect("a page");
    assert!(
        text_of(&wide).ends_with("\n\n[Showing lines 1-3000 of 15937. Use :3001- to continue]"),
        "{}",
        text_of(&wide)
    );
    assert_eq!(wide["details"]["truncation"]["reason"], "lines");
}

#[test]
fn ignored_directories_are_one_row_and_never_opened() {
    let tree = Tree::new()
        .file(".gitignore", "/build/\n*.log\n")
        .file(".ignore", "fixtures\n!kept\n")
        .file("web/.gitignore", "dist\n")
        .file("web/dist/x.js", "")
        .file("web/src/x.js", "")
        .file("build/x.o", "")
        .file("fixtures/x", "")
        .file("debug.log", "an ignored file is listed all the same\n")
        .file("dist/x.js", "the rule is one of web/")
        .file(".git/config", "");
    for number in 0..50_000 {
        fs::create_dir_all(tree.join(&format!("node_modules/p{number}"))).expect("a package");
    }
    mode(&tree, ".", 0o755);
    for name in ["node_modules", "build", "fixtures", ".git"] {
        mode(&tree, name, 0o000);
    }
    let daemon = Daemon::builder().root(tree.path()).ordinary_user().start();
    let text = daemon.read_text(".");
    for name in ["node_modules", "build", "fixtures", ".git"] {
        let row = text
            .lines()
            .find(|row| row.trim_start().starts_with(&format!("{name}/")));
        assert!(
            row.is_some_and(|row| row.ends_with("  ignored")),
            "{name}: {text}"
        );
        mode(&tree, name, 0o755);
    }
    assert!(!text.contains("not readable"), "{text}");
    assert!(!text.contains("p17"), "{text}");
    assert!(text.contains("  debug.log "), "{text}");
    assert!(
        text.contains("\n  dist/") && text.contains("\n    x.js "),
        "{text}"
    );
    assert!(text.contains("\n    src/"), "{text}");
    let row = text.lines().find(|row| row.starts_with("    dist/"));
    assert!(row.is_some_and(|row| row.ends_with("ignored")), "{text}");

    let asked = daemon
        .read("node_modules")
        .expect("it is asked for by name");
    assert_eq!(asked["details"]["totalLines"], 50_001);
    assert_eq!(daemon.read_text("build").lines().count(), 2);
    assert_eq!(
        names(&daemon.read_text("web/dist")),
        ["web/dist/", "  x.js"]
    );
    assert_eq!(names(&daemon.read_text(".git")), [".git/", "  config"]);
}

#[test]
fn what_is_in_an_ignored_directory_is_listed_for_who_asks() {
    let tree = Tree::new()
        .file(".gitignore", "target/**\nvenv\n")
        .file("target/debug/deps/x.o", "")
        .file("venv/.gitignore", "*\n")
        .file("venv/lib/python/x.py", "");
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("target/debug");
    assert!(names(&text).contains(&"    x.o"), "{text}");
    let text = daemon.read_text("venv/lib");
    assert!(names(&text).contains(&"    x.py"), "{text}");
}

#[test]
fn rules_of_another_repository_do_not_reach_in() {
    let tree = Tree::new()
        .file(".git/HEAD", "")
        .file(".gitignore", "out\n")
        .file("vendored/.git/HEAD", "")
        .file("vendored/out/x", "")
        .file("package/deep/out/x", "");
    let daemon = Daemon::start(tree.path());
    assert!(daemon.read_text("vendored").contains("\n    x "));
    let text = daemon.read_text("package/deep");
    assert!(has_row(&text, "  out/  ignored"), "{text}");
    let text = daemon.read_text(".");
    assert!(has_row(&text, "    out/  just now"), "{text}");
    // Opened below the repository: git's rules still come from its top.
    let daemon = Daemon::start(&tree.join("package"));
    let text = daemon.read_text("deep");
    assert!(has_row(&text, "  out/  ignored"), "{text}");
}

#[test]
fn links_are_shown_and_never_followed() {
    let outside = Tree::new().file("there/secret-name.txt", "x");
    let tree = Tree::new()
        .file("real/in.txt", "x")
        .file(".env", "KEY=1")
        .file("plain.txt", "x");
    let link = |target: &str, name: &str| symlink(target, tree.join(name)).expect("linked");
    link("real", "to-directory");
    link("plain.txt", "to-file");
    link("gone.txt", "dangling");
    link(&outside.spelled("there"), "to-outside");
    link(&outside.spelled("absent"), "to-nothing-outside");
    link("to-outside", "twice");
    link(".env", "to-denied");
    link("to-denied", "twice-denied");
    link("(outside)", "liar");
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    let has = |row: &str| {
        text.lines()
            .any(|found| found.trim_end_matches("just now").trim_end() == row)
    };
    for row in [
        "  to-directory -> real",
        "  to-file -> plain.txt",
        "  dangling -> gone.txt",
        "  to-outside -> (outside)",
        "  to-nothing-outside -> (outside)",
        "  twice -> (outside)",
        "  liar -> \"(outside)\"",
    ] {
        assert!(has(row), "{row}\n{text}");
    }
    for hidden in ["secret-name", "pilcrow-it-", "denied", ".env"] {
        assert!(!text.contains(hidden), "{hidden}\n{text}");
    }
    assert_eq!(text.matches(" in.txt").count(), 1, "{text}");
}

#[test]
fn denied_names_are_left_out() {
    let tree = Tree::new()
        .file(".env", "x")
        .file(".env.example", "x")
        .file("conf/.env.local", "x")
        .file("conf/open.txt", "x")
        .file("only/.env", "x")
        .file("gen/.agentignore", "*.key\n")
        .file("gen/a.key", "x")
        .file("gen/a.txt", "x")
        .file("private/x.txt", "x")
        .file(".agentignore", "/private/\n");
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    let mut listed = names(&text);
    listed.sort();
    assert_eq!(
        listed,
        [
            "    .agentignore",
            "    a.txt",
            "    open.txt",
            "  .agentignore",
            "  .env.example",
            "  conf/",
            "  gen/",
            "  only/",
            "./",
        ]
    );
    assert_eq!(daemon.read_text("only"), "only/\n(empty directory)");
    assert_eq!(names(&daemon.read_text("gen")).len(), 3);
}

#[test]
fn what_cannot_be_read_says_so() {
    let tree = Tree::new()
        .file("locked/in.txt", "x")
        .file("names/only.txt", "x")
        .file("open/x", "");
    mode(&tree, ".", 0o755);
    mode(&tree, "locked", 0o000);
    mode(&tree, "names", 0o744);
    let daemon = Daemon::builder().root(tree.path()).ordinary_user().start();
    let text = daemon.read_text(".");
    let row = "  locked/  just now  (not readable: permission denied)";
    assert!(has_row(&text, row), "{text}");
    assert!(text.contains("\n    only.txt\n"), "{text}");
    assert!(!text.contains("empty"), "{text}");
    let refused = daemon.read("locked").expect_err("it is locked");
    assert_eq!((refused.code, refused.kind()), (-32803, "io"));
    assert!(
        refused.message.ends_with("ermission denied."),
        "{}",
        refused.message
    );
    mode(&tree, "locked", 0o755);
    mode(&tree, "names", 0o755);
}

#[test]
fn empty_directories() {
    let tree = Tree::new();
    fs::create_dir_all(tree.join("a/b")).expect("created");
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("a/b").expect("a listing");
    assert_eq!(text_of(&result), "a/b/\n(empty directory)");
    assert_eq!(daemon.read_text("a"), "a/\n  b/  just now");
    assert_eq!(
        daemon.read_text("."),
        "./\n  a/    just now\n    b/  just now"
    );
}

#[test]
fn a_name_cannot_forge_a_row() {
    let tree = Tree::new();
    let odd = [
        (
            "a\n  forged.txt  21B  just now",
            r#""a\n  forged.txt  21B  just now""#,
        ),
        ("say \"hi\"", r#""say \"hi\"""#),
        (" blank", r#"" blank""#),
        ("blank ", r#""blank ""#),
        ("esc\u{1b}[2J", r#""esc\u001b[2J""#),
        ("a -> b", r#""a -> b""#),
        ("cells  21B", r#""cells  21B""#),
        ("… 9 more (src)", r#""… 9 more (src)""#),
        ("right\u{202E}txt.exe", r#""right\u202etxt.exe""#),
        ("(empty directory)", "(empty directory)"),
        ("back\\slash", "back\\slash"),
    ];
    for (name, _) in odd {
        tree.write(name, "");
    }
    fs::create_dir(tree.join("dir\n")).expect("created");
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    assert_eq!(text.lines().count(), odd.len() + 2, "{text}");
    for (_, written) in odd {
        let row = format!("  {written} ");
        assert!(
            text.lines().any(|found| found.starts_with(&row)),
            "{row}\n{text}"
        );
    }
    assert!(text.contains("\n  \"dir\\n/\" "), "{text}");
    let listing = daemon.read_text("dir\n");
    assert_eq!(listing, "\"dir\\n/\"\n(empty directory)");
}

#[test]
fn what_is_no_file_is_named() {
    let tree = Tree::new().file("plain.txt", "12345");
    let made = Command::new("mkfifo").arg(tree.join("pipe")).status();
    assert!(made.expect("mkfifo").success());
    let socket = tree.join("sock");
    let _socket = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text(".");
    for row in [
        "  plain.txt  5B      just now",
        "  pipe       fifo    just now",
        "  sock       socket  just now",
    ] {
        assert!(text.lines().any(|found| found == row), "{row}\n{text}");
    }
}

#[test]
fn directories_share_a_budget_with_files() {
    let tree = Tree::new().file("src/a.rs", "x\n").file("b.rs", "y\n");
    let daemon = Daemon::start(tree.path());
    let targets = json!([{ "path": "src" }, { "path": "b.rs" }, { "path": "src:conflicts" }]);
    let result = daemon.call("agent/readMany", json!({ "targets": targets }));
    let results = &result.expect("answered")["results"];
    assert_eq!(text_of(&results[0]["ok"]), "src/\n  a.rs  2B  just now");
    assert!(text_of(&results[1]["ok"]).ends_with("\n1:y"));
    assert_eq!(results[2]["error"]["data"]["kind"], "badSelector");
}

#[test]
fn a_listing_is_never_old() {
    let tree = Tree::new().file("d/a", "");
    let daemon = Daemon::start(tree.path());
    assert_eq!(names(&daemon.read_text("d")), ["d/", "  a"]);
    tree.write("d/b", "");
    assert_eq!(daemon.read_text("d").lines().count(), 3);
    fs::remove_file(tree.join("d/a")).expect("removed");
    assert_eq!(names(&daemon.read_text("d")), ["d/", "  b"]);
}
