//! Where messages come from, and which of the threads that wait for them is woken; never two for one message.

use std::fs::File;
use std::io::{self, Read};

/// Where messages are read from.
pub struct Input {
    pub(super) stream: Box<dyn Read + Send>,
    pub(super) turns: Turns,
}

impl Input {
    /// An input that a thread can only wait for by reading.
    pub fn new(stream: impl Read + Send + 'static) -> Input {
        Input {
            stream: Box::new(stream),
            turns: Turns(None),
        }
    }

    /// A pipe, a socket or a terminal; anything else is as in [`Input::new`].
    pub fn of(file: File) -> Input {
        Input {
            turns: Turns(platform::Readiness::of(&file)),
            stream: Box::new(file),
        }
    }
}

/// The threads' turns at reading. It is the system that wakes the next one, when there is something
/// to read: a thread that is woken by the one before it, only to wait for input then, would cost
/// every call a switch of threads.
#[derive(Debug)]
pub(super) struct Turns(Option<platform::Readiness>);

impl Turns {
    /// Whether threads can wait here at all.
    pub(super) fn are_by_input(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for this thread's turn: for input, or its end. Of the threads that wait it is one
    /// that goes on, and no other until it passes the turn on. At once where threads cannot wait
    /// here.
    pub(super) fn wait(&self) {
        if let Some(readiness) = &self.0 {
            readiness.wait();
        }
    }

    /// Gives the next input to one of the others. Where that fails, none of them is ever woken.
    pub(super) fn pass(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), platform::Readiness::pass)
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;

    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
    use rustix::io::Errno;

    /// epoll(7): with `EPOLLONESHOT` one event is told to one thread, and the next only after the
    /// input was armed again; what is there by then counts.
    #[derive(Debug)]
    pub struct Readiness {
        epoll: OwnedFd,
        input: OwnedFd,
    }

    const ARMED: EventFlags = EventFlags::IN.union(EventFlags::ONESHOT);

    impl Readiness {
        /// `None` for what is always readable, as a file on disk is.
        pub fn of(file: &File) -> Option<Readiness> {
            let input = OwnedFd::from(file.try_clone().ok()?);
            let epoll = epoll::create(CreateFlags::CLOEXEC).ok()?;
            epoll::add(&epoll, &input, EventData::new_u64(0), ARMED).ok()?;
            Some(Readiness { epoll, input })
        }

        pub fn wait(&self) {
            let mut events = [MaybeUninit::uninit(); 1];
            // Any other error would come again; whoever reads next finds out what is wrong.
            while matches!(
                epoll::wait(&self.epoll, &mut events, None),
                Err(Errno::INTR)
            ) {}
        }

        pub fn pass(&self) -> io::Result<()> {
            let data = EventData::new_u64(0);
            Ok(epoll::modify(&self.epoll, &self.input, data, ARMED)?)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::fs::File;
    use std::io;

    /// Not known how; there is none.
    #[derive(Debug)]
    pub enum Readiness {}

    impl Readiness {
        pub fn of(_: &File) -> Option<Readiness> {
            None
        }

        pub fn wait(&self) {
            match *self {}
        }

        pub fn pass(&self) -> io::Result<()> {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use super::*;

    /// Waits in two threads, each of which tells when it has a turn and reads a byte in it.
    #[test]
    fn a_byte_wakes_one_thread_and_what_is_left_the_next() -> io::Result<()> {
        let (input, mut output) = io::pipe()?;
        let Input { mut stream, turns } = Input::of(OwnedFd::from(input).into());
        assert!(turns.are_by_input());
        let (tell, told) = mpsc::channel();
        std::thread::scope(|threads| {
            for name in 0..2 {
                let (tell, turns) = (tell.clone(), &turns);
                threads.spawn(move || {
                    turns.wait();
                    let _ = tell.send(name);
                });
            }
            output.write_all(b"ab")?;
            let first = told.recv();
            stream.read_exact(&mut [0])?;
            // The other one has no turn before it is given one, though there is a byte.
            assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty));
            turns.pass()?;
            assert_ne!(told.recv(), first);
            turns.pass()?;
            turns.wait();
            stream.read_exact(&mut [0])?;
            drop(output);
            turns.pass()?;
            // The end is something to read too.
            turns.wait();
            assert_eq!(stream.read(&mut [0])?, 0);
            Ok(())
        })
    }

    #[test]
    fn a_file_is_not_waited_for() -> io::Result<()> {
        let Input { turns, .. } = Input::of(tempfile::tempfile()?);
        assert!(!turns.are_by_input());
        turns.wait();
        turns.pass()
    }
}
