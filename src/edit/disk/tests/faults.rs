//! Every step of a write fails once, with each error; no report here is believed before the files were looked at.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use rustix::io::Errno;

use super::super::fail::scripted::watching;
use super::super::lock::number_of;
use super::super::{FileWrite, WriteError, WriteStep, WrittenFile};
use super::{Scratch, inode};

/// Three files: one that is replaced, one of two names that is overwritten, one that is made in
/// directories that are made too.
pub(super) const NAMES: [&str; 3] = ["replaced", "overwritten", "made/deep/new"];

pub(super) fn prepare() -> Scratch {
    let place = of_as_many_locks();
    place.put("replaced", OLD[0].expect("it is there"));
    place.put("overwritten", OLD[1].expect("it is there"));
    fs::hard_link(place.path("overwritten"), place.path("other name")).expect("linked");
    place
}

/// Files may share a lock, and one that is taken once for two would be a step less than elsewhere.
fn of_as_many_locks() -> Scratch {
    loop {
        let place = Scratch::new();
        let locks: BTreeSet<u64> = NAMES.map(|name| number_of(&place.path(name))).into();
        if locks.len() == NAMES.len() {
            return place;
        }
    }
}

/// What each of the files holds before.
pub(super) const OLD: [Option<&str>; 3] = [
    Some("the old text that is replaced"),
    Some("the old text that is overwritten"),
    None,
];

pub(super) fn new_text(name: &str) -> String {
    format!("a new text for {name}, longer than the old one was")
}

pub(super) fn job(place: &Scratch) -> Vec<FileWrite> {
    let text = |number: usize| new_text(NAMES[number]);
    vec![
        place.change(NAMES[0], &text(0)),
        place.change(NAMES[1], &text(1)),
        place.creation(NAMES[2], &text(2)),
    ]
}

/// The texts as they are; asserts that each is wholly old or wholly new, and gives which are new.
pub(super) fn which_are_new(place: &Scratch, what: &str) -> Vec<usize> {
    let is_new = |number: &usize| {
        let now = match place.is_there(NAMES[*number]) {
            true => Some(place.text(NAMES[*number])),
            false => None,
        };
        let is_new = now.as_deref() == Some(&new_text(NAMES[*number]));
        let is_old = now.as_deref() == OLD[*number];
        assert!(is_new || is_old, "{what}: {} is {now:?}", NAMES[*number]);
        is_new
    };
    (0..NAMES.len()).filter(is_new).collect()
}

/// The steps of the job, in order.
pub(super) fn steps(forbidden: &'static [WriteStep]) -> Vec<WriteStep> {
    let place = prepare();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let recorded = seen.clone();
    let watch = move |step: WriteStep| {
        recorded.borrow_mut().push(step);
        unless(forbidden, step)
    };
    watching(watch, || place.write(job(&place))).expect("written");
    assert_eq!(which_are_new(&place, "no fault"), [0, 1, 2]);
    assert_eq!(inode(&place, "overwritten"), inode(&place, "other name"));
    place.assert_clean();
    seen.take()
}

fn unless(forbidden: &[WriteStep], step: WriteStep) -> io::Result<()> {
    match forbidden.contains(&step) {
        true => Err(Errno::OPNOTSUPP.into()),
        false => Ok(()),
    }
}

/// Does the job with the step of this number failing, and those in `broken` from there on.
fn fail_at(
    place: &Scratch,
    number: usize,
    errno: Errno,
    (forbidden, broken): (&'static [WriteStep], &'static [WriteStep]),
) -> Result<Vec<WrittenFile>, WriteError> {
    let mut count = 0;
    let watch = move |step: WriteStep| {
        count += 1;
        if count == number + 1 || count > number && broken.contains(&step) {
            return Err(errno.into());
        }
        unless(forbidden, step)
    };
    watching(watch, || place.write(job(place)))
}

