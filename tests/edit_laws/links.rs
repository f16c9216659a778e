//! What an edit keeps besides bytes, which version a tag names, and what may not be edited at all; nothing outside a root ever changes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::client::{Daemon, WireError};
use crate::tree::{Tree, numbered_lines};

use super::{
    Untouched, edit, edit_as, everything, file_of, new_tag, patch, read, read_as, tag_of,
    temporaries,
};

const REPLACE_1: &str = "replace 1..1:\n+new\n";

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

fn text(tree: &Tree, name: &str) -> String {
    fs::read_to_string(tree.join(name)).expect("a file")
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its mode");
}

#[test]
fn modes_and_owners_stay() {
    let tree = Tree::new();
    let daemon = start(&tree);
    for mode in [0o755, 0o600, 0o664, 0o4755, 0o444, 0o200 | 0o400] {
        let name = format!("{mode:o}.sh");
        tree.write(&name, "old\nrest\n");
        let path = tree.join(&name);
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(1234), Some(5678)).expect("an owner");
        }
        set_mode(&path, mode);
        let before = fs::metadata(&path).expect("metadata");
        let tag = read(&daemon, &name);
        edit(&daemon, &patch(&name, &tag, REPLACE_1)).expect(&name);
        let after = fs::metadata(&path).expect("metadata");
        let kept = |of: &fs::Metadata| (of.mode(), of.uid(), of.gid(), of.nlink());
        assert_eq!(kept(&after), kept(&before), "{name}");
        assert_eq!(text(&tree, &name), "new\nrest\n");
    }
}

#[test]
fn a_link_stays_a_link_and_its_target_is_written() {
    let tree = Tree::new()
        .file("store/pkg/real.txt", "old\nrest\n")
        .file("store/direct.txt", "old\nrest\n");
    let links = [
        (
            "absolute.txt",
            tree.spelled("store/pkg/real.txt"),
            "store/pkg/real.txt",
        ),
        (
            "relative.txt",
            "store/pkg/real.txt".to_owned(),
            "store/pkg/real.txt",
        ),
        ("chain.txt", "relative.txt".to_owned(), "store/pkg/real.txt"),
        (
            "home/up.txt",
            "../store/pkg/real.txt".to_owned(),
            "store/pkg/real.txt",
        ),
        // From within a linked folder `..` is that of the folder's real place.
        (
            "store/pkg/dots.txt",
            "../direct.txt".to_owned(),
            "store/direct.txt",
        ),
    ];
    fs::create_dir(tree.join("home")).expect("a folder");
    for (link, target, _) in &links {
        symlink(target, tree.join(link)).expect("a link");
    }
    symlink("store/pkg", tree.join("linked")).expect("a link");
    let daemon = start(&tree);
    let through = [
        ("linked/dots.txt", "store/direct.txt"),
        ("linked/real.txt", "store/pkg/real.txt"),
    ];
    let names = links
        .iter()
        .map(|(link, _, real)| (*link, *real))
        .chain(through);
    for (name, real) in names {
        tree.replace(real, "old\nrest\n");
        set_mode(&tree.join(real), 0o755);
        let tag = read(&daemon, name);
        let edited = edit(&daemon, &patch(name, &tag, REPLACE_1)).expect(name);
        assert_eq!(
            file_of(&edited)["wroteTo"],
            tree.spelled(real).as_str(),
            "{name}"
        );
        assert_eq!(text(&tree, real), "new\nrest\n", "{name}");
        assert_eq!(
            fs::metadata(tree.join(real)).expect("metadata").mode() & 0o777,
            0o755
        );
        for (link, target, _) in &links {
            let leads = fs::read_link(tree.join(link)).expect("still a link");
            assert_eq!(leads, Path::new(target), "{name}");
        }
        assert_eq!(
            fs::read_link(tree.join("linked")).expect("a link"),
            Path::new("store/pkg")
        );
    }
    // Both names in one patch are one file and one batch.
    tree.replace("store/direct.txt", numbered_lines(1, 4));
    let tag = read(&daemon, "store/direct.txt");
    let both = patch("linked/dots.txt", &tag, "delete 1\n")
        + &patch("store/direct.txt", &tag, "delete 3\n");
    let edited = edit(&daemon, &both).expect("one batch");
    assert_eq!(edited["details"]["files"].as_array().map(Vec::len), Some(1));
    assert_eq!(text(&tree, "store/direct.txt"), "line 2\nline 4\n");
}

