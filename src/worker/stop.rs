//! Why a job of a worker came to nothing.

use std::io;
use std::time::Duration;

use crate::task::Stopped;

/// Why a job came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Nobody waits any more, or the request is out of time.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// Every worker was at work for too long.
    #[error("all converters are at work")]
    Busy,
    /// It crashed (out of memory, out of stack, killed by somebody else), or said what makes no
    /// sense.
    #[error(
        "the converter stopped, as it does when a document asks for too much memory or nests too deeply"
    )]
    Died(Death),
    /// It took more processor time than a job may.
    #[error("it took more than {} s of processor time", .0.as_secs_f32())]
    Cpu(Duration),
    /// It took longer than a job may.
    #[error("it took longer than {} s", .0.as_secs_f32())]
    Wall(Duration),
    /// What was to be handed over could not be read.
    #[error("{0}")]
    Input(io::Error),
    /// There is no worker to be had.
    #[error("the converter cannot be started: {0}")]
    Start(io::Error),
}

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// It ended for want of anything to do, just when it was asked.
    Retired,
    /// The kernel ended it with a signal.
    Signal(i32),
    /// It ended in another way, or said what makes no sense and was ended for it.
    Other,
}
