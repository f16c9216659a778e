//! A job with a connection, in a thread of its own: who waits for it is answered in time, whatever SQLite is at; what was left behind is never used again.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use crate::task::Work;

use super::connection::Link;

/// Between two looks at the cancel token and the clock.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// How long SQLite may take to notice that it was interrupted. It looks at every loop of a
/// statement, but never within one function: `LIKE` may be at it for seconds.
const NOTICES_WITHIN: Duration = Duration::from_millis(500);

/// Runs `job` until the work is to end; gives it and the connection back. `None` where it did not
/// end when it was told to: then it runs on behind, with all that it was given, until SQLite looks
/// up, and takes connection and all with it.
///
/// How many may run on so is bounded by what `job` holds: each has a share of the memory.
pub fn run<T: Send + 'static>(
    mut link: Link,
    work: &Work,
    job: impl FnOnce(&mut Link) -> T + Send + 'static,
) -> std::io::Result<Option<(Link, T)>> {
    let handle = link.connection.get_interrupt_handle();
    let (sender, receiver) = sync_channel(1);
    let thread = std::thread::Builder::new()
        .name("sqlite".to_owned())
        .spawn(move || {
            let outcome = job(&mut link);
            // Whoever was left without it does not listen any more.
            let _ = sender.send((link, outcome));
        })?;
    let mut told: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                // It panicked: as if it had run here.
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Ok(None),
            },
            Err(RecvTimeoutError::Timeout) => {}
        }
        if work.check().is_ok() {
            continue;
        }
        // Again at each look: a job may begin another statement after it.
        handle.interrupt();
        if told.get_or_insert_with(Instant::now).elapsed() > NOTICES_WITHIN {
            return Ok(None);
        }
    }
}
