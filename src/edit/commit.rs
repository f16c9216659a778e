//! The disk's side of a commit: all files are written or none, and then looked at again; a file that changed since it was planned is never written over.

use std::sync::Arc;
use std::time::Instant;

use crate::buffer::{EncodingHints, Overlay};
use crate::protocol::Refusal;
use crate::session::{Actor, AsOf, Current};
use crate::workspace::RealPath;

use super::disk::{WriteStep, failpoint};
use super::live::{EditContext, in_form, of_overlay};
use super::record::{Recorded, record};
use super::{Owner, Planned};

/// What is in a file now that had the stamp `written` a moment ago.
fn look(planned: &Planned, real: &RealPath, means: EditContext) -> Result<Current, Refusal> {
    failpoint(WriteStep::Record).map_err(|error| Refusal::io(&planned.live.name, &error))?;
    let looked_at = Instant::now();
    let written = planned.written;
    let written = written.and_then(|stamp| means.buffers.just_written(real, stamp));
    let (buffer, looked_at) = match written {
        Some(buffer) => (buffer, looked_at),
        None => {
            let handle = means.scope.open(real.as_path())?;
            let (name, hints) = (&planned.live.name, EncodingHints::default());
            let loaded = means.buffers.load(&handle, name, hints, means.work);
            (loaded?.buffer, handle.opened_at())
        }
    };
    let open = means.overlays.of_file(real, means.scope);
    Ok(Current {
        text: buffer.text.clone(),
        fingerprint: buffer.fingerprint(),
        place: None,
        as_of: AsOf::of_disk(looked_at, open.map(|overlay| &**overlay), means.overlays),
    })
}

/// Records a file that was written on disk.
pub fn record_disk(planned: &Planned, session: &str, means: EditContext) -> Recorded {
    let moved = planned.name.as_ref().filter(|name| name.link.is_none());
    let now = match &planned.live.home {
        Owner::Disk { .. } if planned.is_deletion() => None,
        Owner::Disk { handle, .. } => {
            let to = moved.and_then(|name| name.to.as_ref());
            let real = to.map_or(handle.real(), |to| &to.place.real);
            look(planned, real, means).ok()
        }
        Owner::Absent { real } => look(planned, real, means).ok(),
        Owner::Editor { .. } => None,
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
    means: EditContext,
    seen: &Overlay,
    latest: Option<&Arc<Overlay>>,
) -> Recorded {
    let form = planned.live.document.form;
    let as_it_is = |overlay: &Overlay| in_form(of_overlay(overlay), form, means.work);
    let now = latest.and_then(|latest| as_it_is(latest));
    let now = now.map(|now| (now, Actor::Editor));
    record(planned, session, means.sessions, as_it_is(seen), now)
}