#[test]
fn all_names_of_a_file_see_the_edit() {
    let tree = Tree::new().file("one.txt", "old\nrest\n");
    fs::hard_link(tree.join("one.txt"), tree.join("two.txt")).expect("a second name");
    set_mode(&tree.join("one.txt"), 0o640);
    let daemon = start(&tree);
    let before = Untouched::of(&tree.join("two.txt"));
    let tag = read(&daemon, "one.txt");
    edit(
        &daemon,
        &patch("one.txt", &tag, "replace 1..1:\n+a much longer new line\n"),
    )
    .expect("an edit");
    for name in ["one.txt", "two.txt"] {
        assert_eq!(text(&tree, name), "a much longer new line\nrest\n");
        let now = Untouched::of(&tree.join(name));
        assert_eq!(
            (now.inode, now.mode, now.links),
            (before.inode, before.mode, 2)
        );
    }
    // By the other name it is another path: its lines were never shown under it.
    let tag = read(&daemon, "two.txt");
    edit(&daemon, &patch("two.txt", &tag, "delete 1\n")).expect("an edit");
    assert_eq!(text(&tree, "one.txt"), "rest\n");
    assert_eq!(temporaries(tree.path()), Vec::<String>::new());
}

/// `user.*` attributes of a file; `None` where there are none on this file system.
fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 256];
    let length = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

#[test]
fn extended_attributes_stay() {
    let tree = Tree::new().file("a.txt", "old\nrest\n");
    let path = tree.join("a.txt");
    let set = rustix::fs::setxattr(
        &path,
        "user.origin",
        b"here",
        rustix::fs::XattrFlags::empty(),
    );
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    edit(&daemon, &patch("a.txt", &tag, REPLACE_1)).expect("an edit");
    assert_eq!(text(&tree, "a.txt"), "new\nrest\n");
    // Where the file system has none there is nothing to keep, and no reason to refuse.
    let kept = set.is_ok().then_some(&b"here"[..]);
    assert_eq!(attribute(&path, "user.origin").as_deref(), kept);
}

/// Gives everything in a folder to `nobody`, who runs the daemon.
fn give_away(tree: &Tree) {
    if rustix::process::geteuid().is_root() {
        for name in everything(tree.path())
            .keys()
            .map(String::as_str)
            .chain([".", "closed"])
        {
            chown(tree.join(name), Some(65534), Some(65534)).expect("given away");
        }
    }
}

#[test]
fn what_this_user_may_not_write_is_refused_before_anything_is_written() {
    let tree = Tree::new()
        .file("closed/a.txt", "old\nrest\n")
        .file("read only.txt", "old\nrest\n")
        .file("fine.txt", "old\nrest\n");
    give_away(&tree);
    set_mode(&tree.join("read only.txt"), 0o444);
    set_mode(&tree.join("closed"), 0o555);
    let daemon = Daemon::builder().root(tree.path()).ordinary_user().start();
    let fine = read(&daemon, "fine.txt");
    let before =
        ["closed/a.txt", "read only.txt", "fine.txt"].map(|name| Untouched::of(&tree.join(name)));
    let names = everything(tree.path());
    for name in ["closed/a.txt", "read only.txt"] {
        let tag = read(&daemon, name);
        for first in [true, false] {
            let mut both = [
                patch("fine.txt", &fine, REPLACE_1),
                patch(name, &tag, REPLACE_1),
            ];
            if first {
                both.reverse();
            }
            let error = edit(&daemon, &both.concat()).expect_err(name);
            assert_eq!(
                (error.code, error.kind()),
                (-32803, "io"),
                "{name}: {error:?}"
            );
            assert_eq!(error.data["path"], name);
            assert!(
                error.message.contains("ermission denied"),
                "{}",
                error.message
            );
            assert!(
                error.message.contains("Nothing was written"),
                "{}",
                error.message
            );
        }
    }
    let after =
        ["closed/a.txt", "read only.txt", "fine.txt"].map(|name| Untouched::of(&tree.join(name)));
    assert_eq!(after, before);
    assert_eq!(everything(tree.path()), names);
    let error = edit(&daemon, &patch("fine.txt", &fine, REPLACE_1));
    error.expect("what may be written is");
    set_mode(&tree.join("closed"), 0o755);
    daemon.ignore_changes();
}

/// Two texts whose natural tags are both 1D84.
const ONE: &str = "line one 263\nline two 4471\n";
const OTHER: &str = "line one 410\nline two 6970\n";

