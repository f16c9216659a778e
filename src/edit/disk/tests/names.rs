//! Files that are moved and deleted with others that are written: every step fails once, and a process is killed before each; all is done or nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::rc::Rc;

use rustix::io::Errno;
use rustix::process::Signal;

use crate::workspace::NewPlace;

use super::super::fail::scripted::watching;
use super::super::{
    FileChange, FileError, FileWrite, NameChange, NameOf, Planned, Target, WriteError, WriteStep,
    WrittenFile,
};
use super::kills::child;
use super::{Scratch, errno, inode, mode_of};

/// A file that is moved with other bytes, one of two names that is only moved, one that is deleted,
/// a link, and one that is written.
const BEFORE: [(&str, &str); 6] = [
    ("b", "b"),
    ("b too", "b"),
    ("edited", "the old text"),
    ("gone", "what goes"),
    ("link", "-> written"),
    ("written", "the old one"),
];

const AFTER: [(&str, &str); 5] = [
    ("b too", "b"),
    ("link 2", "-> written"),
    ("made/b", "b"),
    ("made/deep/moved", "a new text, which is longer"),
    ("written", "a new one, which is longer"),
];

fn prepare() -> Scratch {
    let place = Scratch::new();
    for (name, text) in BEFORE {
        match text.strip_prefix("-> ") {
            Some(to) => symlink(to, place.path(name)).expect("a link"),
            None if name == "b too" => {
                fs::hard_link(place.path("b"), place.path(name)).expect("linked")
            }
            None => place.put(name, text),
        }
    }
    fs::set_permissions(place.path("edited"), fs::Permissions::from_mode(0o750)).expect("set");
    place
}

impl Scratch {
    fn name_of(&self, name: &str) -> NameOf {
        let handle = self.scope.open(&self.path(name)).expect("it may be read");
        NameOf::File {
            real: handle.real().clone(),
            stamp: handle.stamp(),
            planned: Planned::of(&fs::read(self.path(name)).expect("its bytes")),
        }
    }

    fn moved(&self, name: &str, to: &str, text: Option<&str>) -> FileChange {
        let from = self.name_of(name);
        let to = self.scope.new_place(to, from.real()).expect("it may be");
        FileChange {
            write: text.map(|text| self.change(name, text)),
            name: Some(NameChange {
                from,
                to: Some(to.expect("nothing is there")),
            }),
        }
    }

    fn deleted(&self, name: &str) -> FileChange {
        FileChange {
            write: None,
            name: Some(NameChange {
                from: self.name_of(name),
                to: None,
            }),
        }
    }

    fn link(&self, name: &str, to: Option<&str>) -> FileChange {
        let link = self
            .scope
            .link_at(name)
            .expect("it may be")
            .expect("a link");
        let to = to.map(|to| {
            let to = self.scope.new_place(to, &link.real).expect("it may be");
            to.expect("nothing is there")
        });
        FileChange {
            write: None,
            name: Some(NameChange {
                from: NameOf::Link {
                    real: link.real,
                    leads_to: link.leads_to,
                },
                to,
            }),
        }
    }

    /// All files and links of the workspace, with what is in them.
    fn files(&self) -> BTreeMap<String, String> {
        let top = self.path("");
        let mut found = BTreeMap::new();
        let mut folders = vec![top.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a directory") {
                let path = entry.expect("an entry").path();
                let kind = path.symlink_metadata().expect("it is there").file_type();
                let name = path
                    .strip_prefix(&top)
                    .expect("below")
                    .display()
                    .to_string();
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_symlink() {
                    let to = fs::read_link(&path).expect("a link");
                    found.insert(name, format!("-> {}", to.display()));
                } else {
                    found.insert(name, fs::read_to_string(&path).expect("a text"));
                }
            }
        }
        found
    }
}

pub(super) fn job(place: &Scratch) -> Vec<FileChange> {
    vec![
        place.moved("edited", "made/deep/moved", Some(AFTER[3].1)),
        place.moved("b", "made/b", None),
        place.deleted("gone"),
        place.link("link", Some("link 2")),
        place.change("written", AFTER[4].1).into(),
    ]
}

fn files(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(name, text): &(&str, &str)| (name.to_string(), text.to_string());
    names.iter().map(own).collect()
}

/// Whether everything is done; asserts that it is that or nothing.
fn is_done(place: &Scratch, what: &str) -> bool {
    let now = place.files();
    let is_done = now == files(&AFTER);
    assert!(is_done || now == files(&BEFORE), "{what}: {now:#?}");
    assert_eq!(is_done, place.is_there("made"), "{what}");
    let (one, edited) = match is_done {
        true => ("made/b", "made/deep/moved"),
        false => ("b", "edited"),
    };
    assert_eq!(inode(place, one), inode(place, "b too"), "{what}");
    assert_eq!(mode_of(place, edited), 0o750, "{what}");
    is_done
}

