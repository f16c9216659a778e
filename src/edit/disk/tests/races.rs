//! What others do between two steps of a write: nothing of theirs is lost, and nothing outside is touched.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::super::fail::scripted::{failing, watching};
use super::super::lock::number_of;
use super::super::{FileError, FileWrite, WriteError, WriteStep, WrittenFile};
use super::{Scratch, inode, mode_of};

/// Writes while `other` is done before the first `step`; `forbidden` steps fail as unsupported.
fn write_beside(
    place: &Scratch,
    files: Vec<FileWrite>,
    step: WriteStep,
    forbidden: &'static [WriteStep],
    other: impl FnOnce() + 'static,
) -> Result<Vec<WrittenFile>, WriteError> {
    let mut other = Some(other);
    let watch = move |now: WriteStep| {
        if now == step
            && let Some(other) = other.take()
        {
            other();
        }
        match forbidden.contains(&now) {
            true => Err(Errno::OPNOTSUPP.into()),
            false => Ok(()),
        }
    };
    watching(watch, || place.write(files))
}

/// A file system with everything, one as over a network, and one as of a memory card.
const SYSTEMS: [&[WriteStep]; 3] = [
    &[],
    &[WriteStep::Exchange, WriteStep::Claim],
    &[WriteStep::Exchange, WriteStep::Link],
];

#[test]
fn a_write_of_somebody_else_at_any_moment_is_kept() {
    for (number, forbidden) in SYSTEMS.into_iter().enumerate() {
        for step in [
            WriteStep::Create,
            WriteStep::Sync,
            WriteStep::Lock,
            WriteStep::Recheck,
            WriteStep::Rename,
            WriteStep::Exchange,
        ] {
            let place = Scratch::new();
            place.put("a", "old a");
            place.put("b", "old b");
            let files = vec![place.change("a", "new a"), place.change("b", "new b")];
            let path = place.path("a");
            // As long as before, in the same inode, and perhaps within a tick of the clock.
            let other = move || fs::write(path, "odd a").expect("written");
            let error = write_beside(&place, files, step, forbidden, other);
            let error = error.expect_err("changed");
            let what = format!("{step:?} on system {number}: {error:?}");
            assert!(
                matches!(
                    error,
                    WriteError::File {
                        index: 0,
                        fault: FileError::Changed
                    }
                ),
                "{what}"
            );
            assert_eq!(
                (place.text("a"), place.text("b")),
                ("odd a".into(), "old b".into()),
                "{what}"
            );
            place.assert_clean();
        }
    }
}

#[test]
fn a_file_put_in_the_place_by_somebody_else_is_kept() {
    for forbidden in &SYSTEMS[..2] {
        for step in [WriteStep::Sync, WriteStep::Rename, WriteStep::Exchange] {
            let place = Scratch::new();
            place.put("a", "old");
            place.put("theirs", "odd");
            let files = vec![place.change("a", "new")];
            let (from, to) = (place.path("theirs"), place.path("a"));
            let other = move || fs::rename(from, to).expect("renamed");
            let error = write_beside(&place, files, step, forbidden, other).expect_err("changed");
            assert!(
                matches!(
                    error,
                    WriteError::File {
                        index: 0,
                        fault: FileError::Changed
                    }
                ),
                "{step:?}: {error:?}"
            );
            assert_eq!(place.text("a"), "odd");
            place.assert_clean();
        }
    }
}

#[test]
fn a_file_removed_meanwhile_is_not_made_again() {
    for forbidden in &SYSTEMS[..2] {
        for step in [
            WriteStep::Create,
            WriteStep::Recheck,
            WriteStep::Rename,
            WriteStep::Exchange,
        ] {
            let place = Scratch::new();
            place.put("a", "old");
            let files = vec![place.change("a", "new")];
            let path = place.path("a");
            let other = move || fs::remove_file(path).expect("removed");
            let error = write_beside(&place, files, step, forbidden, other).expect_err("gone");
            assert!(
                matches!(
                    error,
                    WriteError::File {
                        index: 0,
                        fault: FileError::Gone
                    }
                ),
                "{step:?}: {error:?}"
            );
            assert!(!place.is_there("a"));
            place.assert_clean();
        }
    }
}

