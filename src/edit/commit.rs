//! The disk's side of a commit: all files are written or none, and then looked at again; a file that changed since it was planned is never written over.

use std::sync::Arc;

use crate::buffer::{Lane, Overlay, Words};
use crate::hashline::first_error;
use crate::protocol::Refusal;
use crate::protocol::edit::Warning;
use crate::session::{Actor, AsOf, Current};
use crate::workspace::RealPath;

use super::live::{Means, in_form, of_overlay};
use super::record::{Recorded, record};
use super::{Home, Planned};

/// What is in a file now.
pub fn look(real: &RealPath, name: &str, means: Means) -> Result<Current, Refusal> {
    let handle = means.scope.open(real.as_path())?;
    let loaded = means
        .buffers
        .load(&handle, name, Words::default(), Lane::Long, means.work);
    match loaded {
        Ok(loaded) => Ok(Current {
            text: loaded.buffer.text.clone(),
            fingerprint: loaded.buffer.fingerprint(),
            place: None,
            as_of: AsOf::of_disk(
                handle.opened_at(),
                means.overlays.of_file(real).map(|overlay| &**overlay),
                means.overlays,
            ),
        }),
        Err(crate::buffer::Detour::Refused(refusal)) => Err(refusal),
        // Nothing is too long for the long lane.
        Err(crate::buffer::Detour::TakesLong) => Err(Refusal::Internal),
    }
}

/// Records a file that was written on disk.
pub fn record_disk(planned: &Planned, session: &str, means: Means) -> Recorded {
    let now = match &planned.live.home {
        Home::Disk { handle, .. } => look(handle.real(), &planned.live.name, means).ok(),
        Home::Absent { real } => look(real, &planned.live.name, means).ok(),
        Home::Editor { .. } => None,
    };
    let form = planned.live.document.form;
    let now = now.and_then(|now| in_form(now, form, means.work));
    record(
        planned,
        session,
        means.sessions,
        None,
        now.map(|now| (now, Actor::Disk)),
    )
}

/// Records a document that the editor changed: `seen` showed the change, `latest` is there now.
pub fn record_seen(
    planned: &Planned,
    session: &str,
    means: Means,
    seen: &Overlay,
    latest: Option<&Arc<Overlay>>,
) -> Recorded {
    let form = planned.live.document.form;
    let as_it_is = |overlay: &Overlay| in_form(of_overlay(overlay), form, means.work);
    let now = latest.and_then(|latest| as_it_is(latest));
    let now = now.map(|now| (now, Actor::Editor));
    record(planned, session, means.sessions, as_it_is(seen), now)
}

/// Tells where a text does not parse that did before.
pub fn parse_warning(planned: &Planned, means: Means) -> Option<Warning> {
    let language = planned.language()?;
    let line = first_error(&planned.outcome.text, language, means.work)?;
    match first_error(planned.live.text(), language, means.work) {
        Some(_) => None,
        None => Some(Warning {
            code: "noLongerParses",
            message: format!(
                "'{}' parsed as {} before this edit and does not now; the first error is at line {line}.",
                planned.live.name,
                language.name()
            ),
        }),
    }
}