fn unless(forbidden: &[WriteStep], step: WriteStep) -> io::Result<()> {
    match forbidden.contains(&step) {
        true => Err(Errno::OPNOTSUPP.into()),
        false => Ok(()),
    }
}

/// A file system with everything, one that cannot claim a name, and one without links besides.
const SYSTEMS: [&[WriteStep]; 3] = [
    &[],
    &[WriteStep::Exchange, WriteStep::Claim],
    &[WriteStep::Claim, WriteStep::Link],
];

fn steps(forbidden: &'static [WriteStep]) -> Vec<WriteStep> {
    let place = prepare();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let recorded = seen.clone();
    let watch = move |step: WriteStep| {
        recorded.borrow_mut().push(step);
        unless(forbidden, step)
    };
    let changes = job(&place);
    watching(watch, || place.carry_out(changes)).expect("done");
    assert!(is_done(&place, "no fault"));
    place.assert_clean();
    seen.take()
}

fn fail_at(
    place: &Scratch,
    number: usize,
    (forbidden, broken): (&'static [WriteStep], &'static [WriteStep]),
) -> Result<Vec<WrittenFile>, WriteError> {
    let mut count = 0;
    let watch = move |step: WriteStep| {
        count += 1;
        if count == number + 1 || count > number && broken.contains(&step) {
            return Err(Errno::IO.into());
        }
        unless(forbidden, step)
    };
    let changes = job(place);
    watching(watch, || place.carry_out(changes))
}

#[test]
fn a_fault_at_any_step_leaves_all_names_as_they_were() {
    for forbidden in SYSTEMS {
        for (number, step) in steps(forbidden).iter().enumerate() {
            let place = prepare();
            let what = format!("{step:?} (number {number}) fails");
            match fail_at(&place, number, (forbidden, &[])) {
                Ok(_) => assert!(is_done(&place, &what)),
                Err(error) => {
                    assert!(
                        !matches!(error, WriteError::Partly { .. }),
                        "{what}: {error:?}"
                    );
                    assert!(!is_done(&place, &what));
                }
            }
            // What could not be removed stays noted.
            if *step != WriteStep::Remove {
                place.assert_clean();
            }
        }
    }
}

#[test]
fn names_that_cannot_be_given_back_are_said() {
    let mut partly = 0;
    for (number, step) in steps(&[]).iter().enumerate() {
        let place = prepare();
        let what = format!("{step:?} (number {number}), and no way back");
        let Err(error) = fail_at(&place, number, (&[], &[WriteStep::Rollback])) else {
            continue;
        };
        let WriteError::Partly {
            written,
            not_written,
            half_written,
            ..
        } = error
        else {
            assert!(!is_done(&place, &what));
            continue;
        };
        partly += 1;
        let mut all = [&written[..], &not_written].concat();
        all.sort_unstable();
        assert_eq!((all, half_written), (vec![0, 1, 2, 3, 4], vec![]), "{what}");
        let now = place.files();
        let is_new = [
            !now.contains_key("edited") || now["edited"] != BEFORE[2].1,
            !now.contains_key("b"),
            !now.contains_key("gone"),
            !now.contains_key("link"),
            now["written"] != BEFORE[5].1,
        ];
        let new: Vec<usize> = (0..5).filter(|at| is_new[*at]).collect();
        assert_eq!(new, written, "{what}: {now:#?}");
        place.assert_clean();
    }
    assert!(partly > 5, "{partly}");
}

fn kill_at_every_step(forbidden: &'static [WriteStep]) {
    let without: String = forbidden
        .iter()
        .map(|step| format!(",{}:*:EINVAL", step.point()))
        .collect();
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut done, mut undone) = (0, 0);
    for step in steps(forbidden) {
        let call = calls.entry(step.point()).or_default();
        *call += 1;
        let kill = format!("{}:{call}:KILL", step.point());
        let place = prepare();
        let status = child("names", &place.top, &format!("{kill}{without}")).wait();
        let signal = status.expect("it ends").signal();
        assert_eq!(signal, Some(Signal::KILL.as_raw()), "{kill}");
        let problems = place.writer.recover(&place.scope);
        let is_undone = matches!(&problems[..], [told] if told.contains("It was undone"));
        assert!(problems.is_empty() || is_undone, "{kill}: {problems:?}");
        undone += usize::from(is_undone);
        let is_done = is_done(&place, &kill);
        done += usize::from(is_done);
        assert!(!is_undone || !is_done, "{kill}");
        place.assert_clean();
    }
    assert!(done > 1 && undone > 5, "{done} done, {undone} undone");
}

