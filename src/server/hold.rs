//! `agent/testEdit`: an edit for tests of the order, which holds its files for as long as it is told to; never there outside of tests.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tower_lsp::jsonrpc;

use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::read::{Place, session_name};
use crate::task::CancelToken;

use super::Server;
use super::handler::answer;
use super::intake::{Commit, EditPath};
use super::read_many::DEFAULT_SESSION;
use super::state::Moment;

/// Whether the method is to be registered: in a build for tests, and asked for.
pub fn is_wanted() -> bool {
    cfg!(any(feature = "failpoints", debug_assertions))
        && std::env::var_os("PILCROW_TEST_METHODS").is_some_and(|on| on == "1")
}

/// The commits so far, of every server in the process.
static COMMITTED: AtomicU64 = AtomicU64::new(0);

struct TestEdit {
    session: String,
    paths: Vec<EditPath>,
    hold: Duration,
    append: String,
}

impl TestEdit {
    fn parse(params: &Value) -> Result<TestEdit, Refusal> {
        let fields = Fields::of(params, "")?;
        let path = |path: &Value| {
            let path = path.as_str().map(str::to_owned);
            let path = path.ok_or_else(|| Refusal::bad_params("paths", "'paths' holds strings."));
            path.map(|path| EditPath {
                path,
                creates: true,
            })
        };
        let paths = fields.list("paths")?.unwrap_or_default();
        Ok(TestEdit {
            session: session_name(fields, DEFAULT_SESSION)?,
            paths: paths.iter().map(path).collect::<Result<_, _>>()?,
            hold: Duration::from_millis(fields.count("holdMs")?.unwrap_or(0)),
            append: fields.string("append")?.unwrap_or_default().to_owned(),
        })
    }
}

impl Server {
    /// Appends a line to each file, making those that are not there. It holds them before it
    /// writes the last one. Answers the how-manieth commit it was.
    pub async fn test_edit(&self, params: Value) -> jsonrpc::Result<Value> {
        let moment = self.state.engine.moment();
        let submitted = TestEdit::parse(&params).and_then(|edit| {
            let TestEdit { session, paths, .. } = &edit;
            let submission = self.state.submit_edit(session, paths.clone(), &moment)?;
            Ok((edit, submission))
        });
        let state = self.state.clone();
        answer("agent/testEdit", None, async move {
            let (edit, submission) = submitted?;
            let grant = submission.granted().await?;
            let run = |commit: Commit| async move {
                let job = move |_: &_| write(&commit, &edit, &moment);
                state.in_commit_lane(CancelToken::new(), job).await
            };
            let order = grant.commit(run).await?;
            Ok(json!({ "order": order }))
        })
        .await
    }
}

fn write(commit: &Commit, edit: &TestEdit, moment: &Moment) -> Result<u64, Refusal> {
    let places = commit.places();
    for (number, place) in places.iter().enumerate() {
        if number + 1 == places.len() {
            // The one place where holding a thread up is the point.
            std::thread::sleep(edit.hold);
        }
        let Place::OnDisk(real) = place else {
            continue;
        };
        append(real.as_path(), &edit.append, moment)?;
    }
    Ok(COMMITTED.fetch_add(1, Ordering::Relaxed) + 1)
}

/// Writes another file and puts it in the place of the first, so that nobody sees half of it.
fn append(real: &Path, line: &str, moment: &Moment) -> Result<(), Refusal> {
    let io = |error: std::io::Error| Refusal::io(real.to_string_lossy(), &error);
    let mut text = match moment.world.scope.open(real) {
        Ok(handle) => {
            let mut text = Vec::new();
            let mut file = handle.open_read().map_err(io)?;
            std::io::Read::read_to_end(&mut file, &mut text).map_err(io)?;
            text
        }
        Err(Refusal::NotFound { .. }) => Vec::new(),
        Err(refusal) => return Err(refusal),
    };
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    let mut name = OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(".test");
    let beside = real.with_file_name(name);
    std::fs::write(&beside, text).map_err(io)?;
    std::fs::rename(&beside, real).map_err(io)
}
