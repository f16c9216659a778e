//! Near names for a path that does not exist; nothing that the caller may not open is ever named.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::task::{Stopped, Work};

use super::access::Access;
use super::listings::{Listing, Listings};
use super::near_names::{MAX_SUGGESTIONS, MissingName, PlainName};
use super::variants::{Stuck, is_open_to, names_in};

/// A suggestion before it is judged. The order of the fields is that of the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Near<'a> {
    distance: usize,
    /// Characters in common at the beginning, so that more comes first.
    prefix: Reverse<usize>,
    spelled: Spelled<'a>,
    /// Where the name is.
    at: &'a Path,
}

/// What the caller would write, in parts: most of what is near is never written.
#[derive(Debug, Clone, Copy)]
struct Spelled<'a> {
    /// With its final slash, or empty.
    head: &'a str,
    /// Empty for the place itself.
    name: &'a str,
    /// What was asked for below that name, or empty.
    below: &'a str,
}

impl Spelled<'_> {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let slash = if self.below.is_empty() { "" } else { "/" };
        let parts = [self.head, self.name, slash, self.below];
        parts.into_iter().flat_map(str::bytes)
    }

    fn text(&self) -> String {
        match self.below.is_empty() {
            true => format!("{}{}", self.head, self.name),
            false => format!("{}{}/{}", self.head, self.name, self.below),
        }
    }
}

impl PartialEq for Spelled<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl Eq for Spelled<'_> {}

impl PartialOrd for Spelled<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Spelled<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl Near<'_> {
    fn path(&self) -> PathBuf {
        let parts = [self.spelled.name, self.spelled.below];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.fold(self.at.to_path_buf(), |path, part| path.join(part))
    }
}

/// What is suggested depends on whether the rest of what was asked for is below a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Doubt<'a> {
    whole: Near<'a>,
    /// Whether the name is near enough for that.
    is_near: bool,
    without: Option<Near<'a>>,
}

/// The nearest first. With a doubt it is the nearer of what it may turn out to be, so that only
/// what would be named is looked at.
type Ranking<'a> = BinaryHeap<Reverse<(Near<'a>, Option<Doubt<'a>>)>>;

/// At most three existing paths near to where each search got stuck, best first.
pub(super) fn near(
    access: &Access,
    listings: &Listings,
    stuck: &[Stuck],
    work: &Work,
) -> Result<Vec<String>, Stopped> {
    // The readings that got furthest: with several roots most do not get anywhere.
    let left = |stuck: &Stuck| Path::new(&stuck.rest).components().count();
    let least = stuck.iter().map(left).min().unwrap_or_default();
    let furthest: Vec<&Stuck> = stuck.iter().filter(|it| left(it) == least).collect();
    let list = |stuck: &&Stuck| match &stuck.listing {
        Some(listing) => Ok(listing.clone()),
        None => names_in(access, listings, &stuck.at, work),
    };
    let listed: Result<Vec<Arc<Listing>>, Stopped> = furthest.iter().map(list).collect();
    let listed = listed?;
    let mut ranking = Ranking::new();
    for (stuck, listing) in furthest.iter().zip(&listed) {
        near_one(stuck, listing, work, &mut ranking)?;
    }
    let mut named: Vec<String> = Vec::new();
    while named.len() < MAX_SUGGESTIONS
        && let Some(Reverse((near, doubt))) = ranking.pop()
    {
        work.check()?;
        if let Some(doubt) = doubt {
            let whole = doubt.whole.path();
            let settled = match access.crossing.stays(&whole) && whole.symlink_metadata().is_ok() {
                true => doubt.is_near.then_some(doubt.whole),
                false => doubt.without,
            };
            ranking.extend(settled.map(|near| Reverse((near, None))));
            continue;
        }
        let spelled = near.spelled.text();
        if !named.contains(&spelled) && is_open_to(access, &near.path()) {
            named.push(spelled);
        }
    }
    Ok(named)
}

fn near_one<'a>(
    stuck: &'a Stuck,
    listing: &'a Listing,
    work: &Work,
    ranking: &mut Ranking<'a>,
) -> Result<(), Stopped> {
    let near = |(distance, prefix), head, name, below| Near {
        distance,
        prefix: Reverse(prefix),
        spelled: Spelled { head, name, below },
        at: &stuck.at,
    };
    if stuck.at.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        // The path goes on below a file: the file is what is meant.
        let file = near((0, 0), stuck.spelled.trim_end_matches('/'), "", "");
        ranking.push(Reverse((file, None)));
        return Ok(());
    }
    let below = stuck.rest.trim_matches('/');
    let missing = PlainName::of(&stuck.missing);
    let last = PlainName::of(below.rsplit('/').next().unwrap_or_default());
    let (missing, last) = (MissingName::of(&missing), MissingName::of(&last));
    for (count, name) in listing.names.iter().enumerate() {
        if count % 1024 == 0 {
            work.check()?;
        }
        let listed = name.listed.as_str();
        let as_missing = missing.measure(&name.plain);
        if below.is_empty() {
            let alone = as_missing.map(|measured| near(measured, &stuck.spelled, listed, ""));
            ranking.extend(alone.map(|near| Reverse((near, None))));
            continue;
        }
        // A directory is missing: another may be meant, or the file without it.
        let without = last.measure(&name.plain).or(as_missing);
        let without = without.map(|measured| near(measured, &stuck.spelled, listed, ""));
        let measured = as_missing.unwrap_or_default();
        let whole = near(measured, &stuck.spelled, listed, below);
        let is_near = as_missing.is_some();
        if let Some(best) = is_near.then_some(whole).into_iter().chain(without).min() {
            let doubt = Doubt {
                whole,
                is_near,
                without,
            };
            ranking.push(Reverse((best, Some(doubt))));
        }
    }
    Ok(())
}
