//! The daemon's log: daily files in the state directory, seven of them; nothing is logged to stdout or stderr.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use pilcrow::protocol::settings;
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// Log files that are kept.
const KEPT_FILES: usize = 7;

/// The running log. Clones share it.
#[derive(Clone)]
pub struct Log {
    sink: Sink,
    filter: reload::Handle<EnvFilter, tracing_subscriber::Registry>,
    guard: Arc<Mutex<Option<WorkerGuard>>>,
}

/// Starts logging into nowhere; the place comes with the settings.
pub fn start() -> Log {
    let sink = Sink::default();
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
        guard: Arc::default(),
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
            // The appender would make it too, but first it complains on stderr that it is missing.
            std::fs::create_dir_all(&directory)
                .map_err(|error| format!("No log can be written in {shown}: {error}."))?;
            let appender = RollingFileAppender::builder()
                .rotation(Rotation::DAILY)
                .filename_prefix("pilcrow")
                .filename_suffix("log")
                .max_log_files(KEPT_FILES)
                .build(&directory)
                .map_err(|error| format!("No log can be written in {shown}: {error}."))?;
            let (writer, guard) = tracing_appender::non_blocking(appender);
            self.sink.open(directory, writer);
            *self.guard.lock() = Some(guard);
        }
        Ok(shown)
    }

    /// Writes out what is still queued.
    pub fn flush(&self) {
        drop(self.guard.lock().take());
    }
}

/// `PILCROW_LOG` wins over the level of the settings.
fn filter(level: &str) -> EnvFilter {
    let directives = std::env::var("PILCROW_LOG").unwrap_or_else(|_| format!("pilcrow={level}"));
    EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("pilcrow=info"))
}

/// Where log lines go: nowhere until a directory is known.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Option<(PathBuf, NonBlocking)>>>);

impl Sink {
    fn open(&self, directory: PathBuf, writer: NonBlocking) {
        *self.0.lock() = Some((directory, writer));
    }

    fn directory(&self) -> Option<PathBuf> {
        self.0
            .lock()
            .as_ref()
            .map(|(directory, _)| directory.clone())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock() {
            Some((_, writer)) => writer.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Sink {
    type Writer = Sink;

    fn make_writer(&'a self) -> Sink {
        self.clone()
    }
}
