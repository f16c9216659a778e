//! Pages that are kept: by address, as long as their servers let them be shown, and for each session what it was shown.
//!
//! A session reads on in the very page that it was shown, whatever became of it since; a plain read
//! gets the newest that its server lets be shown. Both are entries of one table, dropped when it
//! holds too much, the one first that was not asked for the longest.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Url;

use crate::protocol::status::WebStatus;
use crate::session::is_below;

use super::page::Page;

/// How long a session may read on in a page.
const READ_ON: Duration = Duration::from_secs(30 * 60);
/// How long an answer that was no success stands for its session.
const FAILED: Duration = Duration::from_secs(10);
/// How long a guess that failed is not asked again.
const GUESS_FAILED: Duration = Duration::from_secs(10 * 60);
/// Bytes of bodies that lie in files.
const MAX_DISK: u64 = 256 * 1024 * 1024;
const MAX_PAGES: usize = 1024;
const MAX_SHOWN: usize = 4096;
const MAX_GUESSES: usize = 1024;

/// By what a page is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// Without its fragment.
    pub url: Url,
    /// Asked for as it is sent, and not as what is best to read.
    pub is_raw: bool,
    /// Set where nobody else may be shown it.
    pub session: Option<String>,
}

/// What a session was shown of an address.
#[derive(Debug, Clone)]
pub enum PriorPage {
    /// This page.
    Page(Arc<Page>),
    /// One that is no longer kept; the hash of its body, where it was known.
    Dropped(Option<u128>),
    Never,
}

#[derive(Debug)]
pub struct KeptPages(Mutex<PageTable>);

#[derive(Debug, Default)]
struct PageTable {
    budget: u64,
    /// By number.
    pages: HashMap<u64, KeptPage>,
    newest: HashMap<PageKey, u64>,
    shown: HashMap<(String, Url), ShownEntry>,
    failed_guesses: HashMap<Url, Instant>,
    /// Numbers of pages, and of looks at them.
    next: u64,
    hits: u64,
    misses: u64,
    revalidated: u64,
}

#[derive(Debug)]
struct KeptPage {
    page: Arc<Page>,
    last_used: u64,
}

#[derive(Debug)]
struct ShownEntry {
    page: u64,
    /// Of its body, once that was looked at.
    hash: Option<u128>,
    at: Instant,
    /// It was no success.
    has_failed: bool,
}

impl KeptPages {
    /// Holds at most `budget` bytes in memory.
    pub fn new(budget: u64) -> KeptPages {
        KeptPages(Mutex::new(PageTable {
            budget,
            ..PageTable::default()
        }))
    }

    pub fn set_budget(&self, budget: u64) {
        let mut table = self.0.lock();
        table.budget = budget;
        table.make_room();
    }

    /// The newest page of that key.
    pub fn newest(&self, key: &PageKey) -> Option<Arc<Page>> {
        let mut table = self.0.lock();
        let number = *table.newest.get(key)?;
        table.used(number)
    }

    /// What the session was shown of the address not too long ago.
    pub fn shown(&self, session: &str, url: &Url) -> PriorPage {
        let mut table = self.0.lock();
        let Some(shown) = table.shown.get(&(session.to_owned(), url.clone())) else {
            return PriorPage::Never;
        };
        let limit = if shown.has_failed { FAILED } else { READ_ON };
        if shown.at.elapsed() > limit {
            return PriorPage::Never;
        }
        let (number, hash) = (shown.page, shown.hash);
        match table.used(number) {
            Some(page) => PriorPage::Page(page),
            None => PriorPage::Dropped(hash),
        }
    }

    /// Keeps a page under these keys, as the newest of each.
    pub fn keep(&self, page: &Arc<Page>, keys: impl IntoIterator<Item = PageKey>) {
        let mut table = self.0.lock();
        let number = table.number_of(page);
        for key in keys {
            table.newest.insert(key, number);
        }
        table.make_room();
    }

    /// The session is shown this page under these addresses.
    pub fn show(&self, session: &str, page: &Arc<Page>, urls: impl IntoIterator<Item = Url>) {
        let mut table = self.0.lock();
        let number = table.number_of(page);
        for url in urls {
            let shown = ShownEntry {
                page: number,
                hash: None,
                at: Instant::now(),
                has_failed: !page.is_success(),
            };
            table.shown.insert((session.to_owned(), url), shown);
        }
        table.make_room();
    }

