//! `agent/testEdit`: an edit for tests of the order, which holds its files for as long as it is told to; in builds for tests alone.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::read::{place_to_edit, session_name};
use crate::rpc;
use crate::task::CancelToken;
use crate::workspace::ResourceId;

use super::call::Call;
use super::client::Client;
use super::config::ClientSnapshot;
use super::edit_queue::Commit;
use super::engine::Engine;
use super::read_many::DEFAULT_SESSION;

/// Whether the method is asked for.
pub fn is_wanted() -> bool {
    std::env::var_os("PILCROW_TEST_METHODS").is_some_and(|on| on == "1")
}

/// The commits so far, of every server in the process.
static COMMITTED: AtomicU64 = AtomicU64::new(0);

struct TestEdit {
    session: String,
    paths: Vec<String>,
    hold: Duration,
    append: String,
}

impl TestEdit {
    fn parse(params: &Value) -> Result<TestEdit, Refusal> {
        let fields = Fields::of(params, "")?;
        let path = |path: &Value| {
            let path = path.as_str().map(str::to_owned);
            path.ok_or_else(|| Refusal::bad_params("paths", "'paths' holds strings."))
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

/// Appends a line to each file, making those that are not there. It holds them before it writes
/// the last one. Answers the how-manieth commit it was.
pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let snapshot = client.snapshot();
    let submitted =
        TestEdit::parse(&call.params).map(|edit| (engine.edit_queue.submit(&edit.session), edit));
    let engine = engine.clone();
    call.answer(None, async move {
        let (submission, edit) = submitted?;
        let (paths, finding) = (edit.paths.clone(), snapshot.clone());
        let find = move |work: &_| {
            let ClientSnapshot { config, overlays } = &finding;
            let scope = &config.scope.of_job(work);
            let place = |path: &String| place_to_edit(path, true, scope, overlays, work);
            paths.iter().map(place).collect::<Result<Vec<_>, _>>()
        };
        let grant = submission.granted(engine.found(find).await?).await?;
        let holding = engine.clone();
        let run = |commit: Commit| async move {
            let job = move |_: &_| write(&commit, &edit, &snapshot);
            holding.run_commit(CancelToken::new(), job).await
        };
        let order = grant.commit(&engine.threads, run).await?;
        Ok(json!({ "order": order }))
    })
}

fn write(commit: &Commit, edit: &TestEdit, snapshot: &ClientSnapshot) -> Result<u64, Refusal> {
    let places = commit.places();
    for (number, place) in places.iter().enumerate() {
        if number + 1 == places.len() {
            // The one place where holding a thread up is the point.
            std::thread::sleep(edit.hold);
        }
        let ResourceId::File(real) = place else {
            continue;
        };
        append(real.as_path(), &edit.append, snapshot)?;
    }
    Ok(COMMITTED.fetch_add(1, Ordering::Relaxed) + 1)
}

/// Writes another file and puts it in the place of the first, so that nobody sees half of it.
fn append(real: &Path, line: &str, snapshot: &ClientSnapshot) -> Result<(), Refusal> {
    let io = |error: std::io::Error| Refusal::io(real.to_string_lossy(), &error);
    let mut text = match snapshot.config.scope.open(real) {
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
