//! Short messages, written by the thread that made them; it never waits for the output.

use std::fs::File;
use std::io::Write;

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

    /// Writes what the output takes of `parts` without a wait; how many bytes that are. What is
    /// wrong with it finds out whoever writes the rest.
    ///
    /// pwritev2(2): the offset -1 is the stream's own; `RWF_NOWAIT` is known to sockets, and to
    /// pipes since Linux 6.4. Where it is not known, nothing is taken.
    #[cfg(target_os = "linux")]
    pub(super) fn write(&self, parts: [&[u8]; 2]) -> usize {
        use rustix::io::{ReadWriteFlags, pwritev2};
        let parts = parts.map(std::io::IoSlice::new);
        pwritev2(&self.0, &parts, u64::MAX, ReadWriteFlags::NOWAIT).unwrap_or(0)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn write(&self, _parts: [&[u8]; 2]) -> usize {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{self, Read};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use serde_json::{Value, json};

    use super::super::shutdown::Shutdown;
    use super::super::writer::{self, Framing, Outbox};
    use super::*;

    #[test]
    fn what_has_no_room_is_not_waited_for() -> io::Result<()> {
        let (mut input, output) = io::pipe()?;
        let at_once = AtOnce::of(&File::from(OwnedFd::from(output))).expect("another handle");
        assert_eq!(at_once.write([b"sho", b"rt"]), 5);
        let much = vec![b'x'; 1 << 20];
        let taken = at_once.write([b"", &much]);
        assert!(taken > 0 && taken < much.len(), "{taken}");
        assert_eq!(at_once.write([b"more", b""]), 0);
        let mut read = [0; 5];
        input.read_exact(&mut read)?;
        assert_eq!(&read, b"short");
        drop(input);
        // Broken: the writing thread finds out.
        assert_eq!(at_once.write([b"more", b""]), 0);
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
        let outbox = Outbox::new(Framing::Header, usize::MAX, at_once);
        writer::start(outbox.clone(), stream, Shutdown::new())?;
        for number in 0..3000_u64 {
            let length = number.wrapping_mul(number) % 9000;
            let message = json!({ "number": number, "fill": "x".repeat(length as usize) });
            match number % 3 {
                0 => outbox.send(&message),
                _ => outbox.send_at_once(&message),
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
        let outbox = Outbox::new(Framing::Header, usize::MAX, at_once);
        outbox.send_at_once(&json!({ "number": 7 }));
        drop(outbox);
        assert_eq!(numbers(input)?, [7]);
        Ok(())
    }
}
