//! What is inside, outside and denied; no refusal here tells whether the file exists.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::protocol::{Refusal, Rule};
use crate::workspace::{FileType, Scope};

use super::{Scratch, content, find, kind, make_fifo, remove, shown};

fn kind_of(scope: &Scope, path: &str) -> String {
    kind(find(scope, path))
}

#[test]
fn the_deny_list_sees_through_spellings() {
    let place = Scratch::new(&[
        "ws/.env",
        "ws/sub/.env.local",
        "ws/.env.example",
        "ws/.ENV.Prod",
        "ws/alias -> ws/.env",
        "ws/dir -> ws/sub",
        "ws/.envrc",
        "ws/plain.txt",
        "ws/.env.link -> ws/plain.txt",
    ]);
    let scope = place.scope();
    let cases = [
        (".env", "denied"),
        ("./.env", "denied"),
        ("sub/../.env", "denied"),
        ("missing/../.env", "denied"),
        (".ENV", "denied"),
        (".Env", "denied"),
        (".e\u{200C}nv", "denied"),
        ("sub/.env.local", "denied"),
        ("dir/.env.local", "denied"),
        ("dir/.env.nothing", "denied"),
        ("alias", "denied"),
        (".ENV.Prod", "denied"),
        (".env/below", "denied"),
        (".env/../plain.txt", "denied"),
        ("sub/.env.none/../../plain.txt", "denied"),
        (".env.link", "denied"),
        ("nowhere/.env", "denied"),
        (".env.example", "ok"),
        (".envrc", "ok"),
        ("plain.txt", "ok"),
        ("plain.txt/../plain.txt", "ok"),
    ];
    for (path, expected) in cases {
        assert_eq!(kind_of(&scope, path), expected, "{path}");
        let absolute = place.text(&format!("ws/{path}"));
        assert_eq!(kind_of(&scope, &absolute), expected, "{absolute}");
    }
    let Err(Refusal::Denied { rule, path }) = find(&scope, "sub/.env.local") else {
        panic!("it is denied");
    };
    assert_eq!(path, "sub/.env.local");
    assert_eq!(
        rule,
        Rule::Setting {
            pattern: ".env.*".into()
        }
    );
}

#[test]
fn denied_patterns_fold_case_and_form_and_directories_deny_what_is_below() {
    let place = Scratch::new(&[
        "ws/Caf\u{e9}/a.txt",
        "ws/cafe\u{301}s.txt",
        "ws/secrets/deep/a.txt",
        "ws/secrets/open.txt",
        "ws/other/secrets",
        "ws/top.txt",
        "ws/sub/top.txt",
    ]);
    let deny =
        json!({ "deny": ["CAFE\u{301}/", "caf\u{e9}s.*", "Secrets/", "!open.txt", "/top.txt"] });
    let scope = place.scope_of(&["ws"], deny);
    assert_eq!(kind_of(&scope, "Caf\u{e9}/a.txt"), "denied");
    assert_eq!(kind_of(&scope, "cafe\u{301}s.txt"), "denied");
    assert_eq!(kind_of(&scope, "caf\u{e9}s.txt"), "denied");
    assert_eq!(kind_of(&scope, "secrets/deep/a.txt"), "denied");
    assert_eq!(kind_of(&scope, "secrets"), "denied");
    // As in git: what is below an excluded directory cannot be re-included.
    assert_eq!(kind_of(&scope, "secrets/open.txt"), "denied");
    // A rule for directories does not deny a file of that name ...
    assert_eq!(kind_of(&scope, "other/secrets"), "ok");
    // ... and where nothing is, it tells nothing about that.
    assert_eq!(kind_of(&scope, "other/deep/secrets"), "denied");
    assert_eq!(kind_of(&scope, "top.txt"), "denied");
    assert_eq!(kind_of(&scope, "sub/top.txt"), "ok");
}

#[test]
fn later_patterns_win_and_an_empty_list_denies_nothing() {
    let place = Scratch::new(&["ws/.env", "ws/keys/a.pem", "ws/keys/ca.pem"]);
    let scope = place.scope_of(&["ws"], json!({ "deny": ["*.pem", "!ca.pem"] }));
    assert_eq!(kind_of(&scope, "keys/a.pem"), "denied");
    assert_eq!(kind_of(&scope, "keys/ca.pem"), "ok");
    assert_eq!(kind_of(&scope, ".env"), "ok");
    let scope = place.scope_of(&["ws"], json!({ "deny": [] }));
    assert_eq!(kind_of(&scope, "keys/a.pem"), "ok");
}