#[test]
fn a_file_made_meanwhile_is_not_overwritten() {
    for forbidden in &SYSTEMS[..2] {
        for step in [
            WriteStep::Create,
            WriteStep::Lock,
            WriteStep::Rename,
            WriteStep::Claim,
        ] {
            let place = Scratch::new();
            place.put("a", "old");
            let files = vec![place.change("a", "new"), place.creation("d/b", "new")];
            let path = place.path("d/b");
            let other = move || {
                fs::create_dir_all(path.parent().expect("below")).expect("made");
                fs::write(path, "theirs").expect("written");
            };
            let error = write_beside(&place, files, step, forbidden, other).expect_err("exists");
            assert!(
                matches!(
                    error,
                    WriteError::File {
                        index: 1,
                        fault: FileError::Exists
                    }
                ),
                "{step:?}: {error:?}"
            );
            assert_eq!(
                (place.text("a"), place.text("d/b")),
                ("old".into(), "theirs".into())
            );
            place.assert_clean();
        }
    }
}

#[test]
fn a_directory_swapped_for_a_link_is_not_followed() {
    for step in [
        WriteStep::Note,
        WriteStep::Create,
        WriteStep::Sync,
        WriteStep::Lock,
    ] {
        let place = Scratch::new();
        let outside = place.top.join("outside");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("a"), "old").expect("written");
        fs::create_dir(place.path("d")).expect("made");
        place.put("d/a", "old");
        let files = vec![place.change("d/a", "new"), place.creation("d/b", "new")];
        let (from, to, link) = (place.path("d"), place.path("moved"), outside.clone());
        let other = move || {
            fs::rename(&from, to).expect("moved");
            symlink(link, from).expect("linked");
        };
        let error = write_beside(&place, files, step, &[], other).expect_err("elsewhere");
        let expected = matches!(
            error,
            WriteError::File {
                fault: FileError::Changed,
                ..
            } | WriteError::File {
                fault: FileError::Refused(_),
                ..
            }
        );
        assert!(expected, "{step:?}: {error:?}");
        assert_eq!(fs::read_dir(&outside).expect("listed").count(), 1);
        assert_eq!(
            fs::read_to_string(outside.join("a")).expect("a text"),
            "old"
        );
        assert_eq!(place.text("moved/a"), "old");
        place.assert_clean();
    }
}

#[test]
fn a_mode_changed_meanwhile_is_the_one_that_is_kept() {
    let place = Scratch::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new")];
    let path = place.path("a");
    let other = move || {
        fs::set_permissions(path, fs::Permissions::from_mode(0o751)).expect("set");
    };
    write_beside(&place, files, WriteStep::Lock, &[], other).expect("written");
    assert_eq!(
        (place.text("a"), mode_of(&place, "a")),
        ("new".into(), 0o751)
    );
    place.assert_clean();
}

#[test]
fn a_second_name_given_meanwhile_is_not_torn_off() {
    let place = Scratch::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new")];
    let (from, to) = (place.path("a"), place.path("b"));
    let other = move || fs::hard_link(from, to).expect("linked");
    let error = write_beside(&place, files, WriteStep::Lock, &[], other).expect_err("changed");
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
    assert_eq!(inode(&place, "a"), inode(&place, "b"));
    place.assert_clean();
}

