//! What a write does when nothing is in its way, and what it refuses before anything is written.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::io::Errno;

use crate::protocol::Refusal;
use crate::task::{CancelToken, Stopped, Work};
use crate::workspace::Stamp;

use super::super::fail::scripted::failing;
use super::super::stage::temporary_name;
use super::super::{FileError, WriteError, WriteStep};
use super::{Scratch, as_ordinary_user, chown, errno, inode, is_root};

#[test]
fn files_are_changed_and_made_in_one_go() {
    let place = Scratch::new();
    place.put("a", "old a");
    place.put("b", "old b");
    let files = vec![
        place.change("b", "new b"),
        place.creation("c", "new c"),
        place.change("a", "new a"),
    ];
    let written = place.write(files).expect("written");
    for (name, written) in ["b", "c", "a"].iter().zip(&written) {
        assert_eq!(place.text(name), format!("new {name}"));
        assert_eq!(written.real.as_path(), place.path(name));
        assert_eq!(written.stamp, Some(Stamp::of(&place.metadata(name))));
        assert!(!written.in_place);
    }
    place.assert_clean();
    assert!(place.write(Vec::new()).expect("nothing to do").is_empty());
}

#[test]
fn an_empty_file_is_written_and_becomes_empty() {
    let place = Scratch::new();
    place.put("a", "");
    place.write(vec![place.change("a", "x")]).expect("written");
    assert_eq!(place.text("a"), "x");
    place.write(vec![place.change("a", "")]).expect("written");
    assert_eq!(place.text("a"), "");
    place.assert_clean();
}

#[test]
fn missing_directories_are_made() {
    let place = Scratch::new();
    let files = vec![place.creation("d/e/f", "new"), place.creation("d/g", "new")];
    place.write(files).expect("written");
    assert_eq!(place.text("d/e/f"), "new");
    assert_eq!(place.text("d/g"), "new");
    fs::create_dir(place.path("like")).expect("made");
    assert_eq!(place.metadata("d/e").mode(), place.metadata("like").mode());
    place.put("like/file", "x");
    let like = place.metadata("like/file").mode();
    assert_eq!(place.metadata("d/g").mode(), like);
    place.assert_clean();
}

#[test]
fn a_directory_that_is_a_file_is_the_systems_error() {
    let place = Scratch::new();
    place.put("a", "old");
    place.put("d", "a file");
    // Scope would refuse it: it became a file after it was judged.
    fs::remove_file(place.path("d")).expect("removed");
    let files = vec![place.change("a", "new"), place.creation("d/e/f", "new")];
    place.put("d", "a file");
    let error = place.write(files).expect_err("not a directory");
    assert_eq!(errno(&error), Some(Errno::NOTDIR), "{error}");
    assert_eq!(
        (place.text("a"), place.text("d")),
        ("old".into(), "a file".into())
    );
    place.assert_clean();
}

#[test]
fn a_file_that_appeared_is_never_overwritten() {
    let place = Scratch::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new"), place.creation("d/b", "new")];
    fs::create_dir(place.path("d")).expect("made");
    place.put("d/b", "theirs");
    let error = place.write(files).expect_err("it exists");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 1,
                fault: FileError::Exists
            }
        ),
        "{error:?}"
    );
    assert_eq!(place.text("a"), "old");
    assert_eq!(place.text("d/b"), "theirs");
    place.assert_clean();
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let place = Scratch::new();
    fs::create_dir_all(place.path("real/deep")).expect("made");
    place.put("real/deep/file", "old");
    symlink(place.path("real/deep/file"), place.path("absolute")).expect("linked");
    symlink("real", place.path("linked")).expect("linked");
    symlink("../real/deep/file", place.path("real/relative")).expect("linked");
    for (number, name) in ["absolute", "linked/relative", "linked/deep/file"]
        .iter()
        .enumerate()
    {
        let text = format!("new {number}");
        let written = place
            .write(vec![place.change(name, &text)])
            .expect("written");
        assert_eq!(written[0].real.as_path(), place.path("real/deep/file"));
        assert_eq!(place.text("real/deep/file"), text);
    }
    for name in ["absolute", "linked", "real/relative"] {
        let metadata = place.path(name).symlink_metadata().expect("it is there");
        assert!(metadata.is_symlink(), "{name}");
    }
    place.assert_clean();
}