#[test]
fn ignore_files_have_gitignore_precedence() {
    let place = Scratch::new(&[
        "ws/a/keep.log",
        "ws/a/drop.log",
        "ws/build/keep.log",
        "ws/a/b/note.txt",
        "ws/a/b/x.log",
        "ws/link -> ws/a/b",
        "ws/roo.txt",
        "ws/both.txt",
    ]);
    place.write(
        "ws/.agentignore",
        "# rules\n*.log\nbuild/\n/a/b/note.*\nboth.txt\n",
    );
    place.write("ws/a/.agentignore", "!keep.log\n");
    place.write("ws/build/.agentignore", "!*\n");
    place.write("ws/.rooignore", "roo.txt\n!both.txt\n");
    let scope = place.scope();
    let cases = [
        ("a/keep.log", "ok"),
        ("a/drop.log", "denied"),
        ("a/missing.log", "denied"),
        ("a/b/x.log", "denied"),
        ("build/keep.log", "denied"),
        ("build", "denied"),
        ("a/b/note.txt", "denied"),
        ("link/note.txt", "denied"),
        ("link/note.md", "denied"),
        ("link", "ok"),
        ("roo.txt", "denied"),
        ("both.txt", "denied"),
        (".agentignore", "ok"),
        ("a/.agentignore", "ok"),
    ];
    for (path, expected) in cases {
        assert_eq!(kind_of(&scope, path), expected, "{path}");
    }
    let Err(Refusal::Denied { rule, .. }) = find(&scope, "link/note.txt") else {
        panic!("it is denied");
    };
    let file = ".agentignore".to_owned();
    assert_eq!(
        rule,
        Rule::IgnoreFile {
            file,
            pattern: "/a/b/note.*".into()
        }
    );
    let denied = find(&scope, "build/keep.log")
        .expect_err("it is denied")
        .to_string();
    assert!(
        denied.contains("the rule 'build/' in .agentignore"),
        "{denied}"
    );
}

#[test]
fn an_ignore_file_that_cannot_be_read_denies_what_is_below_it() {
    let place = Scratch::new(&[
        "ws/a/x.txt",
        "ws/b/x.txt",
        "ws/c/x.txt",
        "ws/d/x.txt",
        "other/rules",
    ]);
    make_fifo(&place.at("ws/a/.agentignore"));
    // Rules from outside would be quoted in refusals.
    place.make("ws/b/.agentignore -> other/rules");
    place.write("ws/shared", "x.txt\n");
    place.make("ws/c/.rooignore -> ws/shared");
    let scope = place.scope();
    for (path, expected) in [("a/x.txt", "a/.agentignore"), ("b/none", "b/.agentignore")] {
        let Err(Refusal::Denied { rule, .. }) = find(&scope, path) else {
            panic!("{path} is denied");
        };
        assert_eq!(
            rule,
            Rule::UnreadableIgnoreFile {
                file: expected.into()
            }
        );
    }
    assert_eq!(kind_of(&scope, "a"), "ok");
    assert_eq!(kind_of(&scope, "c/x.txt"), "denied");
    assert_eq!(kind_of(&scope, "c/y.txt"), "notFound");
    assert_eq!(kind_of(&scope, "d/x.txt"), "ok");
}

#[test]
fn changed_rules_hold_within_a_second() {
    let place = Scratch::new(&["ws/x.txt"]);
    let scope = place.scope();
    assert_eq!(kind_of(&scope, "x.txt"), "ok");
    place.write("ws/.agentignore", "x.txt\n");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(kind_of(&scope, "x.txt"), "denied");
    remove(&place.at("ws/.agentignore"));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(kind_of(&scope, "x.txt"), "ok");
}

/// What is outside or denied, and links to it.
const UNSEEN: [&str; 13] = [
    "out/secret.txt",
    "out/dir/a",
    "out/dir/.env",
    "out/dir/.agentignore",
    "out/link -> elsewhere/x",
    "elsewhere/x",
    "ws/.env",
    "ws/secrets/a",
    "ws/a.txt",
    "ws/file-link -> out/secret.txt",
    "ws/dir-link -> out/dir",
    "ws/through -> out/link",
    "ws/round -> out/dir/../../ws/a.txt",
];

/// Paths to that.
const UNSEEN_PATHS: [&str; 20] = [
    "../out/secret.txt",
    "../out",
    "../out/dir/a",
    "../out/link",
    "../out/link/b",
    "../out/dir/.env",
    "file-link",
    "dir-link",
    "dir-link/a",
    "dir-link/.env",
    "dir-link/../a",
    "dir-link/../secret.txt",
    "through",
    "round",
    "/etc/passwd",
    ".env",
    ".env/x",
    "secrets/a",
    "~/.profile",
    "../out/dir/../../ws/.env",
];