#[test]
fn a_process_killed_at_any_step_leaves_all_names_or_none() {
    kill_at_every_step(&[]);
}

#[test]
fn a_process_killed_at_any_step_leaves_one_name_where_names_are_linked() {
    kill_at_every_step(&[WriteStep::Exchange, WriteStep::Claim]);
}

#[test]
fn what_came_to_a_place_since_a_kill_stays_and_is_said() {
    let place = prepare();
    let status = child("names", &place.top, "delete:1:KILL").wait();
    assert!(status.expect("it ends").signal().is_some());
    place.put("edited", "theirs");
    let problems = place.writer.recover(&place.scope);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("could not be undone"), "{problems:?}");
    assert_eq!(place.text("edited"), "theirs");
    // It is tried again when there is room.
    fs::remove_file(place.path("edited")).expect("removed");
    let problems = place.writer.recover(&place.scope);
    assert!(problems[0].contains("It was undone"), "{problems:?}");
    assert!(!is_done(&place, "undone later"));
    place.assert_clean();
}

/// Carries out while `other` is done before the first `step`.
fn beside(
    place: &Scratch,
    changes: Vec<FileChange>,
    step: WriteStep,
    other: impl FnOnce() + 'static,
) -> Result<Vec<WrittenFile>, WriteError> {
    let mut other = Some(other);
    let watch = move |now: WriteStep| {
        if now == step
            && let Some(other) = other.take()
        {
            other();
        }
        Ok(())
    };
    watching(watch, || place.carry_out(changes))
}