/// A file system with everything, one as over a network, one as of a memory card, and one whose
/// files are locked by their paths.
const SYSTEMS: [&[WriteStep]; 4] = [
    &[],
    &[WriteStep::Exchange, WriteStep::Claim],
    &[WriteStep::Exchange, WriteStep::Link],
    &[WriteStep::Lock, WriteStep::LockNew],
];

#[test]
fn a_fault_at_any_step_leaves_every_file_old_and_nothing_else() {
    for forbidden in SYSTEMS {
        // A temporary that cannot be removed is the next test's.
        let steps = steps(forbidden);
        let steps = steps.iter().enumerate();
        for (number, step) in steps.filter(|(_, step)| **step != WriteStep::Remove) {
            // Elsewhere the last two go the ways of the first two.
            let errnos = [Errno::IO, Errno::PERM, Errno::NOSPC, Errno::ACCESS];
            let count = if forbidden.is_empty() { 4 } else { 2 };
            for errno in &errnos[..count] {
                let errno = *errno;
                let place = prepare();
                let what = format!("{step:?} (number {number}) fails with {errno}");
                let before = place.metadata("overwritten").nlink();
                match fail_at(&place, number, errno, (forbidden, &[])) {
                    // What may not be done to a new file is done to the old one, or left alone.
                    Ok(_) => assert_eq!(which_are_new(&place, &what), [0, 1, 2], "{what}"),
                    Err(error) => {
                        assert!(
                            !matches!(error, WriteError::Partly { .. }),
                            "{what}: {error:?}"
                        );
                        assert_eq!(which_are_new(&place, &what), [0; 0], "{what}");
                        assert!(!place.is_there("made"), "{what}");
                        assert!(matches!(error, WriteError::File { .. }), "{what}");
                    }
                }
                assert_eq!(place.metadata("overwritten").nlink(), before, "{what}");
                assert_eq!(
                    place.text("other name"),
                    place.text("overwritten"),
                    "{what}"
                );
                place.assert_clean();
            }
        }
    }
}

#[test]
fn what_cannot_be_removed_stays_noted() {
    let steps = steps(&[]);
    let steps = steps.iter().enumerate();
    let removals: Vec<usize> = steps
        .filter(|(_, step)| **step == WriteStep::Remove)
        .map(|(number, _)| number)
        .collect();
    assert!(!removals.is_empty());
    for number in removals {
        let place = prepare();
        fail_at(&place, number, Errno::IO, (&[], &[])).expect("it is written all the same");
        assert_eq!(which_are_new(&place, "removal"), [0, 1, 2]);
        let journals = fs::read_dir(place.top.join("state/writes")).expect("listed");
        assert_eq!(journals.count(), 1);
    }
}

#[test]
fn what_cannot_be_put_back_is_said() {
    let mut partly = 0;
    for forbidden in SYSTEMS {
        for (number, step) in steps(forbidden).iter().enumerate() {
            let place = prepare();
            let what = format!("{step:?} (number {number}), and no way back");
            let broken = (forbidden, &[WriteStep::Rollback][..]);
            let Err(error) = fail_at(&place, number, Errno::IO, broken) else {
                continue;
            };
            let WriteError::Partly {
                written,
                not_written,
                half_written,
                cause,
            } = error
            else {
                assert_eq!(which_are_new(&place, &what), [0; 0], "{what}");
                place.assert_clean();
                continue;
            };
            partly += 1;
            assert!(matches!(*cause, WriteError::File { .. }));
            let mut all = [&written[..], &not_written, &half_written].concat();
            all.sort();
            assert_eq!(all, [0, 1, 2], "{what}");
            match half_written.as_slice() {
                [] => {
                    assert_eq!(which_are_new(&place, &what), written, "{what}");
                    place.assert_clean();
                }
                // Its copy is there for the next start.
                [half] => {
                    assert_eq!(*half, 1, "{what}");
                    let copies = fs::read_dir(place.top.join("state/copies")).expect("listed");
                    assert_eq!(copies.count(), 1, "{what}");
                }
                _ => panic!("{what}: {half_written:?}"),
            }
        }
    }
    assert!(partly > 10, "{partly}");
}
