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
pub struct Lifeline {
    ending: Arc<watch::Sender<Option<Ending>>>,
}

impl Default for Lifeline {
    fn default() -> Lifeline {
        Lifeline {
            ending: Arc::new(watch::Sender::new(None)),
        }
    }
}

impl Lifeline {
    /// A lifeline that has not ended.
    pub fn new() -> Lifeline {
        Lifeline::default()
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
pub struct EndOnDrop(pub Lifeline, pub Ending);

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
        let lifeline = Lifeline::new();
        assert_eq!(lifeline.ending(), None);
        let waiting = tokio::spawn({
            let lifeline = lifeline.clone();
            async move { lifeline.ended().await }
        });
        tokio::task::yield_now().await;
        lifeline.end(Ending::Signal);
        lifeline.end(Ending::Exit);
        assert_eq!(lifeline.ending(), Some(Ending::Signal));
        assert_eq!(lifeline.ended().await, Ending::Signal);
        assert_eq!(waiting.await.ok(), Some(Ending::Signal));
    }
}
