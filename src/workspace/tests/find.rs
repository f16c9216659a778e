//! How path strings are understood: readings, look-alikes, suffixes, hints; never a silent other file.

use std::time::Duration;

use serde_json::json;

use crate::protocol::Refusal;
use crate::task::{CancelToken, Work};
use crate::view::Guess;
use crate::workspace::{Scope, Via};

use super::{Scratch, content, find, kind, shown};

fn suggestions(scope: &Scope, path: &str) -> Vec<String> {
    match find(scope, path) {
        Err(Refusal::NotFound { suggestions, .. }) => suggestions,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn readings_of_a_path_string() {
    let place = Scratch::new(&["ws/a.txt", "ws/~", "ws/~x", "ws/dir/b.txt"]);
    let scope = place.scope();
    let cases = [
        ("a.txt", "a.txt"),
        ("./a.txt", "a.txt"),
        ("dir//b.txt", "dir/b.txt"),
        ("dir/../a.txt", "a.txt"),
        ("dir/", "dir"),
        ("/", "."),
        ("//", "."),
        (".", "."),
        ("~", "~"),
        ("~x", "~x"),
    ];
    for (path, expected) in cases {
        assert_eq!(shown(&scope, path), expected, "{path}");
    }
    assert_eq!(shown(&scope, &place.text("ws/dir/b.txt")), "dir/b.txt");
    assert_eq!(kind(find(&scope, "")), "badParams");
    assert_eq!(kind(find(&scope, "a\0b")), "badParams");
    assert_eq!(
        kind(find(&scope, "~/nothing-of-this-name")),
        "outsideWorkspace"
    );
    assert_eq!(
        kind(find(&place.scope_of(&[], json!({})), "a.txt")),
        "notFound"
    );
}

#[test]
fn look_alike_names_are_found_and_said_to_be() {
    let place = Scratch::new(&[
        "ws/Screen Shot 4.05.01\u{202F}PM.png",
        "ws/Capture d\u{2019}e\u{301}cran.png",
        "ws/re\u{301}sume\u{301}s/ce\u{301}\u{a0}va.txt",
        "ws/it\u{2019}s",
        "ws/it\u{2018}s",
        "ws/plain.txt",
    ]);
    let scope = place.scope();
    let cases = [
        (
            "Screen Shot 4.05.01 PM.png",
            "Screen Shot 4.05.01\u{202F}PM.png",
        ),
        (
            "Capture d'\u{e9}cran.png",
            "Capture d\u{2019}e\u{301}cran.png",
        ),
        (
            "r\u{e9}sum\u{e9}s/c\u{e9} va.txt",
            "re\u{301}sume\u{301}s/ce\u{301}\u{a0}va.txt",
        ),
    ];
    for (path, expected) in cases {
        for path in [path.to_owned(), place.text(&format!("ws/{path}"))] {
            let found = find(&scope, &path).expect(&path);
            assert_eq!(
                (found.display.as_str(), found.via.clone()),
                (expected, Via::Variant)
            );
            assert_eq!(content(&found), format!("ws/{expected}"));
        }
    }
    assert_eq!(find(&scope, "plain.txt").expect("exact").via, Via::Exact);
    assert_eq!(suggestions(&scope, "it's"), ["it\u{2018}s", "it\u{2019}s"]);
    if cfg!(target_os = "linux") {
        assert_eq!(kind(find(&scope, "PLAIN.TXT")), "notFound");
    }
    // A denied entry is not there: the other one is the only one.
    place.write("ws/.agentignore", "it\u{2019}s\n");
    assert_eq!(shown(&place.scope(), "it's"), "it\u{2018}s");
}

#[test]
fn a_unique_suffix_is_found() {
    let place = Scratch::new(&[
        "ws/deep/er/unique_name.txt",
        "ws/a/index.ts",
        "ws/b/index.ts",
        "ws/b/only/index.ts",
        "ws/.hidden/x.cfg",
        "ws/node_modules/m/mod.js",
        "ws/.git/hooks/hook",
        "ws/target/built.rs",
        "ws/secrets/.env",
        "ws/caf\u{e9}/menu.txt",
        "ws/linked -> ws/deep",
        "ws/far -> out",
        "out/outer.txt",
    ]);
    place.write("ws/.gitignore", "target/\n");
    place.write("ws/.agentignore", "b/only/\n");
    let scope = place.scope();
    let found = find(&scope, "er/unique_name.txt").expect("one match");
    let via = Via::Suffix {
        from: "er/unique_name.txt".into(),
        to: "deep/er/unique_name.txt".into(),
    };
    assert_eq!(
        (found.display.as_str(), found.via),
        ("deep/er/unique_name.txt", via)
    );
    assert_eq!(scope.scans(), 1);
    assert_eq!(shown(&scope, "x.cfg"), ".hidden/x.cfg");
    assert_eq!(shown(&scope, "cafe\u{301}/menu.txt"), "caf\u{e9}/menu.txt");
    assert_eq!(shown(&scope, "menu.txt"), "caf\u{e9}/menu.txt");
    assert_eq!(
        suggestions(&scope, "index.ts"),
        ["a/index.ts", "b/index.ts"]
    );
    for left_out in [
        "mod.js",
        "hook",
        "built.rs",
        "outer.txt",
        "r/unique_name.txt",
    ] {
        assert_eq!(
            suggestions(&scope, left_out),
            Vec::<String>::new(),
            "{left_out}"
        );
    }
    assert_eq!(kind(find(&scope, "only/index.ts")), "notFound");
}

#[test]
fn a_tree_is_walked_only_for_a_missing_relative_name() {
    let place = Scratch::new(&["ws/a/index.ts", "ws/b/index.ts", "ws/deep/unique_name.txt"]);
    let scope = place.scope();
    assert_eq!(shown(&scope, "unique_name.txt"), "deep/unique_name.txt");
    let scans = scope.scans();
    // Neither absolute paths nor those with `..` are searched for.
    assert_eq!(
        kind(find(&scope, &place.text("ws/unique_name.txt"))),
        "notFound"
    );
    assert_eq!(kind(find(&scope, "b/../unique_name.txt")), "notFound");
    assert_eq!(scope.scans(), scans);
    assert_eq!(find(&scope, "a/index.ts").expect("exact").via, Via::Exact);
    assert_eq!(scope.scans(), scans);
}

#[test]
fn git_decides_what_is_ignored_above_a_root() {
    let place = Scratch::new(&["ws/src/a.rs", "ws/gen/b.rs"]);
    place.write(".gitignore", "*\n");
    assert_eq!(
        shown(&place.scope(), "a.rs"),
        "src/a.rs",
        "no repository: its rules do not count"
    );
    place.make(".git/");
    place.write(".gitignore", "gen/\n");
    assert_eq!(shown(&place.scope(), "a.rs"), "src/a.rs");
    assert_eq!(kind(find(&place.scope(), "b.rs")), "notFound");
}

#[test]
fn a_search_is_cancelled_with_its_request() {
    let place = Scratch::new(&["ws/a.txt"]);
    let token = CancelToken::new();
    token.cancel();
    let work = Work::new(token, Duration::from_secs(5));
    let scope = place.scope();
    assert_eq!(
        kind(scope.find("nothing", Guess::Suffix, &work)),
        "cancelled"
    );
    let late = Work::new(CancelToken::new(), Duration::ZERO);
    assert_eq!(kind(scope.find("nothing", Guess::Suffix, &late)), "timeout");
    assert_eq!(kind(scope.find("a.txt", Guess::Suffix, &late)), "ok");
}

#[test]
fn near_names_are_suggested_as_the_caller_would_write_them() {
    let place = Scratch::new(&[
        "ws/config.tsx",
        "ws/config.js",
        "ws/unrelated.md",
        "ws/src/main.rs",
        "ws/src/lib/user_service.py",
        "ws/.env.production",
        "ws/out-link -> out/config.tz",
        "out/config.tz",
        "out/config.ts2",
        "ws/config.to -> out/config.tz",
        "ws/README.md",
    ]);
    let scope = place.scope();
    let cases: [(&str, &[&str]); 10] = [
        ("config.ts", &["config.tsx", "config.js"]),
        ("./config.ts", &["./config.tsx", "./config.js"]),
        (
            "src/../config.ts",
            &["src/../config.tsx", "src/../config.js"],
        ),
        ("src/mian.rs", &["src/main.rs"]),
        ("scr/main.rs", &["src/main.rs"]),
        ("src/lib/user", &["src/lib/user_service.py"]),
        ("README.md/x", &["README.md"]),
        ("readmee.md", &["README.md"]),
        ("src/nowhere/main.rs", &["src/main.rs"]),
        ("zzzzzzzzz", &[]),
    ];
    for (path, expected) in cases {
        assert_eq!(suggestions(&scope, path), expected, "{path}");
    }
    let absolute = place.text("ws/config.ts");
    let expected = [place.text("ws/config.tsx"), place.text("ws/config.js")];
    assert_eq!(suggestions(&scope, &absolute), expected);
    assert_eq!(
        shown(&scope, "config.ts"),
        "File not found: config.ts. Did you mean config.tsx or config.js?"
    );
    assert!(
        suggestions(&scope, "env.production").is_empty(),
        "denied names are never suggested"
    );
}

#[test]
fn several_roots() {
    let place = Scratch::new(&[
        "app/a.txt",
        "app/same.txt",
        "lib/b.txt",
        "lib/same.txt",
        "lib/sub/deep_one.txt",
        "tools/c.txt",
        "tools/lib/d.txt",
    ]);
    let scope = place.scope_of(&["app", "lib"], json!({}));
    let cases = [
        ("a.txt", "a.txt"),
        ("b.txt", "lib/b.txt"),
        ("lib/b.txt", "lib/b.txt"),
        ("lib", "lib"),
        ("lib/", "lib"),
        ("same.txt", "same.txt"),
        ("lib/same.txt", "lib/same.txt"),
        ("../lib/b.txt", "lib/b.txt"),
        ("deep_one.txt", "lib/sub/deep_one.txt"),
        ("/", "."),
        (
            "lib/b.tx",
            "File not found: lib/b.tx. Did you mean lib/b.txt?",
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(shown(&scope, path), expected, "{path}");
    }
    assert_eq!(shown(&scope, &place.text("lib/same.txt")), "lib/same.txt");
    let found = find(&scope, "lib/same.txt").expect("exists");
    assert_eq!(content(&found), "lib/same.txt");
    assert_eq!(scope.display(found.handle.real()), "lib/same.txt");
    // Where another root has an entry of that name, the display is absolute, so that it leads back.
    let scope = place.scope_of(&["tools", "lib"], json!({}));
    assert_eq!(shown(&scope, "lib/d.txt"), "lib/d.txt");
    assert_eq!(shown(&scope, "b.txt"), place.text("lib/b.txt"));
    assert_eq!(shown(&scope, &place.text("lib")), place.text("lib"));
}

#[test]
fn a_rule_of_one_root_does_not_hide_another_roots_file() {
    let place = Scratch::new(&["app/x.txt", "lib/x.txt"]);
    place.write("app/.agentignore", "x.txt\ny.txt\n");
    let scope = place.scope_of(&["app", "lib"], json!({}));
    assert_eq!(shown(&scope, "x.txt"), "lib/x.txt");
    assert_eq!(kind(find(&scope, "y.txt")), "denied");
}

/// Other systems do not have such names.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_can_be_opened() {
    use std::os::unix::ffi::OsStrExt;
    let place = Scratch::new(&[]);
    let path = place
        .at("ws")
        .join(std::ffi::OsStr::from_bytes(b"\xFF.txt"));
    std::fs::write(&path, "x").expect("written");
    let scope = place.scope();
    assert_eq!(scope.open(&path).expect("exists").real().as_path(), path);
    assert!(matches!(
        scope.open(&place.at("ws/none")),
        Err(Refusal::NotFound { .. })
    ));
}

#[test]
fn a_root_that_moves_is_followed() {
    let place = Scratch::new(&["one/a.txt", "two/a.txt", "root -> one"]);
    let scope = place.scope_of(&["root"], json!({}));
    assert_eq!(
        content(&find(&scope, "a.txt").expect("exists")),
        "one/a.txt"
    );
    super::remove(&place.at("root"));
    place.make("root -> two");
    let found = find(&scope, "a.txt").expect("the new folder is inside at once");
    assert_eq!(content(&found), "two/a.txt");
    assert_eq!(shown(&scope, "a.txt"), "a.txt");
}

#[test]
fn a_root_that_moves_behind_a_link_is_followed_with_its_rules() {
    let place = Scratch::new(&["above/root/a.txt", "above/root/b.log"]);
    place.write("above/root/.agentignore", "*.log\n");
    let scope = place.scope_of(&["above/root"], json!({}));
    assert_eq!(shown(&scope, "a.txt"), "a.txt");
    // The folder itself is as it was: nothing of it tells that it is elsewhere.
    std::fs::rename(place.at("above"), place.at("moved")).expect("a new name");
    place.make("above -> moved");
    assert_eq!(kind(find(&scope, "missing.txt")), "notFound");
    assert_eq!(kind(find(&scope, "b.log")), "denied");
    let found = find(&scope, "a.txt").expect("it is there still");
    assert_eq!(content(&found), "above/root/a.txt");
    assert_eq!(kind(find(&scope, "b.log")), "denied");
    assert_eq!(kind(find(&scope, "c.log")), "denied");
}
