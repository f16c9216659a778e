//! One server of the settings: started by the first read that needs it, ended when nobody does, started again when it died.
//!
//! Whoever needs the connection while it is being made waits for the same start, which is a task of its own: nobody's
//! cancel ends it. What looks after a running server is a task as well; it ends the process whatever happened.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep_until;

use crate::protocol::resources::ResourceContents;
use crate::protocol::settings::McpServerSettings;
use crate::protocol::status::{McpServerState, McpServerStatus};

use super::connection::{Catalogue, RunningServer, ServerConnection};
use super::error::McpError;
use super::lines::Patience;
use super::process::{LastWords, ServerProcess};

/// Ends within that time after which it is left alone, and for how long.
const ENDS: usize = 3;
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// Of the time for the start: how long an older server may say nothing to what it does not know.
const DISCOVER_PART: u32 = 3;
const DISCOVER_WITHIN: Duration = Duration::from_secs(4);

type Started = Result<Arc<ServerConnection>, McpError>;
/// A process, if one came to be, and what came of the handshake with it.
type OpenedServer = (
    Option<ServerProcess>,
    Result<(ServerConnection, RunningServer), McpError>,
);

#[derive(Debug)]
pub(super) struct McpServer {
    pub(super) name: String,
    pub(super) settings: McpServerSettings,
    runtime: Handle,
    idle: Duration,
    state: Mutex<ServerLife>,
    /// What it listed last, also before it ended.
    known: Mutex<Option<Arc<Catalogue>>>,
    words: LastWords,
    /// Somebody asked for something, or it is to end.
    touched: Notify,
}

#[derive(Debug, Default)]
struct ServerLife {
    phase: ServerPhase,
    /// When it ended, the last times.
    ends: VecDeque<Instant>,
    /// Of what runs now, and of what is being ended.
    groups: Vec<Pid>,
    last_used: Option<Instant>,
    /// Requests that wait for it.
    in_use: usize,
    /// It is not to run any more.
    is_over: bool,
}

#[derive(Debug, Default)]
enum ServerPhase {
    #[default]
    Stopped,
    Starting(Shared<BoxFuture<'static, Started>>),
    Running(Arc<ServerConnection>),
}

/// Counts a request that waits, so that its server is not ended as idle.
struct InUse<'a>(&'a McpServer);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.in_use -= 1;
        state.last_used = Some(Instant::now());
    }
}

impl McpServer {
    pub(super) fn new(
        name: &str,
        settings: &McpServerSettings,
        runtime: &Handle,
        idle: Duration,
    ) -> Arc<McpServer> {
        Arc::new(McpServer {
            name: name.to_owned(),
            settings: settings.clone(),
            runtime: runtime.clone(),
            idle,
            state: Mutex::default(),
            known: Mutex::default(),
            words: LastWords::default(),
            touched: Notify::new(),
        })
    }

    pub(super) fn status(&self) -> McpServerStatus {
        let state = self.state.lock();
        McpServerStatus {
            name: self.name.clone(),
            state: match &state.phase {
                ServerPhase::Running(_) => McpServerState::Running,
                ServerPhase::Starting(_) => McpServerState::Starting,
                ServerPhase::Stopped if state.failing().is_some() => McpServerState::Failing,
                ServerPhase::Stopped => McpServerState::Stopped,
            },
            stderr: self.words.text(),
        }
    }

    /// What it listed last; nothing is asked.
    pub(super) fn known(&self) -> Option<Arc<Catalogue>> {
        self.known.lock().clone()
    }

    /// What it has now.
    pub(super) async fn catalogue(
        self: &Arc<McpServer>,
        limit: Duration,
    ) -> Result<Arc<Catalogue>, McpError> {
        let _in_use = self.used();
        let connection = self.connection(limit).await?;
        if let Some(known) = self.known()
            && connection.is_current(&known)
        {
            return Ok(known);
        }
        let asked = connection.catalogue(limit).await;
        self.end_if_it_hangs(&connection);
        let catalogue = Arc::new(asked?);
        *self.known.lock() = Some(catalogue.clone());
        Ok(catalogue)
    }

    pub(super) async fn read(
        self: &Arc<McpServer>,
        uri: &str,
        limit: Duration,
    ) -> Result<ResourceContents, McpError> {
        let _in_use = self.used();
        let connection = self.connection(limit).await?;
        let read = connection.read(uri, limit).await;
        self.end_if_it_hangs(&connection);
        read
    }

