//! Why serving ends, and the one place that is told; an ending, once given, is never changed.

use std::sync::Arc;

use tokio::sync::watch;

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The service said that it has exited.
    Exit,
    /// The input ended.
    EndOfInput,
    /// The process was asked to end by a signal.
    Signal,
    /// The client's process is gone.
    ParentDied,
    /// The output cannot be written to.
    BrokenOutput,
}

/// Ends the serving from anywhere. Clones share it; the first ending wins.
#[derive(Debug, Clone)]
pub struct Shutdown {
    ending: Arc<watch::Sender<Option<Ending>>>,
}

impl Default for Shutdown {
    fn default() -> Shutdown {
        Shutdown {
            ending: Arc::new(watch::Sender::new(None)),
        }
    }
}

impl Shutdown {
    /// Of a serving that has not ended.
    pub fn new() -> Shutdown {
        Shutdown::default()
    }

    /// Ends the serving, unless it has been ended before.
    pub fn end(&self, ending: Ending) {
        self.ending.send_if_modified(|current| {
            let first = current.is_none();
            current.get_or_insert(ending);
            first
        });
    }

    /// The ending, once there is one.
    pub fn ending(&self) -> Option<Ending> {
        *self.ending.borrow()
    }

    /// Waits for the ending.
    pub async fn ended(&self) -> Ending {
        let mut endings = self.ending.subscribe();
        loop {
            if let Some(ending) = *endings.borrow_and_update() {
                return ending;
            }
            if endings.changed().await.is_err() {
                // The sender is `self`, so this is not reached; waiting on is what it would mean.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Ends the serving when it is dropped: a thread that dies, even by a panic of the stream it was
/// given, must not leave a daemon behind that neither reads nor ends.
#[derive(Debug)]
pub struct EndOnDrop(pub Shutdown, pub Ending);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_ending_wins() {
        let shutdown = Shutdown::new();
        assert_eq!(shutdown.ending(), None);
        let waiting = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.ended().await }
        });
        tokio::task::yield_now().await;
        shutdown.end(Ending::Signal);
        shutdown.end(Ending::Exit);
        assert_eq!(shutdown.ending(), Some(Ending::Signal));
        assert_eq!(shutdown.ended().await, Ending::Signal);
        assert_eq!(waiting.await.ok(), Some(Ending::Signal));
    }
}
