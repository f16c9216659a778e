//! A server's process: in an environment, a directory and a process group of its own, ended with all that it started.
//!
//! The process is not reaped before its whole group was killed: until then its number is nobody else's.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep};

use crate::protocol::settings::McpServerSettings;

/// What a server sees of our environment.
const INHERITED: &[&str] = &["PATH", "HOME", "USER", "LANG", "TMPDIR"];
/// Bytes that are kept of what it said last on stderr.
const KEPT: usize = 2048;
/// How long it may take to end by itself once its input is closed, and again after SIGTERM.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);
/// A pause after each full read of stderr: a flood of it takes no core.
const PAUSE: Duration = Duration::from_millis(2);

/// The last words of a server. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        let new = &bytes[bytes.len().saturating_sub(KEPT)..];
        let over = (kept.len() + new.len())
            .saturating_sub(KEPT)
            .min(kept.len());
        kept.drain(..over);
        kept.extend_from_slice(new);
    }

    fn forget(&self) {
        self.0.lock().clear();
    }
}

/// A running server. Dropping it kills its group.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    group: Option<Pid>,
}

impl ServerProcess {
    /// Starts it. In the runtime: its last words are taken by a task.
    pub(super) fn start(
        settings: &McpServerSettings,
        words: &LastWords,
    ) -> io::Result<(ServerProcess, ChildStdout, ChildStdin)> {
        let mut command = Command::new(&settings.command);
        command
            .args(&settings.args)
            .env_clear()
            .envs(environment(settings))
            .current_dir(directory(settings)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        words.forget();
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let output = child.stdout.take().ok_or_else(missing)?;
        let input = child.stdin.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        tokio::spawn(listen(errors, words.clone()));
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        let group = number.and_then(Pid::from_raw);
        Ok((ServerProcess { child, group }, output, input))
    }

    pub(super) fn group(&self) -> Option<Pid> {
        self.group
    }

    /// Ends it, whose input is closed: waits for it, then asks it to end, then kills its group.
    pub(super) async fn end(&mut self) {
        let Some(group) = self.group else {
            return;
        };
        if !self.has_ended_within(ENDS_WITHIN).await {
            let _ = kill_process_group(group, Signal::TERM);
            self.has_ended_within(ENDS_WITHIN).await;
        }
        // What it started may still be there; it itself is at least a line in the process table.
        let _ = kill_process_group(group, Signal::KILL);
        self.group = None;
        let _ = self.child.wait().await;
    }

    async fn has_ended_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.has_ended() {
            if Instant::now() > until {
                return false;
            }
            sleep(LOOK).await;
        }
        true
    }

    /// Whether it ended; it is not reaped by the look.
    fn has_ended(&self) -> bool {
        let Some(pid) = self.group else {
            return true;
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Takes what a server says on stderr, whose end is the last we keep.
async fn listen(mut errors: ChildStderr, words: LastWords) {
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count) = errors.read(&mut chunk).await {
        if count == 0 {
            return;
        }
        words.add(&chunk[..count]);
        if count == chunk.len() {
            sleep(PAUSE).await;
        }
    }
}

fn environment(settings: &McpServerSettings) -> Vec<(OsString, OsString)> {
    let inherited = INHERITED.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((OsString::from(name), value))
    });
    let own = settings.env.iter();
    let own = own.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    inherited.chain(own).collect()
}

/// The setting, else the home directory; never where the daemon runs, which may be a workspace.
fn directory(settings: &McpServerSettings) -> io::Result<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let home = home.map(PathBuf::from);
    let missing = || io::Error::other("there is no home directory to start it in; set its cwd");
    match &settings.cwd {
        None => home.ok_or_else(missing),
        Some(cwd) => {
            let below = cwd.strip_prefix("~/").or((cwd == "~").then_some(""));
            let path = match below {
                Some(below) => home.ok_or_else(missing)?.join(below),
                None => PathBuf::from(cwd),
            };
            match path.is_absolute() {
                true => Ok(path),
                false => Err(io::Error::other("its cwd is no absolute path")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_kept_and_no_more() {
        let words = LastWords::default();
        words.add(b"first ");
        words.add(&[b'x'; 3 * KEPT]);
        words.add(b"last");
        let text = words.text();
        assert_eq!(text.len(), KEPT);
        assert!(text.starts_with('x') && text.ends_with("xlast"));
    }
}