#[test]
fn two_texts_with_one_natural_tag_are_never_confused() {
    let tree = Tree::new().file("a.txt", ONE).file("b.txt", OTHER);
    let daemon = start(&tree);
    assert_eq!(
        (read(&daemon, "a.txt"), read(&daemon, "b.txt")),
        ("1D84".into(), "1D84".into())
    );
    tree.replace("a.txt", OTHER);
    // Before and after anybody saw the other text.
    for hunk in [
        "replace 1..1:\n+new\n",
        "delete 2\n",
        "insert after 1:\n+new\n",
    ] {
        let error = edit(&daemon, &patch("a.txt", "1D84", hunk)).expect_err("another text");
        assert_eq!(error.kind(), "stale");
        assert_ne!(error.data["files"][0]["tag"], "1D84");
        assert_eq!(text(&tree, "a.txt"), OTHER);
    }
    let other = read(&daemon, "a.txt");
    assert_ne!(other, "1D84");
    tree.replace("a.txt", ONE);
    assert_eq!(read(&daemon, "a.txt"), "1D84");
    let error = edit(&daemon, &patch("a.txt", &other, "delete 2\n")).expect_err("another text");
    assert_eq!(error.kind(), "stale");
    assert_eq!(text(&tree, "a.txt"), ONE);
    edit(&daemon, &patch("a.txt", "1D84", "delete 2\n")).expect("its own text");
    assert_eq!(text(&tree, "a.txt"), "line one 263\n");
}

