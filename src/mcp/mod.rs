//! The Model Context Protocol over stdin and stdout: the same engine for agents that are no editors.
//!
//! Lines are read and calls begun in the order of arrival ([`transport`]); the protocol itself, of both
//! eras, is `rmcp`'s, for which [`handler`] answers, but for calls of tools ([`under_way`]). What a model
//! is told that it can call is made by the engine ([`list`]), what it gives is mended where it can be
//! meant ([`arguments`]), and what it is shown is one text of bounded length ([`answer`]).

mod answer;
mod arguments;
mod calls;
mod folders;
mod handler;
mod list;
mod told;
mod transport;
mod under_way;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::ServerInitializeError;
use tokio::time::timeout;

use crate::protocol::Settings;
use crate::rpc::{self, Ending, InFlight, Output, Shutdown};
use crate::server::{Agent, OnSettings};
use crate::task::Threads;

use calls::Calls;
use folders::WorkspaceFolders;
use handler::McpHandler;
use list::ToolList;
use told::Tidings;
use transport::{LineReader, LineTransport};

/// How the server is to be.
#[derive(Debug)]
pub struct Setup {
    pub settings: Settings,
    /// The workspace folders; `None` where nobody named any.
    pub folders: Option<Vec<PathBuf>>,
    /// The tools that are listed; `None` for all.
    pub tools: Option<Vec<String>>,
    pub budget: AnswerBudget,
}

/// Lines and bytes of the rows of one answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerBudget {
    pub lines: u64,
    pub bytes: u64,
}

impl Default for AnswerBudget {
    /// What every known agent passes on whole.
    fn default() -> AnswerBudget {
        AnswerBudget {
            lines: 1000,
            bytes: 28 * 1024,
        }
    }
}

/// Characters before each row, and beside all rows.
const BEFORE_ROW: u64 = 8;
const BESIDE_ROWS: u64 = 1328;

impl AnswerBudget {
    /// No answer's text is longer than so many characters.
    pub fn most_chars(self) -> u64 {
        self.bytes + BEFORE_ROW * self.lines + BESIDE_ROWS
    }
}

/// At most so many calls at a time: so few that the last edit of them has its turn in time. One more
/// waits for so long, and everything behind it.
const IN_FLIGHT: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a line, and of what is not written yet.
const LINE_BYTES: usize = 64 << 20;
const UNSENT_BYTES: usize = 64 << 20;

/// Serves one agent until the shutdown ends.
///
/// # Errors
///
/// Where it cannot start: settings that name no dialect, tools that are none.
pub async fn serve(
    setup: Setup,
    input: impl Read + Send + 'static,
    output: Output,
    threads: Threads,
    shutdown: Shutdown,
    on_settings: OnSettings,
) -> anyhow::Result<Ending> {
    let Setup {
        settings,
        folders,
        tools,
        budget,
    } = setup;
    let told = Arc::new(Tidings::default());
    let hearing = told.clone();
    let tell = move |notices| hearing.hear(notices);
    let agent = Agent::new(
        settings,
        threads.clone(),
        shutdown.clone(),
        on_settings,
        tell,
    );
    let list = ToolList::new(agent.tools()?, tools.as_deref())?;
    let calls = Calls::new(agent.clone(), budget, told.clone());
    let folders = WorkspaceFolders::new(agent.clone(), folders, calls.clone());
    let outbox = rpc::write_lines(output, UNSENT_BYTES, shutdown.clone())?;
    let in_flight = InFlight::new(IN_FLIGHT, PATIENCE);
    let handler = McpHandler::new(Arc::new(list), calls, folders);
    let (reader, transport) = LineReader::new(
        handler.clone(),
        in_flight.clone(),
        outbox.clone(),
        shutdown.clone(),
        threads,
    );
    reader.start(input, LINE_BYTES);
    let serving = tokio::spawn(answer_lines(handler, transport));
    let ending = shutdown.ended().await;
    let finished = async {
        if ending == Ending::EndOfInput {
            // It ends when all that was read is answered.
            let _ = serving.await;
        }
        in_flight.idle().await;
        outbox.empty().await;
    };
    if timeout(rpc::grace(ending), finished).await.is_err() {
        tracing::warn!(?ending, "left with calls in flight or answers unsent");
    }
    outbox.close();
    agent.commits().settled(ending).await;
    Ok(ending)
}

/// Has the protocol's library answer what comes. It gives up on a client that begins with something
/// else than it should; then it is asked anew, so that one bad line costs nothing else.
async fn answer_lines(handler: McpHandler, transport: LineTransport) {
    loop {
        match rmcp::serve_server(handler.clone(), transport.clone()).await {
            Ok(running) => {
                let _ = running.waiting().await;
                return;
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return;
            }
            Err(error) => tracing::debug!(%error, "the client has not begun as it should"),
        }
    }
}

/// How long the answer to one call may take. With the time in which nothing is read, because too many calls are
/// under way, it is half of what any known agent waits.
const ANSWERED_WITHIN: Duration = Duration::from_secs(24);
