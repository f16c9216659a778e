//! Near names for a path that does not exist; nothing that the caller may not open is ever named.

use std::path::{Path, PathBuf};

use crate::task::{Stopped, Work};

use super::access::Access;
use super::resolve::MAX_SUGGESTIONS;
use super::spelling::fold;
use super::variants::{Stuck, is_open_to, names_in};

/// A suggestion before it is judged. The order of the fields is that of the ranking.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Near {
    distance: usize,
    /// Characters in common at the beginning, so that more comes first.
    prefix: std::cmp::Reverse<usize>,
    spelled: String,
    at: PathBuf,
}

/// At most three existing paths near to where each search got stuck, best first.
pub(super) fn near(access: &Access, stuck: &[Stuck], work: &Work) -> Result<Vec<String>, Stopped> {
    let mut found: Vec<Near> = Vec::new();
    // The readings that got furthest: with several roots most do not get anywhere.
    let left = |stuck: &Stuck| Path::new(&stuck.rest).components().count();
    let least = stuck.iter().map(left).min().unwrap_or_default();
    for stuck in stuck.iter().filter(|stuck| left(stuck) == least) {
        near_one(access, stuck, work, &mut found)?;
    }
    found.sort();
    let mut named: Vec<String> = Vec::new();
    for near in found {
        if named.len() == MAX_SUGGESTIONS {
            break;
        }
        work.check()?;
        if !named.contains(&near.spelled) && is_open_to(access, &near.at) {
            named.push(near.spelled);
        }
    }
    Ok(named)
}

fn near_one(
    access: &Access,
    stuck: &Stuck,
    work: &Work,
    found: &mut Vec<Near>,
) -> Result<(), Stopped> {
    if stuck.at.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        // The path goes on below a file: the file is what is meant.
        found.push(Near {
            distance: 0,
            prefix: std::cmp::Reverse(0),
            spelled: stuck.spelled.trim_end_matches('/').to_owned(),
            at: stuck.at.clone(),
        });
        return Ok(());
    }
    let below = stuck.rest.trim_matches('/');
    let last = below.rsplit('/').next().unwrap_or_default();
    for (count, name) in names_in(access, &stuck.at, work)?.iter().enumerate() {
        if count % 1024 == 0 {
            work.check()?;
        }
        let Some(name) = name.to_str() else { continue };
        let at = stuck.at.join(name);
        let spelled = format!("{}{name}", stuck.spelled);
        let mut add = |measured: Option<(usize, usize)>, spelled: String, at: PathBuf| {
            if let Some((distance, prefix)) = measured {
                let prefix = std::cmp::Reverse(prefix);
                found.push(Near {
                    distance,
                    prefix,
                    spelled,
                    at,
                });
            }
        };
        if below.is_empty() {
            add(measure(&stuck.missing, name), spelled, at);
            continue;
        }
        // A directory is missing: another may be meant, or the file without it.
        let whole = at.join(below);
        if Path::new(&whole).symlink_metadata().is_ok() {
            add(
                measure(&stuck.missing, name),
                format!("{spelled}/{below}"),
                whole,
            );
        } else if measure(last, name).is_some() {
            add(measure(last, name), spelled, at);
        } else {
            add(measure(&stuck.missing, name), spelled, at);
        }
    }
    Ok(())
}

/// The distance between two names and their common beginning, in characters; `None` when they are
/// not near.
pub fn measure(asked: &str, name: &str) -> Option<(usize, usize)> {
    let asked = fold(asked).to_lowercase();
    let name = fold(name).to_lowercase();
    let (asked_length, name_length) = (asked.chars().count(), name.chars().count());
    let limit = 2.max(asked_length / 3);
    let alike = (stem(&asked) == stem(&name) && !stem(&asked).is_empty())
        || (asked_length.min(name_length) >= 3 && (asked.contains(&name) || name.contains(&asked)));
    if !alike && asked_length.abs_diff(name_length) > limit {
        return None;
    }
    let distance = strsim::osa_distance(&asked, &name);
    // Two names of a character or two are within the limit of everything.
    let near = distance <= limit && distance < asked_length.max(name_length);
    let pairs = asked.chars().zip(name.chars());
    let prefix = pairs.take_while(|(a, b)| a == b).count();
    (alike || near).then_some((distance, prefix))
}

/// The name without its last extension.
fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near() {
        assert_eq!(measure("config.ts", "config.tsx"), Some((1, 9)));
        assert_eq!(measure("config.ts", "config.js"), Some((1, 7)));
        assert_eq!(measure("README.md", "readme.md"), Some((0, 9)));
        assert_eq!(measure("main.rs", "main.verylong"), Some((7, 5)));
        assert_eq!(measure("user", "user_service.py"), Some((11, 4)));
        assert_eq!(measure("maimn.rs", "main.rs"), Some((1, 3)));
        assert_eq!(measure("main.rs", "other.py"), None);
        assert_eq!(measure("ab", "zz"), None);
        assert_eq!(measure("ab", "abcdef"), None);
    }
}