fn fault(outcome: Result<Vec<WrittenFile>, WriteError>) -> FileError {
    match outcome {
        Err(WriteError::File { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_moved_over_what_came_to_its_place() {
    for step in [WriteStep::Lock, WriteStep::Move, WriteStep::Claim] {
        let place = prepare();
        let to = place.path("here");
        let changes = vec![place.moved("written", "here", None)];
        let other = move || fs::write(&to, "theirs").expect("written");
        let fault = fault(beside(&place, changes, step, other));
        assert!(matches!(fault, FileError::Exists), "{step:?}: {fault:?}");
        assert_eq!(place.text("here"), "theirs");
        assert_eq!(place.text("written"), BEFORE[5].1);
        place.assert_clean();
    }
}

#[test]
fn what_somebody_wrote_before_it_is_deleted_is_kept() {
    for step in [
        WriteStep::Lock,
        WriteStep::Recheck,
        WriteStep::Delete,
        WriteStep::Claim,
    ] {
        for replaces in [false, true] {
            let place = prepare();
            let (from, at) = (place.path("new"), place.path("gone"));
            let changes = vec![place.deleted("gone")];
            let other = move || match replaces {
                true => {
                    fs::write(&from, "theirs").expect("written");
                    fs::rename(&from, &at).expect("renamed");
                }
                false => fs::write(&at, "theirs").expect("written"),
            };
            let fault = fault(beside(&place, changes, step, other));
            assert!(matches!(fault, FileError::Changed), "{step:?}: {fault:?}");
            assert_eq!(place.text("gone"), "theirs", "{step:?}");
            place.assert_clean();
        }
    }
}

#[test]
fn a_file_that_is_moved_stays_the_one_it_is() {
    let place = prepare();
    let before = place.metadata("written");
    let changes = vec![place.moved("written", "a/b/c", None)];
    place.carry_out(changes).expect("moved");
    let after = place.metadata("a/b/c");
    assert_eq!(
        (before.ino(), before.mtime_nsec(), before.mode()),
        (after.ino(), after.mtime_nsec(), after.mode())
    );
    place.assert_clean();
}

#[test]
fn a_file_that_was_deleted_is_made_again_with_its_mode() {
    let place = prepare();
    fs::set_permissions(place.path("gone"), fs::Permissions::from_mode(0o751)).expect("set");
    let written = place.carry_out(vec![place.deleted("gone")]).expect("gone");
    let attributes = written[0].deleted.expect("what it was");
    assert!(!place.is_there("gone"));
    place.assert_clean();
    let path = place.scope.destination("gone").expect("it may be made");
    let write = FileWrite {
        target: Target::Restored { path, attributes },
        bytes: BEFORE[3].1.as_bytes().into(),
    };
    place.write(vec![write]).expect("made again");
    assert_eq!(
        (place.text("gone").as_str(), mode_of(&place, "gone")),
        (BEFORE[3].1, 0o751)
    );
    place.assert_clean();
}

/// As where the file system takes both names for one: by a name between.
pub(super) fn other_case(place: &Scratch) -> Vec<FileChange> {
    let real = place.scope.destination("Edited").expect("it may be made");
    let mut change = place.moved("edited", "unused", Some(AFTER[3].1));
    if let Some(name) = &mut change.name {
        name.to = Some(NewPlace {
            real,
            is_alias: true,
        });
    }
    vec![change]
}

/// Whether the file has its other name and its other text; it is that or nothing.
fn is_other_case(place: &Scratch, what: &str) -> bool {
    let now = place.files();
    let text = |name: &str| now.get(name).map(String::as_str);
    match (text("edited"), text("Edited")) {
        (None, Some(text)) => assert_eq!(text, AFTER[3].1, "{what}"),
        (Some(text), None) => assert_eq!(text, BEFORE[2].1, "{what}"),
        other => panic!("{what}: {other:?}"),
    }
    assert_eq!(now.len(), BEFORE.len(), "{what}: {now:#?}");
    place.assert_clean();
    now.contains_key("Edited")
}

#[test]
fn a_name_of_another_case_is_given_by_a_name_between_or_not_at_all() {
    for number in 0..40 {
        let place = prepare();
        let mut count = 0;
        let failing = move |step: WriteStep| {
            count += 1;
            match count == number + 1 && step != WriteStep::Remove {
                true => Err(Errno::IO.into()),
                false => Ok(()),
            }
        };
        let changes = other_case(&place);
        let outcome = watching(failing, || place.carry_out(changes));
        assert_eq!(
            is_other_case(&place, "a fault"),
            outcome.is_ok(),
            "{number}"
        );
    }
    for kill in [
        "move:1:KILL",
        "claim:1:KILL",
        "move:2:KILL",
        "claim:2:KILL",
        "fsyncdir:1:KILL",
    ] {
        let place = prepare();
        let status = child("case", &place.top, kill).wait();
        assert!(status.expect("it ends").signal().is_some(), "{kill}");
        place.writer.recover(&place.scope);
        assert_eq!(
            is_other_case(&place, kill),
            kill.starts_with("fsyncdir"),
            "{kill}"
        );
    }
}

/// Another file system than that of temporary files, where there is one.
fn elsewhere(place: &Scratch) -> Option<Scratch> {
    let shm = Path::new("/dev/shm");
    let here = place.metadata("written").dev();
    let is_other = shm.metadata().is_ok_and(|there| there.dev() != here);
    is_other.then(|| Scratch::in_directory(shm))
}

#[test]
fn to_another_file_system_a_file_is_copied_with_what_it_is() {
    let place = prepare();
    let Some(other) = elsewhere(&place) else {
        return;
    };
    symlink(other.path(""), place.path("there")).expect("linked");
    let settings = crate::protocol::Settings::default();
    let roots = vec![place.path(""), other.path("")];
    let scope = crate::workspace::Scope::new(roots, settings.into(), Default::default());
    let wide = |top: &Scratch| Scratch {
        _temp: None,
        top: top.top.clone(),
        scope: scope.clone(),
        writer: top.writer.clone(),
    };
    let place_wide = wide(&place);
    let to = other.path("made/x");
    let to = to.to_str().expect("UTF-8");
    for (name, text) in [("edited", Some("new")), ("written", None)] {
        let to = format!("{to}/{name}");
        let before = (mode_of(&place, name), place.text(name));
        let changes = || vec![place_wide.moved(name, &to, text)];
        for step in [
            WriteStep::Claim,
            WriteStep::Delete,
            WriteStep::SyncDirectory,
        ] {
            let changes = changes();
            let failing = move |now: WriteStep| match now == step {
                true => Err(Errno::IO.into()),
                false => Ok(()),
            };
            let error = watching(failing, || place_wide.carry_out(changes)).expect_err("failed");
            assert_eq!(errno(&error), Some(Errno::IO), "{step:?}: {error:?}");
            assert_eq!((mode_of(&place, name), place.text(name)), before);
            assert!(!other.is_there("made"), "{step:?}");
        }
        place_wide.carry_out(changes()).expect("moved");
        assert!(!place.is_there(name));
        let there = format!("made/x/{name}");
        let expect = text.map_or(before.1.as_str(), |text| text);
        assert_eq!(
            (mode_of(&other, &there), other.text(&there).as_str()),
            (before.0, expect)
        );
        fs::remove_dir_all(other.path("made")).expect("removed");
    }
    place.assert_clean();
}
