//! What is to be sent, and the thread that sends it; no message is ever written before one that was sent before it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use tokio::sync::Notify;

use crate::protocol::to_json;

use super::at_once::AtOnce;
use super::shutdown::{EndOnDrop, Ending, Shutdown};

/// Small frames are joined into writes of about this size.
const BATCH: usize = 128 << 10;

/// Bodies of more bytes are left to the writing thread: about what a pipe holds.
const SHORT: usize = 64 << 10;

/// How messages are told apart on the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A header with the length of what follows.
    Header,
    /// One message a line.
    Line,
}

/// Messages waiting to be written. Their bytes are counted until the output has taken them.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    /// Whether the queue is at its limit, or closed. Changed while it is locked; asked without that,
    /// since who writes at once keeps it locked, and is often interrupted by whom it writes to.
    is_shut: AtomicBool,
    framing: Framing,
    limit: usize,
    at_once: Option<AtOnce>,
    filled: Condvar,
    drained: Condvar,
    room: Notify,
    empty: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Message>,
    unsent: usize,
    /// Nothing more is taken in.
    closed: bool,
}

/// One message, or what is left of it.
#[derive(Debug)]
enum Message {
    /// Without its header.
    Body(Vec<u8>),
    /// A frame, or the end of one that the output did not take as a whole.
    Rest(Vec<u8>),
}

impl Message {
    fn bytes(&self) -> &[u8] {
        let (Message::Body(bytes) | Message::Rest(bytes)) = self;
        bytes
    }

    /// Adds it to what is to be written.
    fn write_to(&self, batch: &mut Vec<u8>) {
        if let Message::Body(body) = self {
            write_head(body, batch);
        }
        batch.extend_from_slice(self.bytes());
    }
}

fn write_head(body: &[u8], batch: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = write!(batch, "Content-Length: {}\r\n\r\n", body.len());
}

impl Outbox {
    /// An outbox that asks its users to pause at `limit` unsent bytes.
    pub(super) fn new(framing: Framing, limit: usize, at_once: Option<AtOnce>) -> Arc<Outbox> {
        Arc::new(Outbox {
            framing,
            queue: Mutex::default(),
            is_shut: AtomicBool::new(false),
            limit,
            at_once,
            filled: Condvar::new(),
            drained: Condvar::new(),
            room: Notify::new(),
            empty: Notify::new(),
        })
    }

    /// Sends a message. Never waits: who makes messages asks for room before, so that an answer
    /// that is there can always be handed in.
    pub fn send(&self, message: &impl Serialize) {
        self.send_by(message, false);
    }

    /// As [`Outbox::send`], for a message that no other will follow soon: what the output takes
    /// of it without a wait is written by this thread, and the writing thread is not woken for it.
    pub fn send_at_once(&self, message: &impl Serialize) {
        self.send_by(message, true);
    }

    fn send_by(&self, message: &impl Serialize, at_once: bool) {
        match to_json(message) {
            Ok(body) => self.push(body, at_once),
            // Messages are made of JSON values, for which this does not happen.
            Err(error) => tracing::error!(%error, "a message cannot be written as JSON"),
        }
    }

    fn push(&self, body: Vec<u8>, at_once: bool) {
        let mut message = match self.framing {
            Framing::Header => Message::Body(body),
            Framing::Line => {
                let mut line = body;
                line.push(b'\n');
                Message::Rest(line)
            }
        };
        let mut queue = self.queue.lock();
        if queue.closed {
            return;
        }
        // Else the writing thread is at it, and this one would overtake it.
        if queue.unsent == 0 && at_once {
            match self.write_at_once(message) {
                Some(left) => message = left,
                None => return,
            }
        }
        queue.unsent += message.bytes().len();
        queue.messages.push_back(message);
        self.shut_or_open(&queue);
        self.filled.notify_one();
    }

    fn shut_or_open(&self, queue: &Queue) {
        let is_shut = queue.closed || queue.unsent >= self.limit;
        self.is_shut.store(is_shut, Ordering::SeqCst);
    }