    fn used(&self) -> InUse<'_> {
        self.state.lock().in_use += 1;
        InUse(self)
    }

    fn end_if_it_hangs(&self, connection: &Arc<ServerConnection>) {
        if connection.hangs() {
            let mut state = self.state.lock();
            // Else it is another one by now.
            if matches!(&state.phase, ServerPhase::Running(running) if Arc::ptr_eq(running, connection))
            {
                state.phase = ServerPhase::Stopped;
                self.touched.notify_waiters();
            }
        }
    }

    /// The connection, which is made where there is none.
    async fn connection(self: &Arc<McpServer>, limit: Duration) -> Started {
        let starting = {
            let mut state = self.state.lock();
            match &state.phase {
                ServerPhase::Running(connection) => return Ok(connection.clone()),
                ServerPhase::Starting(starting) => starting.clone(),
                ServerPhase::Stopped => {
                    if state.is_over {
                        return Err(McpError::Ended);
                    }
                    if let Some(seconds) = state.failing() {
                        return Err(McpError::Failing { seconds });
                    }
                    let (tell, told) = oneshot::channel();
                    self.runtime.spawn(self.clone().run(limit, tell));
                    let told = told.map(|told| told.unwrap_or(Err(McpError::Ended)));
                    let starting = told.boxed().shared();
                    state.phase = ServerPhase::Starting(starting.clone());
                    starting
                }
            }
        };
        starting.await
    }

    /// Starts it, looks after it, and ends it.
    async fn run(self: Arc<McpServer>, limit: Duration, tell: oneshot::Sender<Started>) {
        let until = Instant::now() + limit;
        let patience = Patience {
            within: (limit / DISCOVER_PART).min(DISCOVER_WITHIN),
            was_slow: Arc::default(),
        };
        let mut opened = self.open(patience.clone(), limit).await;
        if opened.1.is_err() && patience.was_slow.load(Ordering::Relaxed) {
            // A newer server, which knows no handshake of old, was slow to begin.
            self.end(opened.0.take()).await;
            let left = until.saturating_duration_since(Instant::now());
            let patience = Patience {
                within: limit,
                ..patience
            };
            opened = self.open(patience, left).await;
        }
        let (process, opened) = opened;
        match opened {
            Err(error) => {
                self.ended();
                let _ = tell.send(Err(error));
            }
            Ok((connection, service)) => {
                let connection = Arc::new(connection);
                {
                    let mut state = self.state.lock();
                    state.phase = ServerPhase::Running(connection.clone());
                    state.last_used = Some(Instant::now());
                }
                let _ = tell.send(Ok(connection.clone()));
                self.look_after(service, &connection).await;
            }
        }
        self.end(process).await;
    }

    /// Starts its process and agrees with it on a revision.
    async fn open(&self, patience: Patience, limit: Duration) -> OpenedServer {
        let (process, output, input) = match ServerProcess::start(&self.settings, &self.words) {
            Ok(started) => started,
            Err(error) => {
                let why = error.to_string();
                let why = why.split(" (os error").next().unwrap_or(&why);
                let why = format!("'{}' cannot be run: {why}", self.settings.command);
                return (None, Err(McpError::NotStarted(why)));
            }
        };
        let is_over = {
            let mut state = self.state.lock();
            state.groups.extend(process.group());
            state.is_over
        };
        let opened = match is_over {
            true => Err(McpError::Ended),
            false => ServerConnection::open(output, input, patience, limit).await,
        };
        (Some(process), opened)
    }

    async fn end(&self, process: Option<ServerProcess>) {
        if let Some(mut process) = process {
            let group = process.group();
            process.end().await;
            self.state.lock().groups.retain(|it| Some(*it) != group);
        }
    }

    /// Until it ends by itself, hangs, is idle or is to be no more. Then its input is closed.
    async fn look_after(&self, service: RunningServer, connection: &Arc<ServerConnection>) {
        let token = service.cancellation_token();
        let ended = service.waiting();
        let mut ended = std::pin::pin!(ended);
        let by_itself = loop {
            let touched = self.touched.notified();
            let Some(until) = self.idle_at(connection) else {
                break false;
            };
            tokio::select! {
                _ = &mut ended => break true,
                () = touched => {}
                () = sleep_until(until.into()) => {}
            }
        };
        self.stopped(connection, by_itself || connection.hangs());
        if !by_itself {
            token.cancel();
            // What still waits for the server to take its input ends with the process.
            let _ = tokio::time::timeout(Duration::from_millis(100), ended).await;
        }
    }

    /// When it is idle for too long; `None` where it is to end now.
    fn idle_at(&self, connection: &Arc<ServerConnection>) -> Option<Instant> {
        let state = self.state.lock();
        let runs = matches!(&state.phase, ServerPhase::Running(it) if Arc::ptr_eq(it, connection));
        if state.is_over || !runs {
            return None;
        }
        let now = Instant::now();
        let since = match state.in_use {
            0 => state.last_used.unwrap_or(now),
            _ => now,
        };
        let until = since + self.idle;
        (until > now).then_some(until)
    }

    /// It never came to run.
    fn ended(&self) {
        let mut state = self.state.lock();
        state.phase = ServerPhase::Stopped;
        state.note_end();
    }

    /// It ended, or is being ended.
    fn stopped(&self, connection: &Arc<ServerConnection>, counts: bool) {
        let mut state = self.state.lock();
        if matches!(&state.phase, ServerPhase::Running(it) if Arc::ptr_eq(it, connection)) {
            state.phase = ServerPhase::Stopped;
        }
        if counts {
            state.note_end();
        }
    }

    /// It is not to run any more: ended in its own time.
    pub(super) fn retire(&self) {
        self.state.lock().is_over = true;
        self.touched.notify_waiters();
    }

    /// Asks what runs to end, at the end of the daemon; whether anything does.
    pub(super) fn ask_to_end(&self) -> bool {
        self.retire();
        self.signal(Signal::TERM);
        self.runs()
    }

    /// Whether any process of it is left, as far as is known.
    pub(super) fn runs(&self) -> bool {
        !self.state.lock().groups.is_empty()
    }

    /// Kills what is left of it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        for group in &self.state.lock().groups {
            // What is gone is gone.
            let _ = kill_process_group(*group, signal);
        }
    }
}

impl ServerLife {
    fn note_end(&mut self) {
        self.ends.push_back(Instant::now());
        if self.ends.len() > ENDS {
            self.ends.pop_front();
        }
    }

    /// For how many seconds more it is left alone.
    fn failing(&self) -> Option<u64> {
        let (first, last) = (self.ends.front()?, self.ends.back()?);
        let is_often = self.ends.len() == ENDS && *last - *first <= ENDS_WITHIN;
        let left = ENDS_WITHIN.checked_sub(last.elapsed())?;
        is_often.then(|| left.as_secs() + 1)
    }
}
