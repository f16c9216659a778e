//! Connections kept warm, one for each file and at most eight; none is used again once its file, or what is beside it, has changed.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::buffer::FileState;
use crate::workspace::{Handle, RealPath, Stamp};

use super::connection::{Link, Way};
use super::sides::Sides;

const MAX_LINKS: usize = 8;

/// A connection that nobody used for so long is closed at the next look, as is one to a file that
/// is no longer there: what is open takes its place on the disk.
const IDLE: Duration = Duration::from_secs(60);

/// What a connection was made for, and must still be true when it is used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub real: RealPath,
    pub stamp: Stamp,
    /// Of its bytes, where it is small enough to be compared.
    pub hash: Option<u128>,
    pub sides: Sides,
    pub way: Way,
}

impl State {
    /// Whether the name still leads to the file.
    fn is_there(&self) -> bool {
        let now = std::fs::symlink_metadata(self.real.as_path());
        now.is_ok_and(|now| {
            let now = Stamp::of(&now);
            (now.dev, now.ino) == (self.stamp.dev, self.stamp.ino)
        })
    }
}

#[derive(Debug)]
struct Kept {
    state: State,
    link: Link,
    used: Instant,
}

/// The last used one is the last.
static LINKS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The warm connection to a file in exactly this state. It is given away: who has it is alone.
pub fn take(state: &State) -> Option<Link> {
    let mut links = LINKS.lock();
    let index = links.iter().position(|kept| kept.state == *state)?;
    Some(links.remove(index).link)
}

/// Keeps a connection whose file is still in this state; any other to the same file is closed.
/// `file` is what `handle` was before it was asked. Elsewhere than on a local file system nothing
/// tells whether that is so still when it is used again, and none is kept.
///
/// One with a log that other programs have open is not kept: while it is open, its lock would keep
/// them from taking their log away when they end.
pub fn keep(state: State, (file, handle): (&FileState, &Handle), link: Link) {
    let settled = file.still_holds(handle) && state.sides.are_settled(handle);
    let may_stay = settled && handle.is_local() && state.way != Way::Shared;
    let mut closed = Vec::new();
    let now = Instant::now();
    let mut links = LINKS.lock();
    for kept in std::mem::take(&mut *links) {
        let is_same_file = kept.state.real == state.real;
        match is_same_file || now - kept.used > IDLE || !kept.state.is_there() {
            true => closed.push(kept.link),
            false => links.push(kept),
        }
    }
    match may_stay {
        true => links.push(Kept {
            state,
            link,
            used: now,
        }),
        false => closed.push(link),
    }
    if links.len() > MAX_LINKS {
        closed.push(links.remove(0).link);
    }
    // Closing touches the disk: nobody waits for it.
    drop(links);
    drop(closed);
}
