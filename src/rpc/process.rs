//! What ends the daemon from outside: signals and the death of the client's process; nothing here ever kills one.

use super::shutdown::{Ending, Shutdown};

/// Ends the shutdown on SIGTERM, SIGINT or SIGHUP. Returns with it, or early if they cannot be
/// listened to.
#[cfg(unix)]
pub async fn end_on_signals(shutdown: Shutdown) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ];
    let signals: Result<Vec<_>, _> = kinds.into_iter().map(signal).collect();
    match signals {
        Ok(mut signals) => {
            let received = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
            futures::future::select_all(received).await;
            shutdown.end(Ending::Signal);
        }
        Err(error) => tracing::warn!(%error, "signals cannot be listened to"),
    }
}

/// Ends the shutdown on Ctrl-C.
#[cfg(not(unix))]
pub async fn end_on_signals(shutdown: Shutdown) {
    if tokio::signal::ctrl_c().await.is_ok() {
        shutdown.end(Ending::Signal);
    }
}

/// Ends the shutdown when the process that started this one dies. One that had died before is not
/// known any more.
#[cfg(unix)]
pub fn watch_parent(shutdown: Shutdown) {
    if let Some(parent) = rustix::process::getppid() {
        watch_process(parent.as_raw_nonzero().get() as u32, shutdown);
    }
}

/// The death of a process cannot be watched here.
#[cfg(not(unix))]
pub fn watch_parent(_shutdown: Shutdown) {}

/// Ends the shutdown when the process `pid` dies. The end of the input is not enough: another
/// process may hold the pipe. A process that is not there to begin with is not dead but unknown,
/// for the client may live in another pid namespace.
///
/// A thread of its own waits, at no cost: of tokio's `AsyncFd` the safe constructors are
/// deprecated as unsound since 1.54.
#[cfg(unix)]
pub fn watch_process(pid: u32, shutdown: Shutdown) {
    // Zero and numbers that are negative to the system name groups, not processes.
    let raw = i32::try_from(pid).unwrap_or(0);
    let Some(pid) = rustix::process::Pid::from_raw(raw) else {
        return;
    };
    let watch = move || {
        if died(pid, &shutdown) {
            shutdown.end(Ending::ParentDied);
        }
    };
    let thread = std::thread::Builder::new().name("rpc-client-watch".to_owned());
    if let Err(error) = thread.spawn(watch) {
        tracing::warn!(%error, "the client's process is not watched");
    }
}

/// The death of a process cannot be watched here; the end of the input has to do.
#[cfg(not(unix))]
pub fn watch_process(pid: u32, _shutdown: Shutdown) {
    tracing::debug!(pid, "the client's process is not watched");
}

/// Blocks until a process dies; false if it is unknown.
#[cfg(target_os = "linux")]
fn died(pid: rustix::process::Pid, shutdown: &Shutdown) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open};
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return vanished(pid, shutdown),
            }
        },
        Err(Errno::SRCH) => false,
        // An old kernel, or a sandbox that does not know the call.
        Err(_) => vanished(pid, shutdown),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn died(pid: rustix::process::Pid, shutdown: &Shutdown) -> bool {
    vanished(pid, shutdown)
}

/// Asks every second whether a process is there; false if it is not to begin with.
#[cfg(unix)]
fn vanished(pid: rustix::process::Pid, shutdown: &Shutdown) -> bool {
    // Not being allowed to signal it means that it is there.
    let gone = || rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
    if gone() {
        return false;
    }
    while shutdown.ending().is_none() {
        if gone() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// A process that lives until it is killed.
    fn cat() -> std::io::Result<std::process::Child> {
        Command::new("cat").stdin(Stdio::piped()).spawn()
    }

    #[tokio::test]
    async fn sees_a_process_die_that_nobody_reaps() -> std::io::Result<()> {
        let mut client = cat()?;
        let shutdown = Shutdown::new();
        watch_process(client.id(), shutdown.clone());
        let early = tokio::time::timeout(Duration::from_millis(50), shutdown.ended());
        assert!(early.await.is_err());
        kill_process(Pid::from_child(&client), Signal::KILL)?;
        // On Linux it is seen at once and before the zombie is reaped; elsewhere not before.
        if !cfg!(target_os = "linux") {
            client.wait()?;
        }
        let ending = tokio::time::timeout(Duration::from_secs(30), shutdown.ended());
        assert_eq!(ending.await.ok(), Some(Ending::ParentDied));
        client.wait().map(drop)
    }

    #[test]
    fn what_was_never_there_is_not_dead() -> std::io::Result<()> {
        let mut client = cat()?;
        client.kill()?;
        client.wait()?;
        let pid = Pid::from_child(&client);
        assert!(!died(pid, &Shutdown::new()));
        assert!(!vanished(pid, &Shutdown::new()));
        for unusable in [0, u32::MAX] {
            watch_process(unusable, Shutdown::new());
        }
        Ok(())
    }

    #[test]
    fn asking_again_and_again_also_works() -> std::io::Result<()> {
        let mut client = cat()?;
        let pid = Pid::from_child(&client);
        let waiting = std::thread::spawn(move || vanished(pid, &Shutdown::new()));
        client.kill()?;
        client.wait()?;
        // Either verdict is right here: it may be gone before the first look.
        assert!(waiting.join().is_ok());
        Ok(())
    }
}
