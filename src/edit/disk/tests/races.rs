//! What others do between two steps of a write: nothing of theirs is lost, and nothing outside is touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::super::fail::scripted::watching;
use super::super::lock::number_of;
use super::super::{FileWrite, Step, WriteError, Written};
use super::{Place, inode, mode_of};

/// Writes while `other` is done before the first `step`; `forbidden` steps fail as unsupported.
fn write_beside(
    place: &Place,
    files: Vec<FileWrite>,
    step: Step,
    forbidden: &'static [Step],
    other: impl FnOnce() + 'static,
) -> Result<Vec<Written>, WriteError> {
    let mut other = Some(other);
    let watch = move |now: Step| {
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
const SYSTEMS: [&[Step]; 3] = [
    &[],
    &[Step::Exchange, Step::Claim],
    &[Step::Exchange, Step::Link],
];

#[test]
fn a_write_of_somebody_else_at_any_moment_is_kept() {
    for (number, forbidden) in SYSTEMS.into_iter().enumerate() {
        for step in [
            Step::Create,
            Step::Sync,
            Step::Lock,
            Step::Recheck,
            Step::Rename,
            Step::Exchange,
        ] {
            let place = Place::new();
            place.put("a", "old a");
            place.put("b", "old b");
            let files = vec![place.change("a", "new a"), place.change("b", "new b")];
            let path = place.path("a");
            // As long as before, in the same inode, and perhaps within a tick of the clock.
            let other = move || fs::write(path, "odd a").expect("written");
            let error = write_beside(&place, files, step, forbidden, other);
            let error = error.expect_err("changed");
            let what = format!("{step:?} on system {number}: {error:?}");
            assert!(matches!(error, WriteError::Changed { index: 0 }), "{what}");
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
        for step in [Step::Sync, Step::Rename, Step::Exchange] {
            let place = Place::new();
            place.put("a", "old");
            place.put("theirs", "odd");
            let files = vec![place.change("a", "new")];
            let (from, to) = (place.path("theirs"), place.path("a"));
            let other = move || fs::rename(from, to).expect("renamed");
            let error = write_beside(&place, files, step, forbidden, other).expect_err("changed");
            assert!(
                matches!(error, WriteError::Changed { index: 0 }),
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
        for step in [Step::Create, Step::Recheck, Step::Rename, Step::Exchange] {
            let place = Place::new();
            place.put("a", "old");
            let files = vec![place.change("a", "new")];
            let path = place.path("a");
            let other = move || fs::remove_file(path).expect("removed");
            let error = write_beside(&place, files, step, forbidden, other).expect_err("gone");
            assert!(
                matches!(error, WriteError::Gone { index: 0 }),
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
        for step in [Step::Create, Step::Lock, Step::Rename, Step::Claim] {
            let place = Place::new();
            place.put("a", "old");
            let files = vec![place.change("a", "new"), place.creation("d/b", "new")];
            let path = place.path("d/b");
            let other = move || {
                fs::create_dir_all(path.parent().expect("below")).expect("made");
                fs::write(path, "theirs").expect("written");
            };
            let error = write_beside(&place, files, step, forbidden, other).expect_err("exists");
            assert!(
                matches!(error, WriteError::Exists { index: 1 }),
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
    for step in [Step::Note, Step::Create, Step::Sync, Step::Lock] {
        let place = Place::new();
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
            WriteError::Changed { .. } | WriteError::Refused { .. }
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
    let place = Place::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new")];
    let path = place.path("a");
    let other = move || {
        fs::set_permissions(path, fs::Permissions::from_mode(0o751)).expect("set");
    };
    write_beside(&place, files, Step::Lock, &[], other).expect("written");
    assert_eq!(
        (place.text("a"), mode_of(&place, "a")),
        ("new".into(), 0o751)
    );
    place.assert_clean();
}

#[test]
fn a_second_name_given_meanwhile_is_not_torn_off() {
    let place = Place::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new")];
    let (from, to) = (place.path("a"), place.path("b"));
    let other = move || fs::hard_link(from, to).expect("linked");
    let error = write_beside(&place, files, Step::Lock, &[], other).expect_err("changed");
    assert!(
        matches!(error, WriteError::Changed { index: 0 }),
        "{error:?}"
    );
    assert_eq!(inode(&place, "a"), inode(&place, "b"));
    place.assert_clean();
}

#[test]
fn whoever_writes_over_our_text_before_it_is_taken_back_keeps_theirs() {
    for forbidden in &SYSTEMS[..2] {
        let place = Place::new();
        place.put("a", "old a");
        place.put("b", "old b");
        place.put("theirs", "odd a");
        let files = vec![place.change("a", "new a"), place.change("b", "new b")];
        let (from, to) = (place.path("theirs"), place.path("a"));
        let mut renames = 0;
        let watch = move |now: Step| {
            if now == Step::Rename {
                renames += 1;
            }
            if renames == 2 && now == Step::Rename {
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
    let place = Place::new();
    place.put("a", "old");
    let files = vec![place.change("a", "new")];
    let path = place.path("a");
    let mut other = Some(move || fs::write(path, "odd").expect("written"));
    let watch = move |now: Step| {
        if now == Step::Exchange
            && let Some(other) = other.take()
        {
            other();
        }
        match now {
            Step::Rollback => Err(Errno::IO.into()),
            _ => Ok(()),
        }
    };
    let error = watching(watch, || place.write(files)).expect_err("broken");
    assert!(
        matches!(&error, WriteError::Partly { written, .. } if written == &[0]),
        "{error:?}"
    );
    assert_eq!(place.text("a"), "new");
    let left: Vec<PathBuf> = place.litter();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read_to_string(&left[0]).expect("a text"), "odd");
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_not_for_ever() {
    let mut place = Place::new();
    place.put("a", "old");
    place.writer.lock_wait = Duration::from_millis(20);
    let name = format!("{:03x}", number_of(&place.path("a")));
    fs::create_dir_all(place.top.join("state/locks")).expect("made");
    let lock = fs::File::create(place.top.join("state/locks").join(name)).expect("made");
    let flock = |operation| rustix::fs::flock(&lock, operation).expect("locked");
    flock(FlockOperation::LockExclusive);
    let files = vec![place.creation("b", "new"), place.change("a", "new")];
    let error = place.write(files).expect_err("busy");
    assert!(matches!(error, WriteError::Busy { index: 1 }), "{error:?}");
    assert_eq!(place.text("a"), "old");
    place.assert_clean();
    flock(FlockOperation::Unlock);
    place
        .write(vec![place.change("a", "new")])
        .expect("written");
}
