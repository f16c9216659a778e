//! What is on record after a file was written: the version that the edit made, and what is there now; what was not looked at is never named.

use crate::protocol::read::LineSpan;
use crate::session::{Actor, Current, Notice, Sessions, Version};

use super::Planned;

/// A written file on record.
#[derive(Debug)]
pub struct Recorded {
    /// What is there now.
    pub now: Version,
    /// In its line numbers.
    pub changed: Vec<LineSpan>,
    /// Whether it is something else than was written.
    pub drifted: bool,
    /// The hash of what the edit made.
    pub made: u128,
    pub notices: Vec<Notice>,
}

/// Records what an edit of `session` made of a document. `seen` is what showed that it was made, for
/// an open document; `now` is what was found afterwards, with who made it so where that is
/// something else, `None` where nothing was to be found.
pub fn record(
    planned: &Planned,
    session: &str,
    sessions: &Sessions,
    seen: Option<Current>,
    now: Option<(Current, Actor)>,
) -> Recorded {
    let agent = Actor::Agent(session.to_owned());
    let (document, before) = (&planned.live.document, &planned.live.version);
    let outcome = &planned.outcome;
    let meant = seen.unwrap_or_else(|| Current {
        text: outcome.text.clone(),
        fingerprint: planned.fingerprint(),
        place: None,
        as_of: planned.live.as_of(),
    });
    let is_ours = |now: &Current| now.fingerprint.content == meant.fingerprint.content;
    let (written, other) = match now {
        Some((now, _)) if is_ours(&now) => (now, None),
        other => (meant, other),
    };
    let (version, mut notices) = match outcome.is_exact {
        true => sessions.record_edit(document, before, outcome.map.clone(), &written, &agent),
        false => sessions.record(document, &written, &agent),
    };
    // Its own edit is no news to a session.
    notices.retain(|notice| notice.session != session);
    let Some((current, actor)) = other else {
        return Recorded {
            changed: outcome.changed.clone(),
            drifted: false,
            made: version.content,
            now: version,
            notices,
        };
    };
    let (now, news) = sessions.record(document, &current, &actor);
    notices.extend(news.into_iter().filter(|news| news.session != session));
    let map = version.map_to(&now);
    let changed = outcome.changed.iter().map(|span| map.place(*span));
    Recorded {
        changed: changed.collect(),
        drifted: true,
        made: version.content,
        now,
        notices,
    }
}