/// Asks for each path with what is unseen in place and with it gone: the refusals are equal.
#[test]
fn outside_and_denied_answers_do_not_depend_on_existence() {
    let full = Scratch::new(&UNSEEN);
    let scope = full.scope_of(
        &["ws"],
        json!({ "deny": [".env", "secrets/", "file-link/"] }),
    );
    let ask = || UNSEEN_PATHS.map(|path| find(&scope, path).expect_err(path));
    let with = ask();
    for gone in ["out", "elsewhere", "ws/secrets"] {
        std::fs::remove_dir_all(full.at(gone)).expect("removed");
    }
    remove(&full.at("ws/.env"));
    let without = ask();
    for ((path, with), without) in UNSEEN_PATHS.iter().zip(&with).zip(&without) {
        assert_eq!(with, without, "{path}");
        assert_eq!(with.data(), without.data(), "{path}");
    }
    let Refusal::OutsideWorkspace { real_path, .. } = &with[12] else {
        panic!("{:?}", with[12]);
    };
    assert_eq!(
        *real_path,
        full.text("out/link"),
        "links outside are not followed"
    );
    // What is outside on the way takes no part: the same file with it and without.
    assert_eq!(shown(&scope, "../out/dir/../../ws/a.txt"), "a.txt");
}

#[test]
fn what_resolves_into_a_root_is_inside() {
    let place = Scratch::new(&[
        "ws/src/a.rs",
        "alias -> ws",
        "deep/link -> ws/src",
        "ws/up -> ws/src/..",
    ]);
    let scope = place.scope();
    for path in ["alias/src/a.rs", "deep/link/a.rs", "ws/up/src/a.rs"] {
        let found = find(&scope, &place.text(path)).expect(path);
        assert_eq!(content(&found), "ws/src/a.rs");
        let missing = place.text(path) + "x";
        assert_eq!(kind_of(&scope, &missing), "notFound", "{missing}");
    }
    assert_eq!(shown(&scope, &place.text("deep/link/a.rs")), "src/a.rs");
    assert_eq!(shown(&scope, "up/src/a.rs"), "up/src/a.rs");
    // The root itself is spelled by way of a link.
    let scope = place.scope_of(&["alias"], json!({}));
    assert_eq!(shown(&scope, "src/a.rs"), "src/a.rs");
    assert_eq!(shown(&scope, &place.text("ws/src/a.rs")), "src/a.rs");
    assert_eq!(shown(&scope, &place.text("alias/src/a.rs")), "src/a.rs");
    assert_eq!(shown(&scope, "../ws/src/a.rs"), "src/a.rs");
}

#[test]
fn a_folder_that_begins_alike_is_outside() {
    let place = Scratch::new(&["ws2/a.txt", "ws/a.txt"]);
    let scope = place.scope();
    assert_eq!(
        kind_of(&scope, &place.text("ws2/a.txt")),
        "outsideWorkspace"
    );
    assert_eq!(kind_of(&scope, "../ws2/a.txt"), "outsideWorkspace");
}

#[test]
fn the_setting_opens_the_outside_but_for_denied_names() {
    let place = Scratch::new(&[
        "out/a.txt",
        "out/.env",
        "more/b.txt",
        "ws/l -> out",
        "more/.env",
    ]);
    place.write("out/.agentignore", "hidden\n");
    let more = place.text("more");
    let scope = place.scope_of(&["ws"], json!({ "additionalRoots": [more] }));
    let found = find(&scope, &place.text("more/b.txt")).expect("allowed");
    assert_eq!(found.display, place.text("more/b.txt"));
    assert!(scope.may_edit(found.handle.real()));
    assert_eq!(kind_of(&scope, &place.text("more/.env")), "denied");
    assert_eq!(
        kind_of(&scope, &place.text("out/a.txt")),
        "outsideWorkspace"
    );
    for outside in ["read", "allow"] {
        let scope = place.scope_of(&["ws"], json!({ "outsideWorkspace": outside }));
        let found = find(&scope, &place.text("out/a.txt")).expect("allowed");
        assert_eq!(scope.may_edit(found.handle.real()), outside == "allow");
        assert_eq!(shown(&scope, "l/a.txt"), "l/a.txt");
        assert_eq!(kind_of(&scope, &place.text("out/.env")), "denied");
        assert_eq!(kind_of(&scope, "l/.env"), "denied");
        assert_eq!(kind_of(&scope, "l/hidden"), "denied");
        assert_eq!(kind_of(&scope, &place.text("out/b.txt")), "notFound");
    }
}

