//! What is on record of a file that was moved or deleted: versions and shown lines go along, whoever was shown it hears of it.

use crate::session::{Actor, Document, Form, Notice};
use crate::workspace::{RealPath, ResourceId};

use super::Planned;
use super::live::EditContext;
use super::planned_name::{PlannedName, PlannedPlace};
use super::record::Recorded;

/// The forms in which a file may have been read.
const FORMS: [Form; 2] = [Form::Text, Form::Notebook];

fn document(real: &RealPath, form: Form) -> Document {
    Document {
        id: ResourceId::File(real.clone()),
        form,
    }
}

/// Records that the name of a file was changed, whose text is on record under the old one; what is
/// said of it from here on is said of the new one.
pub fn record_name(
    planned: &mut Planned,
    recorded: &mut Recorded,
    session: &str,
    means: EditContext,
) {
    let Some(name) = planned.name.take() else {
        return;
    };
    let actor = Actor::Agent(session.to_owned());
    let mut notices = match &name.to {
        Some(to) => record_move(planned, recorded, (&name, to), &actor, means),
        // The file that a link leads to is as it was.
        None if name.link.is_some() => Vec::new(),
        None => {
            let gone = FORMS.into_iter().map(|form| document(&name.real, form));
            gone.flat_map(|gone| means.sessions.vanished(&gone, &actor))
                .collect()
        }
    };
    // Its own edit is no news to a session.
    notices.retain(|notice: &Notice| notice.session != session);
    recorded.notices.append(&mut notices);
    planned.name = Some(name);
}

fn record_move(
    planned: &mut Planned,
    recorded: &mut Recorded,
    (name, to): (&PlannedName, &PlannedPlace),
    actor: &Actor,
    means: EditContext,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let after = planned.document_at(name, to);
    if name.link.is_none() {
        for form in FORMS {
            let (from, at) = (document(&name.real, form), document(&to.place.real, form));
            notices.extend(means.sessions.moved(&from, &at, &to.name, actor));
        }
        if let Some(now) = means.sessions.holding(&after, recorded.now.content) {
            recorded.now = now;
        }
        planned.live.linked_to = None;
    }
    planned.live.document = after;
    planned.live.name.clone_from(&to.name);
    notices
}