#[test]
fn a_touch_is_no_change_and_a_change_within_the_clocks_tick_is() {
    let place = Scratch::new();
    place.put("a", "old");
    let change = place.change("a", "new");
    let before = place.metadata("a").modified().expect("a time");
    place.put("a", "odd");
    let file = fs::File::options().write(true).open(place.path("a"));
    let file = file.expect("opened");
    file.set_modified(before).expect("set back");
    let error = place.write(vec![change]).expect_err("changed");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 0,
                fault: FileError::Changed
            }
        ),
        "{error:?}"
    );
    assert_eq!(place.text("a"), "odd");

    let change = place.change("a", "new");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("touched");
    place.write(vec![change]).expect("written");
    assert_eq!(place.text("a"), "new");
    place.assert_clean();
}

#[test]
fn what_is_gone_or_something_else_is_not_made_again() {
    let place = Scratch::new();
    fs::create_dir(place.path("d")).expect("made");
    place.put("d/a", "old");
    let (gone, other, moved) = (
        place.change("d/a", "new"),
        place.change("d/a", "new"),
        place.change("d/a", "new"),
    );
    fs::remove_file(place.path("d/a")).expect("removed");
    let error = place.write(vec![gone]).expect_err("gone");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 0,
                fault: FileError::Gone
            }
        ),
        "{error:?}"
    );
    place.put("elsewhere", "old");
    symlink("../elsewhere", place.path("d/a")).expect("linked");
    let error = place.write(vec![other]).expect_err("a link now");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 0,
                fault: FileError::Changed
            }
        ),
        "{error:?}"
    );
    assert_eq!(place.text("elsewhere"), "old");
    fs::remove_dir_all(place.path("d")).expect("removed");
    let error = place.write(vec![moved]).expect_err("gone");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 0,
                fault: FileError::Gone
            }
        ),
        "{error:?}"
    );
    assert!(!place.is_there("d"));
    place.assert_clean();
}

#[test]
fn a_swapped_directory_is_never_followed() {
    let place = Scratch::new();
    fs::create_dir(place.path("d")).expect("made");
    fs::create_dir(place.top.join("outside")).expect("made");
    place.put("d/a", "old");
    fs::write(place.top.join("outside/a"), "old").expect("written");
    let files = [place.change("d/a", "new"), place.creation("d/b", "new")];
    fs::rename(place.path("d"), place.path("moved")).expect("moved");
    symlink(place.top.join("outside"), place.path("d")).expect("linked");
    for file in files {
        let error = place.write(vec![file]).expect_err("it leads outside");
        assert!(
            matches!(
                error,
                WriteError::File {
                    index: 0,
                    fault: FileError::Refused(_)
                }
            ),
            "{error:?}"
        );
    }
    let outside = fs::read_dir(place.top.join("outside")).expect("listed");
    assert_eq!(outside.count(), 1);
    let text = fs::read_to_string(place.top.join("outside/a"));
    assert_eq!(text.expect("a text"), "old");
    place.assert_clean();
}

#[test]
fn only_what_may_be_edited_is_written() {
    let place = Scratch::new();
    place.put("a", "old");
    let other = Scratch::new();
    other.put("a", "old");
    let error = place
        .write(vec![place.change("a", "new"), other.change("a", "new")])
        .expect_err("outside");
    let refused = matches!(
        &error,
        WriteError::File {
            index: 1,
            fault: FileError::Refused(Refusal::OutsideWorkspace { .. })
        }
    );
    assert!(refused, "{error:?}");
    assert_eq!(
        (place.text("a"), other.text("a")),
        ("old".into(), "old".into())
    );
}

#[test]
fn nothing_is_begun_when_nobody_waits() {
    let place = Scratch::new();
    place.put("a", "old");
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = Work::new(cancel, std::time::Duration::from_secs(60));
    let change = vec![place.change("a", "new")];
    let error = place.writer.write(&place.scope, change, &cancelled);
    let error = error.expect_err("cancelled");
    assert!(
        matches!(error, WriteError::Stopped(Stopped::Cancelled)),
        "{error:?}"
    );
    assert_eq!(place.text("a"), "old");
    place.assert_clean();
}

