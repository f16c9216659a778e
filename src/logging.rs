//! The daemon's log: daily files in the state directory, seven of them; nothing is logged to stdout or stderr, and no request waits for a disk.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pilcrow::protocol::settings;
use tracing::{Level, Metadata};
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// Log files that are kept.
const KEPT_FILES: usize = 7;

/// Lines are gathered for this long and written together: a thread that is woken for each takes a
/// core from the answer that the line is about. Warnings and errors are written at once.
const GATHERING: Duration = Duration::from_millis(50);

/// Bytes of unwritten lines after which further ones are dropped: the disk has stalled.
const MAX_UNWRITTEN: usize = 1 << 20;

/// How long the end of the process waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The running log. Clones share it.
#[derive(Clone)]
pub struct Log {
    sink: LogSink,
    filter: reload::Handle<EnvFilter, tracing_subscriber::Registry>,
}

/// Starts logging into nowhere; the place comes with the settings.
pub fn start() -> Log {
    let sink = LogSink::default();
    let (filter, handle) = reload::Layer::new(filter("info"));
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(sink.clone());
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
    Log {
        sink,
        filter: handle,
    }
}

impl Log {
    /// Logs into the directory and at the level that the settings name. Returns the directory.
    pub fn apply(&self, settings: &settings::Log) -> Result<String, String> {
        // A handle can only fail when its subscriber is gone, and then there is no log to filter.
        let _ = self.filter.reload(filter(&settings.level));
        let directory = match &settings.directory {
            Some(directory) => PathBuf::from(directory),
            None => pilcrow::workspace::state_directory()
                .ok_or("There is no home directory for a log; set log.directory.")?,
        };
        let shown = directory.display().to_string();
        if self.sink.directory() != Some(directory.clone()) {
            let unwritable = |error: &dyn std::fmt::Display| {
                format!("No log can be written in {shown}: {error}.")
            };
            // The appender would make it too, but first it complains on stderr that it is missing.
            std::fs::create_dir_all(&directory).map_err(|error| unwritable(&error))?;
            let appender = RollingFileAppender::builder()
                .rotation(Rotation::DAILY)
                .filename_prefix("pilcrow")
                .filename_suffix("log")
                .max_log_files(KEPT_FILES)
                .build(&directory)
                .map_err(|error| unwritable(&error))?;
            let spool = Spool::start(appender).map_err(|error| unwritable(&error))?;
            self.sink.open(directory, spool);
        }
        Ok(shown)
    }

    /// Writes out what is still gathered; nothing is logged after that.
    pub fn flush(&self) {
        self.sink.close();
    }
}

/// `PILCROW_LOG` wins over the level of the settings.
fn filter(level: &str) -> EnvFilter {
    let directives = std::env::var("PILCROW_LOG").unwrap_or_else(|_| format!("pilcrow={level}"));
    let filter = EnvFilter::try_new(directives);
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("pilcrow=info"));
    // It logs what it sends and gets, and content is never logged.
    match "rmcp=off".parse() {
        Ok(off) => filter.add_directive(off),
        Err(_) => filter,
    }
}

/// Where log lines go: nowhere until a directory is known.
#[derive(Clone, Default)]
struct LogSink(Arc<Mutex<Option<OpenLog>>>);

/// The directory of the log and what gathers its lines.
type OpenLog = (PathBuf, Arc<Spool>);

impl LogSink {
    fn open(&self, directory: PathBuf, spool: Arc<Spool>) {
        let before = self.0.lock().replace((directory, spool));
        if let Some((_, before)) = before {
            before.close();
        }
    }

    fn directory(&self) -> Option<PathBuf> {
        self.0
            .lock()
            .as_ref()
            .map(|(directory, _)| directory.clone())
    }

    fn close(&self) {
        let spool = self.0.lock().as_ref().map(|(_, spool)| spool.clone());
        if let Some(spool) = spool {
            spool.close();
            spool.wait(LAST_LINES);
        }
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for LogSink {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine {
            spool: self.0.lock().as_ref().map(|(_, spool)| spool.clone()),
            urgent: false,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LogLine {
        LogLine {
            urgent: *metadata.level() <= Level::WARN,
            ..self.make_writer()
        }
    }
}

/// The way of one line into the spool.
struct LogLine {
    spool: Option<Arc<Spool>>,
    urgent: bool,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(spool) = &self.spool {
            spool.push(bytes, self.urgent);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines on their way to the files of one directory.
#[derive(Default)]
struct Spool {
    state: Mutex<Gathered>,
    changed: Condvar,
    ended: Condvar,
}

#[derive(Default)]
struct Gathered {
    lines: Vec<u8>,
    /// To be written now.
    urgent: bool,
    /// Nothing more is taken in.
    closed: bool,
    /// Everything is written.
    ended: bool,
}

impl Spool {
    /// Starts the thread that writes; it sleeps while there is nothing to write.
    fn start(appender: RollingFileAppender) -> io::Result<Arc<Spool>> {
        let spool = Arc::new(Spool::default());
        let writing = spool.clone();
        let thread = std::thread::Builder::new().name("log-writer".to_owned());
        thread.spawn(move || writing.write_all(appender))?;
        Ok(spool)
    }

    fn push(&self, line: &[u8], urgent: bool) {
        let mut state = self.state.lock();
        if state.closed || state.lines.len() + line.len() > MAX_UNWRITTEN {
            return;
        }
        let first = state.lines.is_empty();
        state.lines.extend_from_slice(line);
        state.urgent |= urgent;
        if first || urgent {
            self.changed.notify_one();
        }
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_one();
    }

    /// Waits, at most for `limit`, until all is written after [`Spool::close`].
    fn wait(&self, limit: Duration) {
        let mut state = self.state.lock();
        self.ended
            .wait_while_for(&mut state, |state| !state.ended, limit);
    }

    fn write_all(&self, mut appender: RollingFileAppender) {
        let mut lines = Vec::new();
        loop {
            let mut state = self.state.lock();
            self.changed
                .wait_while(&mut state, |state| state.lines.is_empty() && !state.closed);
            let may_wait = |state: &mut Gathered| !state.urgent && !state.closed;
            self.changed.wait_while_for(&mut state, may_wait, GATHERING);
            std::mem::swap(&mut lines, &mut state.lines);
            state.urgent = false;
            let closed = state.closed;
            drop(state);
            // A log that cannot be written has nobody to be told.
            let _ = appender.write_all(&lines).and_then(|()| appender.flush());
            lines.clear();
            if closed {
                self.state.lock().ended = true;
                self.ended.notify_all();
                return;
            }
        }
    }
}