#[test]
fn nor_are_they_when_one_of_them_is_evicted() {
    let tree = Tree::new().file("a.txt", ONE);
    let big = format!("{}\n", "x".repeat(99)).repeat(10_000);
    for number in 0..12 {
        tree.write(&format!("big {number}.txt"), format!("{number}\n{big}"));
    }
    let settings = json!({ "memory": { "budgetBytes": 4 * 1024 * 1024 } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    daemon.ignore_changes();
    assert_eq!(read(&daemon, "a.txt"), "1D84");
    for number in 0..12 {
        daemon
            .read(format!("big {number}.txt:1-3"))
            .expect("a read");
    }
    tree.replace("a.txt", OTHER);
    let error = edit(&daemon, &patch("a.txt", "1D84", "delete 2\n")).expect_err("evicted");
    assert_eq!(error.kind(), "expiredTag", "{error:?}");
    let live = error.data["files"][0]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    assert_ne!(live, "1D84");
    assert_eq!(text(&tree, "a.txt"), OTHER);
    assert_eq!(read(&daemon, "a.txt"), live);
    edit(&daemon, &patch("a.txt", &live, "delete 2\n")).expect("by the error's tag");
    assert_eq!(text(&tree, "a.txt"), "line one 410\n");
}

#[test]
fn a_tag_is_good_for_the_lines_that_this_session_was_shown() {
    let tree = Tree::new().file("a.txt", numbered_lines(1, 100));
    let daemon = start(&tree);
    let tag = read_as(&daemon, "one", "a.txt");
    let part = json!({ "session": "two", "path": "a.txt", "selector": "10-12:raw" });
    let seen = daemon.read_with(part).expect("a read");
    assert_eq!(tag_of(&seen), tag);
    let hunk = |line: usize| {
        patch(
            "a.txt",
            &tag,
            &format!("replace {line}..{line}:\n+new {line}\n"),
        )
    };
    edit_as(&daemon, "two", &hunk(11)).expect("it was shown");
    let before = Untouched::of(&tree.join("a.txt"));
    for session in ["two", "three"] {
        let error = edit_as(&daemon, session, &hunk(50)).expect_err("never shown");
        assert_eq!(error.kind(), "notShown");
        let lines = &error.data["files"][0]["lines"];
        assert_eq!(lines, &json!([{ "line": 50, "text": "line 50" }]));
        assert_eq!(Untouched::of(&tree.join("a.txt")), before);
    }
    // One session's error shows nothing to the other.
    let error = edit_as(&daemon, "four", &hunk(50)).expect_err("never shown");
    assert_eq!(error.kind(), "notShown");
    // The very same call again, though the file has moved on from its tag.
    edit_as(&daemon, "two", &hunk(50)).expect("the error showed it");
    let other = hunk(50).replace("new 50", "other 50");
    let error = edit_as(&daemon, "three", &other).expect_err("it has changed since");
    assert_eq!(error.kind(), "stale");
    edit_as(&daemon, "one", &hunk(60)).expect("all was shown");
    assert_eq!(text(&tree, "a.txt").matches("new").count(), 3);
}

/// The lines of an error that an edit may name, by the tag and path that the error gives.
fn given(error: &WireError) -> (String, Vec<(u64, String)>) {
    let file = &error.data["files"][0];
    let line = |line: &Value| {
        let number = line["line"].as_u64().expect("a number");
        (number, line["text"].as_str().expect("a text").to_owned())
    };
    let lines = file["lines"].as_array().expect("lines").iter();
    let header = ["path", "tag"].map(|key| file[key].as_str().expect("a string").to_owned());
    (header.join("#"), lines.map(line).collect())
}

#[test]
fn after_a_restart_the_error_is_enough_to_go_on() {
    for (changed, kind) in [(true, "unknownTag"), (false, "notShown")] {
        let tree = Tree::new().file("a.txt", numbered_lines(1, 100));
        let tag = read(&start(&tree), "a.txt");
        if changed {
            tree.replace("a.txt", format!("first\n{}", numbered_lines(1, 100)));
        }
        let daemon = start(&tree);
        let hunk = "replace 40..42:\n+new\n";
        let before = Untouched::of(&tree.join("a.txt"));
        let error = edit(&daemon, &patch("a.txt", &tag, hunk)).expect_err("another daemon's tag");
        assert_eq!(error.kind(), kind);
        assert_eq!(Untouched::of(&tree.join("a.txt")), before);
        let (header, lines) = given(&error);
        let numbers: Vec<u64> = ["line 40", "line 41", "line 42"]
            .into_iter()
            .filter_map(|wanted| lines.iter().find(|(_, text)| text == wanted))
            .map(|(number, _)| *number)
            .collect();
        let first = 40 + u64::from(changed);
        assert_eq!(numbers, [first, first + 1, first + 2], "{error:?}");
        let retry = format!("¶{header}\nreplace {first}..{}:\n+new\n", first + 2);
        let edited = edit(&daemon, &retry).expect("from the error alone");
        let expected = numbered_lines(1, 39) + "new\n" + &numbered_lines(43, 100);
        assert!(text(&tree, "a.txt").ends_with(&expected));
        assert_eq!(new_tag(&edited), read(&daemon, "a.txt"));
    }
}

/// The refusal of an edit that must not be looked at any further than its path.
fn refused(daemon: &Daemon, path: &str, tag: Option<&str>) -> WireError {
    let hunks = "replace 1..1:\n+stolen\n";
    let answer = match tag {
        Some(tag) => edit(daemon, &patch(path, tag, hunks)),
        None => {
            let edits = json!([{ "op": "replace_text", "old": "secret", "new": "stolen" }]);
            let files = json!([{ "path": path, "edits": edits }]);
            daemon.call("agent/edit", json!({ "files": files }))
        }
    };
    answer.expect_err(path)
}

#[test]
fn access_is_judged_before_anything_else() {
    let outside = Tree::new().file("there.txt", "secret\n");
    let tree = Tree::new()
        .file(".env", "secret\n")
        .file(".agentignore", "/private/\n")
        .file("private/a.txt", "secret\n")
        .file("a.txt", "old\n");
    symlink(outside.join("there.txt"), tree.join("out.txt")).expect("a link");
    symlink(outside.path(), tree.join("out")).expect("a link");
    symlink(".env", tree.join("innocent.txt")).expect("a link");
    let daemon = start(&tree);
    let fine = read(&daemon, "a.txt");
    let before = (everything(tree.path()), everything(outside.path()));
    let there = outside.spelled("there.txt");
    let missing = outside.spelled("missing.txt");
    let uri = format!("file://{there}");
    for (path, kind) in [
        (".env", "denied"),
        (".env.missing", "denied"),
        ("innocent.txt", "denied"),
        ("private/a.txt", "denied"),
        ("private/missing.txt", "denied"),
        (&there, "outsideWorkspace"),
        (&missing, "outsideWorkspace"),
        (&uri, "outsideWorkspace"),
        ("out.txt", "outsideWorkspace"),
        ("out/there.txt", "outsideWorkspace"),
        ("out/missing.txt", "outsideWorkspace"),
        ("../there.txt", "outsideWorkspace"),
    ] {
        // A good tag of another file, one that never was, and none.
        for tag in [Some(&*fine), Some("0BAD"), None] {
            let error = refused(&daemon, path, tag);
            assert_eq!(
                (error.kind(), error.code),
                (kind, -32803),
                "{path}: {error:?}"
            );
            assert!(!error.data.to_string().contains("secret"), "{error:?}");
        }
        // Of what is not to be seen nothing is told beside other faults but that.
        for (other, first) in [(&*fine, kind), ("0BAD", "unknownTag")] {
            let both = patch("a.txt", other, REPLACE_1) + &patch(path, "0BAD", REPLACE_1);
            let error = edit(&daemon, &both).expect_err(path);
            assert_eq!(error.kind(), first, "{path}: {error:?}");
            let faults = error.data["faults"].as_array().expect("faults");
            let last = faults.last().expect("a fault");
            assert_eq!(last["kind"], kind, "{path}: {error:?}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
    let one = refused(&daemon, &there, Some("0BAD"));
    let other = refused(&daemon, &missing, Some("0BAD"));
    assert_eq!(
        one.message.replace("there.txt", "missing.txt"),
        other.message
    );
    assert_eq!(
        (everything(tree.path()), everything(outside.path())),
        before
    );
}

#[test]
fn what_is_only_for_reading_is_not_edited() {
    let outside = Tree::new().file("there.txt", "secret\n");
    let tree = Tree::new();
    for (access, may) in [("read", false), ("allow", true)] {
        let settings = json!({ "access": { "outsideWorkspace": access } });
        let daemon = Daemon::builder()
            .root(tree.path())
            .settings(settings)
            .start();
        daemon.ignore_changes();
        let path = outside.spelled("there.txt");
        let tag = read(&daemon, &path);
        let before = Untouched::of(&outside.join("there.txt"));
        for tag in [&*tag, "0BAD"].into_iter().filter(|_| !may) {
            let error = edit(&daemon, &patch(&path, tag, REPLACE_1)).expect_err(access);
            assert_eq!(error.kind(), "outsideWorkspace", "{error:?}");
            assert_eq!(Untouched::of(&outside.join("there.txt")), before);
        }
        if may {
            edit(&daemon, &patch(&path, &tag, REPLACE_1)).expect("it is allowed");
            assert_eq!(text(&outside, "there.txt"), "new\n");
        }
    }
}

#[test]
fn edits_that_are_turned_off_are() {
    let tree = Tree::new().file("a.txt", "old\n");
    let settings = json!({ "edit": { "enabled": false } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let error = refused(&daemon, "a.txt", None);
    assert_eq!(error.kind(), "unsupported");
    assert_eq!(text(&tree, "a.txt"), "old\n");
}

#[test]
fn a_link_swapped_in_between_is_not_followed() {
    let outside = Tree::new().file("sub/a.txt", "same\nrest\n");
    let tree = Tree::new().file("real/sub/a.txt", "same\nrest\n");
    let (link, spare) = (tree.join("swap"), tree.join("spare"));
    symlink("real", &link).expect("a link");
    let daemon = start(&tree);
    let before = Untouched::of(&outside.join("sub/a.txt"));
    let stop = AtomicBool::new(false);
    let (mut made, mut out) = (0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for target in [outside.path(), &tree.join("real")] {
                    symlink(target, &spare).expect("a spare link");
                    fs::rename(&spare, &link).expect("swapped");
                }
            }
        });
        let mut tag = read(&daemon, "real/sub/a.txt");
        for round in 0..300 {
            let name = if round % 2 == 0 {
                "swap/sub/a.txt"
            } else {
                "real/sub/a.txt"
            };
            let hunk = format!("replace 2..2:\n+round {round}\n");
            match edit(&daemon, &patch(name, &tag, &hunk)) {
                Ok(edited) => {
                    assert_eq!(
                        file_of(&edited)["resolvedPath"],
                        tree.spelled("real/sub/a.txt").as_str()
                    );
                    assert_eq!(
                        text(&tree, "real/sub/a.txt"),
                        format!("same\nround {round}\n")
                    );
                    tag = new_tag(&edited);
                    made += 1;
                }
                Err(error) => {
                    let kinds = ["outsideWorkspace", "notFound", "busy", "unknownTag"];
                    assert!(kinds.contains(&error.kind()), "{error:?}");
                    assert!(name.starts_with("swap"), "{error:?}");
                    out += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(Untouched::of(&outside.join("sub/a.txt")), before);
    assert_eq!(everything(outside.path()).len(), 1);
    assert!(made > 150 && out > 0, "{made} {out}");
}