    /// Forgets what a session was shown.
    pub fn close(&self, session: &str) {
        let mut table = self.0.lock();
        table.shown.retain(|(of, _), _| !is_below(of, session));
        table.newest.retain(|key, _| {
            let of = key.session.as_deref();
            !of.is_some_and(|of| is_below(of, session))
        });
        table.drop_unreachable();
    }

    pub fn guess_failed(&self, url: &Url) {
        let guesses = &mut self.0.lock().failed_guesses;
        if guesses.len() == MAX_GUESSES {
            guesses.retain(|_, at| at.elapsed() < GUESS_FAILED);
        }
        if guesses.len() == MAX_GUESSES {
            guesses.clear();
        }
        guesses.insert(url.clone(), Instant::now());
    }

    /// Whether a guess is worth a request.
    pub fn may_guess(&self, url: &Url) -> bool {
        let guesses = &self.0.lock().failed_guesses;
        let failed = guesses.get(url);
        failed.is_none_or(|at| at.elapsed() >= GUESS_FAILED)
    }

    pub fn count_hit(&self) {
        self.0.lock().hits += 1;
    }

    pub fn count_miss(&self) {
        self.0.lock().misses += 1;
    }

    pub fn count_revalidated(&self) {
        self.0.lock().revalidated += 1;
    }

    pub fn status(&self) -> WebStatus {
        let table = self.0.lock();
        let (bytes, disk_bytes) = table.weight();
        WebStatus {
            entries: table.pages.len(),
            bytes,
            disk_bytes,
            hits: table.hits,
            misses: table.misses,
            revalidated: table.revalidated,
            ..WebStatus::default()
        }
    }
}

impl PageTable {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn used(&mut self, number: u64) -> Option<Arc<Page>> {
        let now = self.tick();
        let entry = self.pages.get_mut(&number)?;
        entry.last_used = now;
        Some(entry.page.clone())
    }

    /// The number of a page, which is put in if it is not there.
    fn number_of(&mut self, page: &Arc<Page>) -> u64 {
        let mut known = self.pages.iter();
        let known = known.find_map(|(number, it)| Arc::ptr_eq(&it.page, page).then_some(*number));
        let now = self.tick();
        let number = known.unwrap_or(now);
        let entry = KeptPage {
            page: page.clone(),
            last_used: now,
        };
        self.pages.insert(number, entry);
        number
    }

    fn weight(&self) -> (u64, u64) {
        let weights = self.pages.values().map(|entry| entry.page.weight());
        weights.fold((0, 0), |(memory, disk), (m, d)| (memory + m, disk + d))
    }

    /// Drops pages until what is left may be kept; the newest stays, however large it is.
    fn make_room(&mut self) {
        let (mut memory, mut disk) = self.weight();
        while self.pages.len() > 1
            && (memory > self.budget || disk > MAX_DISK || self.pages.len() > MAX_PAGES)
        {
            let oldest = self.pages.iter().min_by_key(|(_, entry)| entry.last_used);
            let Some(number) = oldest.map(|(number, _)| *number) else {
                return;
            };
            if let Some(entry) = self.pages.remove(&number) {
                let (m, d) = entry.page.weight();
                (memory, disk) = (memory.saturating_sub(m), disk.saturating_sub(d));
                let hash = entry.page.known_hash();
                let shown = self.shown.values_mut().filter(|it| it.page == number);
                shown.for_each(|shown| shown.hash = hash);
                self.newest.retain(|_, of| *of != number);
            }
        }
        if self.shown.len() > MAX_SHOWN {
            self.shown.retain(|_, shown| shown.at.elapsed() <= READ_ON);
        }
        while self.shown.len() > MAX_SHOWN {
            let oldest = self.shown.iter().min_by_key(|(_, shown)| shown.at);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.shown.remove(&key);
        }
    }

    fn drop_unreachable(&mut self) {
        let shown = self.shown.values().map(|shown| shown.page);
        let reachable: std::collections::HashSet<u64> =
            shown.chain(self.newest.values().copied()).collect();
        self.pages.retain(|number, _| reachable.contains(number));
    }
}