#[test]
fn long_names_are_shortened_between_characters() {
    let place = Scratch::new();
    for name in [
        "n".repeat(255),
        "é".repeat(127),
        "n".repeat(240),
        "é".to_owned(),
    ] {
        let temporary = temporary_name(name.as_ref(), 7, 255);
        assert!(temporary.len() <= 255);
        let temporary = temporary.into_string().expect("whole characters");
        assert!(temporary.starts_with(".n") || temporary.starts_with(".é"));
        place
            .write(vec![place.creation(&name, "old")])
            .expect("made");
        place
            .write(vec![place.change(&name, "new")])
            .expect("written");
        assert_eq!(place.text(&name), "new");
    }
    place.assert_clean();
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let place = Scratch::new();
    place.give_away();
    for name in ["a", "b"] {
        place.put(name, "old");
        chown(&place.path(name), super::NOBODY);
    }
    let read_only = fs::Permissions::from_mode(0o444);
    fs::set_permissions(place.path("b"), read_only).expect("set");
    let error =
        as_ordinary_user(|| place.write(vec![place.change("a", "new"), place.change("b", "new")]));
    let error = error.expect_err("read-only");
    assert!(matches!(
        error,
        WriteError::File {
            index: 1,
            fault: FileError::Io(WriteStep::Open, _)
        }
    ));
    assert_eq!(errno(&error), Some(Errno::ACCESS));
    assert_eq!(
        error.to_string(),
        "could not open for writing the file: Permission denied (os error 13)"
    );
    assert_eq!(
        (place.text("a"), place.text("b")),
        ("old".into(), "old".into())
    );
    place.assert_clean();
    // Root may.
    if is_root() {
        place
            .write(vec![place.change("b", "new")])
            .expect("written");
        assert_eq!(
            (place.text("b"), place.metadata("b").mode() & 0o7777),
            ("new".into(), 0o444)
        );
    }
}

#[test]
fn in_a_read_only_directory_nothing_is_written() {
    let place = Scratch::new();
    place.give_away();
    fs::create_dir(place.path("d")).expect("made");
    for name in ["a", "d/b"] {
        place.put(name, "old");
        chown(&place.path(name), super::NOBODY);
    }
    chown(&place.path("d"), super::NOBODY);
    let mode = |mode| fs::set_permissions(place.path("d"), fs::Permissions::from_mode(mode));
    mode(0o555).expect("set");
    let errors = as_ordinary_user(|| {
        let change = vec![place.change("a", "new"), place.change("d/b", "new")];
        let creation = vec![place.change("a", "new"), place.creation("d/c/e", "new")];
        [place.write(change), place.write(creation)]
    });
    for error in errors {
        let error = error.expect_err("read-only");
        assert!(
            matches!(
                error,
                WriteError::File {
                    index: 1,
                    fault: FileError::Io(..)
                }
            ),
            "{error:?}"
        );
        assert_eq!(errno(&error), Some(Errno::ACCESS));
    }
    assert_eq!(
        (place.text("a"), place.text("d/b")),
        ("old".into(), "old".into())
    );
    place.assert_clean();
    // One that cannot be listed can be written in, and is flushed another way.
    mode(0o333).expect("set");
    as_ordinary_user(|| place.write(vec![place.change("d/b", "new")])).expect("written");
    mode(0o755).expect("set");
    assert_eq!(place.text("d/b"), "new");
    place.assert_clean();
}

#[test]
fn a_home_that_cannot_be_written_to_is_no_hindrance() {
    let place = Scratch::new();
    place.put("a", "old");
    fs::write(place.top.join("state"), "a file").expect("written");
    place
        .write(vec![place.change("a", "new")])
        .expect("written");
    assert_eq!(place.text("a"), "new");
    place.assert_clean();
}

#[test]
fn two_files_of_one_lock_do_not_wait_for_each_other() {
    let place = Scratch::new();
    let number = |name: &str| super::super::lock::number_of(&place.path(name));
    let first = number("0");
    let twin = (1..)
        .map(|at: u32| at.to_string())
        .find(|name| number(name) == first);
    let twin = twin.expect("there are 1,024 numbers");
    let files = vec![place.creation("0", "x"), place.creation(&twin, "x")];
    // As on a file system whose files cannot be locked themselves.
    failing("locknew:*:EINVAL", || place.write(files)).expect("written");
    let locks = fs::read_dir(place.top.join("state/locks")).expect("listed");
    assert_eq!(locks.count(), 1);
    assert_ne!(inode(&place, "0"), inode(&place, &twin));
}