#[test]
fn whoever_writes_over_our_text_before_it_is_taken_back_keeps_theirs() {
    for forbidden in &SYSTEMS[..2] {
        let place = Scratch::new();
        place.put("a", "old a");
        place.put("b", "old b");
        place.put("theirs", "odd a");
        let files = vec![place.change("a", "new a"), place.change("b", "new b")];
        let (from, to) = (place.path("theirs"), place.path("a"));
        let mut renames = 0;
        let watch = move |now: WriteStep| {
            if now == WriteStep::Rename {
                renames += 1;
            }
            if renames == 2 && now == WriteStep::Rename {
                fs::rename(&from, &to).expect("renamed");
                return Err(Errno::IO.into());
            }
            match forbidden.contains(&now) {
                true => Err(Errno::INVAL.into()),
                false => Ok(()),
            }
        };
        let error = watching(watch, || place.write(files)).expect_err("broken");
        let WriteError::Partly {
            written,
            not_written,
            ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!((written, not_written), (vec![0], vec![1]));
        assert_eq!(
            (place.text("a"), place.text("b")),
            ("odd a".into(), "old b".into())
        );
        place.assert_clean();
    }
}

#[test]
fn what_nobody_has_seen_yet_is_not_removed() {
    let place = Scratch::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new")];
    let path = place.path("a");
    let mut other = Some(move || fs::write(path, "odd").expect("written"));
    let watch = move |now: WriteStep| {
        if now == WriteStep::Exchange
            && let Some(other) = other.take()
        {
            other();
        }
        match now {
            WriteStep::Rollback => Err(Errno::IO.into()),
            _ => Ok(()),
        }
    };
    let error = watching(watch, || place.write(files)).expect_err("broken");
    assert!(
        matches!(&error, WriteError::Partly { written, .. } if written == &[0]),
        "{error:?}"
    );
    assert_eq!(place.text("a"), "new");
    let left: Vec<PathBuf> = place.left_behind();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read_to_string(&left[0]).expect("a text"), "odd");
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_not_for_ever() {
    let mut place = Scratch::new();
    place.put("a", "old");
    place.writer.lock_wait = Duration::from_millis(20);
    let by_path = format!("state/locks/{:03x}", number_of(&place.path("a")));
    fs::create_dir_all(place.top.join("state/locks")).expect("made");
    fs::write(place.top.join(&by_path), "").expect("made");
    let is_by_path = ["", "lock:*:EINVAL,locknew:*:EINVAL"];
    for (lock, fail) in ["ws/a", &by_path].into_iter().zip(is_by_path) {
        place.put("a", "old");
        let fail = format!("{fail},note:99:EIO");
        let fail = fail.trim_start_matches(',');
        let lock = fs::File::open(place.top.join(lock)).expect("made");
        let flock = |operation| rustix::fs::flock(&lock, operation).expect("locked");
        flock(FlockOperation::LockExclusive);
        let files = vec![place.creation("b", "new"), place.change("a", "new")];
        let error = failing(fail, || place.write(files)).expect_err("busy");
        assert!(
            matches!(
                error,
                WriteError::File {
                    index: 1,
                    fault: FileError::Busy
                }
            ),
            "{error:?}"
        );
        assert_eq!(place.text("a"), "old");
        place.assert_clean();
        flock(FlockOperation::Unlock);
        let files = vec![place.change("a", "new")];
        failing(fail, || place.write(files)).expect("written");
    }
}

#[test]
fn all_names_of_a_file_have_one_lock() {
    let mut place = Scratch::new();
    place.put("a", "old");
    place.writer.lock_wait = Duration::from_millis(20);
    fs::hard_link(place.path("a"), place.path("b")).expect("linked");
    let lock = fs::File::open(place.path("a")).expect("there");
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("locked");
    let error = place.write(vec![place.change("b", "new")]);
    let error = error.expect_err("busy");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 0,
                fault: FileError::Busy
            }
        ),
        "{error:?}"
    );
    drop(lock);
    // One write has no use for two locks of one file, nor for two plans on one text.
    let both = vec![place.change("a", "new a"), place.change("b", "new b")];
    let error = place.write(both).expect_err("one file");
    assert!(
        matches!(
            error,
            WriteError::File {
                index: 1,
                fault: FileError::Refused(_)
            }
        ),
        "{error:?}"
    );
    assert_eq!(place.text("a"), "old");
    place.assert_clean();
}

#[test]
fn nobody_plans_on_a_text_that_may_be_taken_back() {
    for forbidden in SYSTEMS {
        let place = Scratch::new();
        place.put("a", "old a");
        place.put("b", "old b");
        let files = vec![place.change("a", "new a"), place.change("b", "new b")];
        let (path, seen) = (place.path("a"), Rc::new(Cell::new(false)));
        let saw = seen.clone();
        let mut renames = 0;
        let watch = move |now: WriteStep| {
            renames += usize::from(now == WriteStep::Rename);
            if renames == 2 && now == WriteStep::Rename {
                assert_eq!(fs::read_to_string(&path).expect("a text"), "new a");
                let file = fs::File::open(&path).expect("there");
                let lock = FlockOperation::NonBlockingLockExclusive;
                let locked = rustix::fs::flock(&file, lock);
                assert_eq!(locked, Err(Errno::WOULDBLOCK));
                saw.set(true);
                return Err(Errno::IO.into());
            }
            match forbidden.contains(&now) {
                true => Err(Errno::INVAL.into()),
                false => Ok(()),
            }
        };
        watching(watch, || place.write(files)).expect_err("broken");
        assert!(seen.get());
        assert_eq!(place.text("a"), "old a");
        place.assert_clean();
    }
}