#[test]
fn special_files_are_named_and_never_waited_for() {
    let place = Scratch::new(&["ws/a.txt", "ws/d/"]);
    make_fifo(&place.at("ws/pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(place.at("ws/sock")).expect("bound");
    place.make("ws/zero -> /dev/zero");
    let begun = Instant::now();
    let scope = place.scope_of(&["ws"], json!({ "outsideWorkspace": "read" }));
    let cases = [
        ("pipe", FileType::Other("a FIFO")),
        ("sock", FileType::Other("a socket")),
        ("zero", FileType::Other("a character device")),
        ("d", FileType::Directory),
        ("a.txt", FileType::Regular),
    ];
    for (path, expected) in cases {
        let found = find(&scope, path).expect(path);
        assert_eq!(found.handle.file_type(), expected);
        let opened = found.handle.open_read();
        assert_eq!(
            opened.is_err(),
            matches!(expected, FileType::Other(_)),
            "{path}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing may hang");
    assert_eq!(kind_of(&place.scope(), "zero"), "outsideWorkspace");
    assert_eq!(kind_of(&place.scope(), "/dev/stdin"), "outsideWorkspace");
}

#[test]
fn names_that_end_like_the_kernels_mark_are_names() {
    let place = Scratch::new(&["ws/a (deleted)", "ws/b"]);
    let scope = place.scope();
    assert_eq!(shown(&scope, "a (deleted)"), "a (deleted)");
    let found = find(&scope, "b").expect("it exists");
    assert!(found.handle.still_there());
    let before = found.handle.stamp();
    remove(&place.at("ws/b"));
    assert!(!found.handle.still_there());
    assert_eq!(
        content(&found),
        "ws/b",
        "the judged file is read, whatever its name is now"
    );
    assert_ne!(found.handle.restamp().expect("it is open"), before);
}

#[test]
fn unreachable_is_not_missing() {
    let place = Scratch::new(&["ws/loop -> ws/loop", "ws/a.txt"]);
    let scope = place.scope();
    let long = "n".repeat(300);
    for path in ["loop", "loop/x"] {
        assert_eq!(kind_of(&scope, path), "io", "{path}");
    }
    assert!(scope.find_exact(&long).expect("no refusal").is_none());
    assert!(scope.find_exact("a.txt:1-5").expect("no refusal").is_none());
    assert!(scope.find_exact("a.txt/x").expect("no refusal").is_none());
    assert!(scope.find_exact("a.txt").expect("no refusal").is_some());
    assert!(scope.find_exact(".env").is_err());
    for long in [long, "a/".repeat(4000), "/".repeat(5000)] {
        assert_eq!(kind_of(&scope, &long), "notFound");
        let refused = scope.destination(&long).expect_err("nothing can be there");
        assert!(
            refused.to_string().ends_with("so long a name."),
            "{refused}"
        );
        assert!(refused.to_string().len() < 1000);
    }
}

#[test]
fn listings_leave_out_what_may_not_be_named() {
    let place = Scratch::new(&["ws/a.txt", "out/b.txt"]);
    place.write("ws/.agentignore", "gen/\n");
    let scope = place.scope();
    assert!(scope.permits(&place.at("ws/a.txt"), false));
    assert!(scope.permits(&place.at("ws"), true));
    assert!(!scope.permits(&place.at("ws/.env"), false));
    assert!(!scope.permits(&place.at("ws/gen"), true));
    assert!(scope.permits(&place.at("ws/gen"), false));
    assert!(!scope.permits(&place.at("out/b.txt"), false));
}

/// Says nothing for root, whom permissions do not stop.
#[test]
fn permissions_are_the_callers_to_report() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        return;
    }
    let place = Scratch::new(&["ws/closed/a.txt", "ws/unread.txt", "ws/rules/a.txt"]);
    place.write("ws/rules/.agentignore", "nothing\n");
    let set = |path: &str, mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.at(path), permissions).expect("changed");
    };
    for path in ["ws/closed", "ws/unread.txt", "ws/rules/.agentignore"] {
        set(path, 0);
    }
    let scope = place.scope();
    for path in ["closed/a.txt", "closed/none"] {
        let refusal = find(&scope, path).expect_err("it cannot be reached");
        let expected = format!("Cannot read '{path}': Permission denied.");
        assert_eq!(refusal.to_string(), expected);
    }
    assert_eq!(kind_of(&scope, "closed/.env"), "denied");
    assert_eq!(kind_of(&scope, "rules/a.txt"), "denied");
    let found = find(&scope, "unread.txt").expect("it is there");
    let error = found.handle.open_read().expect_err("it may not be read");
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    set("ws/closed", 0o700);
}
