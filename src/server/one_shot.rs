//! An edit without a client, for the command line; there is no editor, and nobody else in the process.

use parking_lot::Mutex;

use crate::buffer::Overlays;
use crate::edit::{
    Applied, Begun, Change, EditRequest, EditorCan, Found, Job, Live, Means, NoOps, Planner,
    Wanted, find, name_places,
};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::protocol::read::LineSpan;
use crate::task::{CancelToken, Work};
use crate::view::LineSet;

use super::edit::refuse_where_off;
use super::state::{Engine, WORK_LIMIT, World};

impl Engine {
    /// Carries out one edit. What it names is read first, and so counts as shown.
    pub fn edit(&self, request: &EditRequest, world: &World) -> Result<EditResult, Refusal> {
        refuse_where_off(world)?;
        let work = Work::new(CancelToken::new(), WORK_LIMIT);
        let overlays = Overlays::default();
        let sessions = &self.reader.sessions;
        let means = Means {
            scope: &world.scope,
            overlays: &overlays,
            buffers: &self.reader.buffers,
            sessions,
            checks: &self.reader.checks,
            editor: EditorCan::default(),
            work: &work,
        };
        let (sections, mut faults) = request.patch.sections();
        let named = name_places(
            sections,
            (&request.session, sessions),
            &world.scope,
            &overlays,
            &work,
            &mut faults,
        );
        let (named, _) = named?;
        let places: Vec<_> = named.iter().map(|named| named.place.clone()).collect();
        for named in &named {
            // What cannot be opened is refused below, in the words of the edit.
            // A notebook may be meant in either of its forms.
            for wanted in [Wanted::Tagged(None), Wanted::Text] {
                let found = find(named.path(), &world.scope, &overlays, &work);
                let opened = found.and_then(|it| Live::open(it, named.path(), wanted, means));
                if let Ok((live, _)) = opened {
                    let all: LineSet = std::iter::once(LineSpan {
                        start: 1,
                        end: live.text().len_lines() as u64,
                    })
                    .collect();
                    let (document, version) = (&live.document, &live.version);
                    sessions.show(&request.session, document, version, &all, &live.name);
                }
            }
        }
        let job = Job {
            change: &Change {
                session: request.session.clone(),
                dry_run: request.dry_run,
                cancel: CancelToken::new(),
            },
            means,
            settings: &world.settings,
            writer: &self.writer,
            no_ops: &Mutex::new(NoOps::default()),
            applied: &Mutex::new(Applied::default()),
            places: &places,
            found: Found::default(),
        };
        match job.begin(&|job| Planner::of(job).plan(named.clone(), &faults))? {
            Begun::Finished(finished) => Ok(finished.answer(&work).result),
            // There is no editor.
            Begun::AsksEditor(..) => Err(Refusal::Internal),
        }
    }
}