#[test]
fn a_file_that_somebody_has_open_for_writing_stays_the_same_file() {
    let texts = ["new\n", "new, and longer than the old one\n", ""];
    for new in texts {
        let place = Scratch::new();
        place.put("a", "old text\n");
        let before = inode(&place, "a");
        let mut theirs = fs::File::options()
            .append(true)
            .open(place.path("a"))
            .expect("there");
        let written = place.write(vec![place.change("a", new)]).expect("written");
        assert!(written[0].in_place && written[0].open_elsewhere);
        theirs.write_all(b"more\n").expect("written");
        assert_eq!(place.text("a"), format!("{new}more\n"));
        assert_eq!(inode(&place, "a"), before);
        drop(theirs);
        let written = place.write(vec![place.change("a", new)]).expect("written");
        assert!(!written[0].in_place && !written[0].open_elsewhere);
        assert_ne!(inode(&place, "a"), before);
        place.assert_clean();
    }
}

#[test]
fn what_is_added_at_any_moment_stays_behind_the_new_text() {
    let steps = [
        WriteStep::Note,
        WriteStep::Copy,
        WriteStep::Lock,
        WriteStep::Recheck,
        WriteStep::Overwrite,
    ];
    let texts = ["new\n", "new, and longer than the old one\n", "odd text\n"];
    for new in texts {
        for step in steps {
            // Before each of its calls but those that cut off, and before all of them.
            for call in [1, 2, 3, 4, 5, 6, 99] {
                let place = Scratch::new();
                place.put("a", "old text\n");
                let theirs = fs::File::options().append(true).open(place.path("a"));
                let mut theirs = theirs.expect("there");
                let files = vec![place.change("a", new)];
                let (mut calls, added) = (0, Rc::new(Cell::new(0)));
                let count = added.clone();
                let watch = move |now: WriteStep| {
                    calls += usize::from(now == step);
                    if now == step && (calls == call || call == 99) {
                        theirs.write_all(b"a line\n").expect("written");
                        count.set(count.get() + 1);
                    }
                    Ok(())
                };
                watching(watch, || place.write(files)).expect("written");
                let expected = format!("{new}{}", "a line\n".repeat(added.get()));
                assert_eq!(place.text("a"), expected, "{step:?}, call {call}");
                place.assert_clean();
            }
        }
    }
}

#[test]
fn a_writer_that_comes_at_the_last_moment_is_not_left_behind() {
    for forbidden in SYSTEMS {
        for step in [
            WriteStep::Lock,
            WriteStep::Recheck,
            WriteStep::Rename,
            WriteStep::Exchange,
        ] {
            let place = Scratch::new();
            place.put("a", "old\n");
            let files = vec![place.change("a", "new\n")];
            let (path, theirs) = (place.path("a"), Rc::new(RefCell::new(None)));
            let opened = theirs.clone();
            let other = move || {
                let file = fs::File::options().append(true).open(path);
                opened.replace(Some(file.expect("there")));
            };
            let outcome = write_beside(&place, files, step, forbidden, other);
            let error = outcome.expect_err("opened");
            let what = format!("{step:?}: {error:?}");
            assert!(
                matches!(
                    error,
                    WriteError::File {
                        index: 0,
                        fault: FileError::Changed
                    }
                ),
                "{what}"
            );
            let mut theirs = theirs.take().expect("opened");
            theirs.write_all(b"more\n").expect("written");
            assert_eq!(place.text("a"), "old\nmore\n", "{what}");
            place.assert_clean();
        }
    }
}

#[test]
fn what_a_process_of_another_home_left_beside_a_file_goes_with_its_next_write() {
    let place = Scratch::new();
    for name in ["a", "b"] {
        place.put(name, "old");
    }
    let strays = [".a.pilcrow-99-0", ".a.pilcrow-99-1", ".b.pilcrow-99-2"];
    for name in strays {
        place.put(name, "half of the ne");
    }
    let living = fs::File::open(place.path(strays[1])).expect("there");
    rustix::fs::flock(&living, FlockOperation::LockExclusive).expect("locked");
    place
        .write(vec![place.change("a", "new")])
        .expect("written");
    let there = strays.map(|name| place.is_there(name));
    assert_eq!(there, [false, true, true]);
    drop(living);
    let both = vec![place.change("a", "newer"), place.change("b", "newer")];
    place.write(both).expect("written");
    place.assert_clean();
}
