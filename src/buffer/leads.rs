//! Where the addresses of open documents lead by links, looked up on a thread of its own; a file system that hangs holds nobody up for long.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::workspace::where_it_leads;

/// Who asks waits for what was to be looked up before, but for no single address longer than this.
const STUCK_AFTER: Duration = Duration::from_secs(2);

/// How long the thread waits for more.
const IDLE_FOR: Duration = Duration::from_secs(1);

/// The addresses that lead elsewhere. What it says may be out of date and was not judged.
#[derive(Debug, Default)]
pub(super) struct Leads {
    known: Mutex<KnownLeads>,
    /// There is more to look up.
    more: Condvar,
    /// One more was looked up.
    done: Condvar,
}

#[derive(Debug, Default)]
struct KnownLeads {
    /// What is to be looked up, in order.
    waiting: BTreeMap<u64, PathBuf>,
    /// The place in that order of each address that waits or is being looked up.
    turns: HashMap<PathBuf, u64>,
    next_turn: u64,
    at_work: Option<u64>,
    /// When the thread was started, or took the address that it is at.
    progress_at: Option<Instant>,
    is_running: bool,
    /// The real path of each address that is not its own, and the addresses of each such path.
    real_of: HashMap<PathBuf, PathBuf>,
    addresses_of: HashMap<PathBuf, BTreeSet<PathBuf>>,
    /// The addresses at which there was nothing.
    missing: HashSet<PathBuf>,
}

impl Leads {
    /// Has an address looked up, soon. Does no I/O.
    pub(super) fn look_up(self: &Arc<Leads>, address: &Path) {
        let mut known = self.known.lock();
        let turn = known.next_turn;
        known.next_turn += 1;
        if let Some(earlier) = known.turns.insert(address.to_path_buf(), turn) {
            known.waiting.remove(&earlier);
        }
        known.waiting.insert(turn, address.to_path_buf());
        if known.is_running {
            self.more.notify_one();
            return;
        }
        let this = self.clone();
        let thread = std::thread::Builder::new().name("links".to_owned());
        // Where there can be no further thread, documents are found by their own names alone.
        known.is_running = thread.spawn(move || this.work()).is_ok();
        known.progress_at = Some(Instant::now());
    }

    /// The document of that address was closed.
    pub(super) fn forget(&self, address: &Path) {
        let mut known = self.known.lock();
        if let Some(turn) = known.turns.remove(address) {
            known.waiting.remove(&turn);
        }
        known.forget(address);
    }

    /// The addresses, other than the path itself, that lead to `real`.
    pub(super) fn addresses_of(&self, real: &Path) -> Vec<PathBuf> {
        let known = self.up_to_date();
        let addresses = known.addresses_of.get(real);
        addresses.into_iter().flatten().cloned().collect()
    }

    /// Whether any address leads elsewhere or to nothing.
    pub(super) fn are_any(&self) -> bool {
        let known = self.up_to_date();
        !known.real_of.is_empty() || !known.missing.is_empty()
    }

    /// What is known once all that waits now was looked up.
    fn up_to_date(&self) -> MutexGuard<'_, KnownLeads> {
        let mut known = self.known.lock();
        let last = known.next_turn;
        while let Some(stuck_at) = known.waits_for(last) {
            let timed_out = self.done.wait_until(&mut known, stuck_at).timed_out();
            if timed_out && known.waits_for(last) == Some(stuck_at) {
                break;
            }
        }
        known
    }

    fn work(&self) {
        let mut known = self.known.lock();
        loop {
            let Some((turn, address)) = known.waiting.pop_first() else {
                let idle = self.more.wait_for(&mut known, IDLE_FOR).timed_out();
                if idle && known.waiting.is_empty() {
                    known.is_running = false;
                    return;
                }
                continue;
            };
            known.at_work = Some(turn);
            known.progress_at = Some(Instant::now());
            let leads = MutexGuard::unlocked(&mut known, || where_it_leads(&address));
            known.at_work = None;
            // Else it was closed meanwhile, or is to be looked up again.
            if known.turns.get(&address) == Some(&turn) {
                known.turns.remove(&address);
                known.learn(address, leads);
            }
            self.done.notify_all();
        }
    }
}

impl KnownLeads {
    /// Until when it is worth waiting for what came before `last`; `None` when that is done.
    fn waits_for(&self, last: u64) -> Option<Instant> {
        let first = self.at_work.or(self.waiting.keys().next().copied())?;
        let worth = self.is_running && first < last;
        self.progress_at
            .filter(|_| worth)
            .map(|since| since + STUCK_AFTER)
    }

    fn learn(&mut self, address: PathBuf, leads: Option<(PathBuf, bool)>) {
        self.forget(&address);
        let Some((real, is_there)) = leads else {
            return;
        };
        if !is_there {
            self.missing.insert(address.clone());
        }
        if real == address {
            return;
        }
        let addresses = self.addresses_of.entry(real.clone()).or_default();
        addresses.insert(address.clone());
        self.real_of.insert(address, real);
    }

    fn forget(&mut self, address: &Path) {
        self.missing.remove(address);
        let Some(real) = self.real_of.remove(address) else {
            return;
        };
        if let Some(addresses) = self.addresses_of.get_mut(&real) {
            addresses.remove(address);
            if addresses.is_empty() {
                self.addresses_of.remove(&real);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn addresses(leads: &Leads, real: &Path) -> Vec<PathBuf> {
        leads.addresses_of(real)
    }

    #[test]
    fn an_address_is_known_by_where_it_leads_until_it_is_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("its real path");
        std::fs::create_dir(root.join("real")).expect("made");
        std::fs::write(root.join("real/a"), "").expect("written");
        symlink("real", root.join("linked")).expect("a link");
        let leads = Arc::new(Leads::default());
        leads.look_up(&root.join("real/a"));
        assert!(!leads.are_any(), "its own name");
        // One is there, the other is not (yet).
        for name in ["a", "new"] {
            let (real, linked) = (root.join("real").join(name), root.join("linked").join(name));
            leads.look_up(&linked);
            leads.look_up(&linked);
            assert_eq!(addresses(&leads, &real), std::slice::from_ref(&linked));
            leads.forget(&linked);
            assert!(addresses(&leads, &real).is_empty());
        }
        let known = leads.known.lock();
        assert!(known.turns.is_empty() && known.waiting.is_empty());
        assert!(known.real_of.is_empty() && known.addresses_of.is_empty());
        assert!(known.missing.is_empty());
    }

    #[test]
    fn what_was_to_be_looked_up_before_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("its real path");
        std::fs::write(root.join("real"), "").expect("written");
        let leads = Arc::new(Leads::default());
        for number in 0..500 {
            let linked = root.join(format!("link{number}"));
            symlink("real", &linked).expect("a link");
            leads.look_up(&linked);
            assert!(addresses(&leads, &root.join("real")).contains(&linked));
        }
        assert_eq!(addresses(&leads, &root.join("real")).len(), 500);
    }
}
