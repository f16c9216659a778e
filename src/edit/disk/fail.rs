//! Failpoints: steps that fail, stop or kill the process when told to; nothing here is in a release.
//!
//! `PILCROW_FAIL=rename:2:EIO,fsync:*:ENOSPC` lets the second rename and every fsync fail. In the
//! place of an errno, `KILL` and `STOP` are the signals, raised before the step is done, `PANIC` is
//! a panic, and `HOLD=PATH` makes a file `PATH.held` and waits until there is one of the name `PATH`.

#[cfg(not(any(feature = "failpoints", debug_assertions)))]
mod off {
    use super::super::write_step::WriteStep;

    /// Whether a step can be made to fail at all.
    pub(in super::super) const ARE_ON: bool = false;

    #[inline(always)]
    pub(in super::super) fn at(_: WriteStep) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(any(feature = "failpoints", debug_assertions))]
mod on {
    use std::io;
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::process::{Signal, getpid, kill_process};

    use super::super::write_step::WriteStep;

    /// Whether a step can be made to fail at all.
    pub(in super::super) const ARE_ON: bool = true;

    /// Within this time all threads of a process have stopped.
    const STOPS_WITHIN: Duration = Duration::from_millis(50);

    /// How often a step that is held looks whether it may go on.
    const LOOKS_EVERY: Duration = Duration::from_millis(1);

    /// Fails, stops or dies as the environment wants it at this step.
    pub(in super::super) fn at(step: WriteStep) -> io::Result<()> {
        #[cfg(test)]
        if let Some(outcome) = super::scripted::at(step) {
            return outcome;
        }
        static SCRIPT: OnceLock<Result<Vec<FailRule>, String>> = OnceLock::new();
        let script = SCRIPT.get_or_init(|| {
            let text = std::env::var("PILCROW_FAIL").unwrap_or_default();
            let rules = text.split(',').filter(|rule| !rule.trim().is_empty());
            rules.map(FailRule::parse).collect()
        });
        match script {
            Ok(rules) => rules.iter().try_for_each(|rule| rule.at(step)),
            // A test that means a failure must not pass for want of one.
            Err(rule) => Err(io::Error::other(format!("PILCROW_FAIL: '{rule}'"))),
        }
    }

    /// One entry of the list.
    #[derive(Debug)]
    pub(super) struct FailRule {
        point: String,
        /// From 1; `None` for every call.
        call: Option<u32>,
        action: Action,
        seen: AtomicU32,
    }

    #[derive(Debug)]
    enum Action {
        Fail(Errno),
        Raise(Signal),
        Panic,
        Hold(PathBuf),
    }

    impl FailRule {
        pub(super) fn parse(text: &str) -> Result<FailRule, String> {
            let wrong = || text.to_owned();
            let mut parts = text.trim().split(':');
            let mut part = || parts.next().ok_or_else(wrong);
            let point = part()?.to_owned();
            let call = match part()? {
                "*" => None,
                count => Some(count.parse().map_err(|_| wrong())?),
            };
            Ok(FailRule {
                point,
                call,
                action: Action::parse(part()?).ok_or_else(wrong)?,
                seen: AtomicU32::new(0),
            })
        }

        pub(super) fn at(&self, step: WriteStep) -> io::Result<()> {
            if self.point != step.point() {
                return Ok(());
            }
            let number = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
            if self.call.is_some_and(|call| call != number) {
                return Ok(());
            }
            match &self.action {
                Action::Fail(errno) => Err((*errno).into()),
                Action::Panic => panic!("PILCROW_FAIL: {}", self.point),
                Action::Hold(until) => {
                    std::fs::write(until.with_added_extension("held"), "")?;
                    while !until.exists() {
                        std::thread::sleep(LOOKS_EVERY);
                    }
                    Ok(())
                }
                &Action::Raise(signal) => {
                    kill_process(getpid(), signal)?;
                    // It goes to the process, and another thread may be the first to take it: this
                    // one must not go on meanwhile.
                    if signal == Signal::KILL {
                        loop {
                            std::thread::park();
                        }
                    }
                    std::thread::sleep(STOPS_WITHIN);
                    Ok(())
                }
            }
        }
    }

    impl Action {
        fn parse(name: &str) -> Option<Action> {
            if let Some(path) = name.strip_prefix("HOLD=") {
                return Some(Action::Hold(path.into()));
            }
            let errno = match name {
                "PANIC" => return Some(Action::Panic),
                "KILL" => return Some(Action::Raise(Signal::KILL)),
                "STOP" => return Some(Action::Raise(Signal::STOP)),
                "EACCES" => Errno::ACCESS,
                "EDQUOT" => Errno::DQUOT,
                "EINVAL" => Errno::INVAL,
                "EIO" => Errno::IO,
                "EMFILE" => Errno::MFILE,
                "ENOSPC" => Errno::NOSPC,
                "ENOSYS" => Errno::NOSYS,
                "EPERM" => Errno::PERM,
                "EROFS" => Errno::ROFS,
                _ => return None,
            };
            Some(Action::Fail(errno))
        }
    }
}

#[cfg(any(feature = "failpoints", debug_assertions))]
pub(super) use on::{ARE_ON, at};

#[cfg(not(any(feature = "failpoints", debug_assertions)))]
pub(super) use off::{ARE_ON, at};

/// The bytes in the parts that they are written in: one, or two with a failpoint between.
pub(super) fn halves(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let middle = match ARE_ON {
        true => bytes.len() / 2,
        false => 0,
    };
    let (first, second) = bytes.split_at(middle);
    [first, second].into_iter().filter(|part| !part.is_empty())
}

/// Failpoints of one thread, so that tests beside each other do not meet.
#[cfg(test)]
pub(super) mod scripted {
    use std::cell::RefCell;
    use std::io;

    use super::super::write_step::WriteStep;
    use super::on::FailRule;

    /// Called before every step.
    type StepWatch = Box<dyn FnMut(WriteStep) -> io::Result<()>>;

    thread_local! {
        static WATCH: RefCell<Option<StepWatch>> = const { RefCell::new(None) };
    }

    pub(in super::super) fn at(step: WriteStep) -> Option<io::Result<()>> {
        // Taken out meanwhile: what it does may come by here again.
        let mut watch = WATCH.take()?;
        let outcome = watch(step);
        WATCH.set(Some(watch));
        Some(outcome)
    }

    /// Runs `act` with `watch` called before every step of this thread.
    pub(in super::super) fn watching<T>(
        watch: impl FnMut(WriteStep) -> io::Result<()> + 'static,
        act: impl FnOnce() -> T,
    ) -> T {
        struct Unset;
        impl Drop for Unset {
            fn drop(&mut self) {
                WATCH.take();
            }
        }
        WATCH.set(Some(Box::new(watch)));
        let _unset = Unset;
        act()
    }

    /// Runs `act` as if `PILCROW_FAIL` were `script`.
    pub(in super::super) fn failing<T>(script: &str, act: impl FnOnce() -> T) -> T {
        let rules: Vec<FailRule> = script
            .split(',')
            .map(|rule| FailRule::parse(rule).expect("a rule"))
            .collect();
        watching(
            move |step| rules.iter().try_for_each(|rule| rule.at(step)),
            act,
        )
    }
}
