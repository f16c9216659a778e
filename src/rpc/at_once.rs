//! Short messages, written by the thread that made them; it never waits for the output.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;

use super::flight::{While, complete_here};

thread_local! {
    /// Whether this thread writes what it sends now by itself.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// As [`complete_here`], and what the calls send that go on here is written here too, where the
/// output takes it without a wait: the writing thread would have to be woken for it. Not for
/// short calls that come by the dozen: their answers are better written many at a time.
pub fn answer_here(complete: &mut dyn FnMut()) {
    let _here = While::set(&HERE, true);
    complete_here(complete);
}

/// Whether this thread is in [`answer_here`].
pub(super) fn is_here() -> bool {
    HERE.get()
}

/// Where messages are written to.
pub struct Output {
    pub(super) stream: Box<dyn Write + Send>,
    pub(super) at_once: Option<AtOnce>,
}

impl Output {
    /// An output that only the writing thread writes to.
    pub fn new(stream: impl Write + Send + 'static) -> Output {
        Output {
            stream: Box::new(stream),
            at_once: None,
        }
    }

    /// A pipe or a socket, which may be asked to take what it can without a wait.
    pub fn of(file: File) -> Output {
        Output {
            at_once: AtOnce::of(&file),
            stream: Box::new(file),
        }
    }
}

/// A second handle of the output.
#[derive(Debug)]
pub(super) struct AtOnce(File);

impl AtOnce {
    fn of(file: &File) -> Option<AtOnce> {
        match cfg!(target_os = "linux") {
            true => file.try_clone().ok().map(AtOnce),
            false => None,
        }
    }

    /// Writes what the output takes of `bytes` without a wait; how many that are. What is wrong
    /// with it finds out whoever writes the rest.
    ///
    /// pwritev2(2): the offset -1 is the stream's own; `RWF_NOWAIT` is known to sockets, and to
    /// pipes since Linux 6.4. Where it is not known, nothing is taken.
    #[cfg(target_os = "linux")]
    pub(super) fn write(&self, bytes: &[u8]) -> usize {
        use rustix::io::{ReadWriteFlags, pwritev2};
        let bytes = std::io::IoSlice::new(bytes);
        pwritev2(&self.0, &[bytes], u64::MAX, ReadWriteFlags::NOWAIT).unwrap_or(0)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn write(&self, _bytes: &[u8]) -> usize {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{self, Read};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use serde_json::{Value, json};

    use super::super::lifeline::Lifeline;
    use super::super::writer::{self, Outbox};
    use super::*;

    #[test]
    fn what_has_no_room_is_not_waited_for() -> io::Result<()> {
        let (mut input, output) = io::pipe()?;
        let at_once = AtOnce::of(&File::from(OwnedFd::from(output))).expect("another handle");
        assert_eq!(at_once.write(b"short"), 5);
        let much = vec![b'x'; 1 << 20];
        let taken = at_once.write(&much);
        assert!(taken > 0 && taken < much.len(), "{taken}");
        assert_eq!(at_once.write(b"more"), 0);
        let mut read = [0; 5];
        input.read_exact(&mut read)?;
        assert_eq!(&read, b"short");
        drop(input);
        // Broken: the writing thread finds out.
        assert_eq!(at_once.write(b"more"), 0);
        Ok(())
    }

    /// The numbers of the messages, as they come.
    fn numbers(mut input: impl Read) -> io::Result<Vec<u64>> {
        let mut all = String::new();
        input.read_to_string(&mut all)?;
        let frames = all.split("Content-Length: ").skip(1);
        let number = |frame: &str| {
            let (length, body) = frame.split_once("\r\n\r\n")?;
            assert_eq!(length.parse(), Ok(body.len()));
            serde_json::from_str::<Value>(body).ok()?["number"].as_u64()
        };
        Ok(frames.filter_map(number).collect())
    }

    /// Sends by both ways, now quicker than the output is read and now slower.
    fn come_in_order(output: OwnedFd, input: impl Read + Send + 'static) -> io::Result<()> {
        let reading = std::thread::spawn(move || numbers(input));
        let Output { stream, at_once } = Output::of(File::from(output));
        let outbox = Outbox::new(usize::MAX, at_once);
        writer::start(outbox.clone(), stream, Lifeline::new())?;
        for number in 0..3000_u64 {
            let length = number.wrapping_mul(number) % 9000;
            let message = json!({ "number": number, "fill": "x".repeat(length as usize) });
            match number % 3 {
                0 => outbox.send(&message),
                _ => answer_here(&mut || outbox.send(&message)),
            }
        }
        outbox.close();
        drop(outbox);
        let expected: Vec<u64> = (0..3000).collect();
        let found = reading.join().expect("no panic");
        assert_eq!(found?, expected);
        Ok(())
    }

    #[test]
    fn messages_come_in_order_through_a_pipe() -> io::Result<()> {
        let (input, output) = io::pipe()?;
        come_in_order(output.into(), input)
    }

    #[test]
    fn messages_come_in_order_through_a_socket() -> io::Result<()> {
        let (input, output) = UnixStream::pair()?;
        come_in_order(output.into(), input)
    }

    #[test]
    fn an_answer_needs_no_writing_thread() -> io::Result<()> {
        let (input, output) = io::pipe()?;
        // There is none here.
        let Output { at_once, stream } = Output::of(File::from(OwnedFd::from(output)));
        drop(stream);
        let outbox = Outbox::new(usize::MAX, at_once);
        answer_here(&mut || outbox.send(&json!({ "number": 7 })));
        drop(outbox);
        assert_eq!(numbers(input)?, [7]);
        Ok(())
    }
}