    /// Writes what the output takes without a wait; gives back what it did not take.
    fn write_at_once(&self, message: Message) -> Option<Message> {
        let Some(at_once) = &self.at_once else {
            return Some(message);
        };
        let body = message.bytes();
        if body.len() > SHORT {
            return Some(message);
        }
        let mut head = Vec::new();
        if let Message::Body(body) = &message {
            write_head(body, &mut head);
        }
        match at_once.write([&head, body]) {
            0 => Some(message),
            taken if taken == head.len() + body.len() => None,
            taken => {
                let mut frame = [&head, body].concat();
                Some(Message::Rest(frame.split_off(taken)))
            }
        }
    }

    /// Blocks while the limit is reached; false once the outbox is closed.
    pub fn wait_for_room(&self) -> bool {
        if !self.is_shut.load(Ordering::SeqCst) {
            return true;
        }
        let mut queue = self.queue.lock();
        self.drained.wait_while(&mut queue, |queue| {
            queue.unsent >= self.limit && !queue.closed
        });
        !queue.closed
    }

    /// Waits while the limit is reached.
    pub async fn room(&self) {
        loop {
            // Made before the look, so that no change in between is missed.
            let room = self.room.notified();
            if !self.is_shut.load(Ordering::SeqCst) || self.queue.lock().closed {
                return;
            }
            room.await;
        }
    }

    /// Waits until everything is written. Called by one task only.
    pub async fn empty(&self) {
        while self.queue.lock().unsent > 0 {
            self.empty.notified().await;
        }
    }

    /// Takes nothing in any more and lets everyone go who waits for room.
    pub fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        self.shut_or_open(&queue);
        drop(queue);
        self.filled.notify_all();
        self.drained.notify_all();
        self.room.notify_waiters();
    }

    /// Drops what cannot be written any more.
    fn discard(&self) {
        let mut queue = self.queue.lock();
        queue.messages.clear();
        queue.unsent = 0;
        drop(queue);
        self.close();
        self.empty.notify_one();
    }

    /// Blocks for the next messages, about [`BATCH`] bytes; `None` once closed and empty.
    fn take(&self) -> Option<Vec<Message>> {
        let mut queue = self.queue.lock();
        self.filled.wait_while(&mut queue, |queue| {
            queue.messages.is_empty() && !queue.closed
        });
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < BATCH
            && let Some(message) = queue.messages.pop_front()
        {
            bytes += message.bytes().len();
            taken.push(message);
        }
        (!taken.is_empty()).then_some(taken)
    }

    fn sent(&self, bytes: usize) {
        let mut queue = self.queue.lock();
        queue.unsent -= bytes;
        self.shut_or_open(&queue);
        if queue.unsent < self.limit {
            self.drained.notify_all();
            self.room.notify_waiters();
        }
        if queue.unsent == 0 {
            self.empty.notify_one();
        }
    }
}

/// Starts the thread that writes what is in the outbox.
pub fn start(
    outbox: Arc<Outbox>,
    output: Box<dyn Write + Send>,
    shutdown: Shutdown,
) -> io::Result<()> {
    let write = move || {
        let closing = DiscardOnDrop(outbox);
        let ending = EndOnDrop(shutdown, Ending::BrokenOutput);
        match write_all(&closing.0, output) {
            // Closed, so that the ending is known already.
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "the output cannot be written to"),
        }
        drop(ending);
    };
    let thread = std::thread::Builder::new().name("rpc-writer".to_owned());
    thread.spawn(write).map(drop)
}

/// Nobody may wait for a writer that is gone.
struct DiscardOnDrop(Arc<Outbox>);

impl Drop for DiscardOnDrop {
    fn drop(&mut self) {
        self.0.discard();
    }
}

fn write_all(outbox: &Outbox, mut output: impl Write) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(messages) = outbox.take() {
        for message in &messages {
            match message {
                Message::Body(body) if body.len() >= BATCH => {
                    write_head(body, &mut batch);
                    output.write_all(&batch)?;
                    output.write_all(body)?;
                    batch.clear();
                }
                message => message.write_to(&mut batch),
            }
        }
        output.write_all(&batch)?;
        output.flush()?;
        batch.clear();
        let bytes = messages.iter().map(|message| message.bytes().len());
        outbox.sent(bytes.sum());
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use serde_json::{Value, json};

    use super::super::at_once::Output;
    use super::*;

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
        start(outbox.clone(), stream, Shutdown::new())?;
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
