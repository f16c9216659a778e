//! Messages as lines over a server's input and output, with limits that the library's own transport does not have.
//!
//! A line that is too long is never held; where its request is known by its head or its end, that is answered with
//! [`TOO_LONG`] at once. A server that does not know `server/discover` and says nothing to it is taken for one that
//! refused it, so that the handshake of old is tried before the time for the start is over.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage, NumberOrString, RequestId,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// Bytes of a line: a resource of 16 MiB with its escapes, or in base64.
const MAX_LINE: usize = 34 * 1024 * 1024;
/// As much as is looked at of a longer one.
const LOOKED_AT: usize = 256;
/// Lines in a row that are no messages; then it is no server.
const MAX_GARBAGE: usize = 1000;
const CHUNK: usize = 64 * 1024;

/// The code by which a line that is too long answers its request; no server of ours has it.
pub(super) const TOO_LONG: i32 = -31_016;
/// The same of an answer that has no form of an answer.
pub(super) const MISUNDERSTOOD: i32 = -31_017;

pub(super) struct ServerLines {
    output: ChildStdout,
    input: Arc<Mutex<Option<ChildStdin>>>,
    chunk: Vec<u8>,
    /// Bytes that came and were not looked at.
    unread: Vec<u8>,
    /// Bytes of `unread` that hold no line end.
    searched: usize,
    /// The end of the line that is being left out.
    too_long: Option<LongLine>,
    garbage: usize,
    discover: Discover,
    patience: Patience,
}

/// How long a server may say nothing to the question that only newer ones know.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    pub(super) within: Duration,
    /// It answered all the same, later: it is a newer one that was slow.
    pub(super) was_slow: Arc<AtomicBool>,
}

struct LongLine {
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// How far the question is that only newer servers know.
enum Discover {
    NotAsked,
    Asked(RequestId, Instant),
    Answered,
    /// What still comes for it is let go.
    GivenUp(RequestId),
}

impl ServerLines {
    pub(super) fn new(output: ChildStdout, input: ChildStdin, patience: Patience) -> ServerLines {
        ServerLines {
            output,
            input: Arc::new(Mutex::new(Some(input))),
            chunk: vec![0; CHUNK],
            unread: Vec::new(),
            searched: 0,
            too_long: None,
            garbage: 0,
            discover: Discover::NotAsked,
            patience,
        }
    }

    /// The next line; `None` at the end of the output. Loses nothing when it is dropped.
    async fn line(&mut self) -> Option<ServerLine> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(line);
            }
            let count = self.output.read(&mut self.chunk).await.ok()?;
            if count == 0 {
                return None;
            }
            self.unread.extend_from_slice(&self.chunk[..count]);
        }
    }

    /// A line of what came, if a whole one did.
    fn take_line(&mut self) -> Option<ServerLine> {
        let end = memchr::memchr(b'\n', &self.unread[self.searched..]);
        let Some(end) = end.map(|at| self.searched + at) else {
            if let Some(too_long) = &mut self.too_long {
                too_long.goes_on(&self.unread);
                self.unread.clear();
            } else if self.unread.len() > MAX_LINE {
                let head = self.unread[..LOOKED_AT].to_vec();
                let tail = self.unread[self.unread.len() - LOOKED_AT..].to_vec();
                self.too_long = Some(LongLine { head, tail });
                self.unread = Vec::new();
            }
            self.searched = self.unread.len();
            return None;
        };
        let rest = self.unread.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.unread, rest);
        self.searched = 0;
        line.pop();
        Some(match self.too_long.take() {
            Some(mut too_long) => {
                too_long.goes_on(&line);
                ServerLine::TooLong(too_long.request())
            }
            None => ServerLine::Whole(line),
        })
    }

    /// What a line is to the library; `None` where it is nothing.
    fn message(&mut self, line: ServerLine) -> Option<RxJsonRpcMessage<RoleClient>> {
        let line = match line {
            ServerLine::Whole(line) => line,
            ServerLine::TooLong(id) => return Some(failed(id?, TOO_LONG)),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        if let Ok(message) = serde_json::from_slice(&line) {
            self.garbage = 0;
            return Some(message);
        }
        match serde_json::from_slice::<BareAnswer>(&line) {
            Ok(answer) if answer.result.is_some() || answer.error.is_some() => {
                Some(failed(answer.id, MISUNDERSTOOD))
            }
            // Notifications of its own, and requests that nobody knows.
            Ok(_) => None,
            Err(_) => {
                self.garbage += 1;
                None
            }
        }
    }

    /// Whether a message belongs to the question that was given up.
    fn is_late(&self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let Discover::GivenUp(discover) = &self.discover else {
            return false;
        };
        match message {
            JsonRpcMessage::Response(response) if response.id == *discover => {
                self.patience.was_slow.store(true, Ordering::Relaxed);
                true
            }
            JsonRpcMessage::Error(error) => error.id.as_ref() == Some(discover),
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Request(_)
            | JsonRpcMessage::Notification(_) => false,
        }
    }
}

enum ServerLine {
    Whole(Vec<u8>),
    /// With the request that it answers, where that is known.
    TooLong(Option<RequestId>),
}

/// An answer of which nothing is known but whose it is.
#[derive(Deserialize)]
struct BareAnswer {
    id: RequestId,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl LongLine {
    fn goes_on(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let over = self.tail.len().saturating_sub(LOOKED_AT);
        self.tail.drain(..over);
    }

    /// The request that it answers: the id stands before the result or behind it.
    fn request(&self) -> Option<RequestId> {
        number_after_id(&self.tail, true).or_else(|| number_after_id(&self.head, false))
    }
}

/// The number behind the last, or the first, `"id":`.
fn number_after_id(bytes: &[u8], last: bool) -> Option<RequestId> {
    const ID: &[u8] = b"\"id\":";
    let at = match last {
        true => memchr::memmem::rfind(bytes, ID)?,
        false => memchr::memmem::find(bytes, ID)?,
    };
    let rest = bytes[at + ID.len()..].trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&rest[..digits]).ok()?;
    number.parse().ok().map(NumberOrString::Number)
}

fn failed(id: RequestId, code: i32) -> RxJsonRpcMessage<RoleClient> {
    let error = ErrorData::new(ErrorCode(code), "", None);
    JsonRpcMessage::Error(JsonRpcError::new(Some(id), error))
}

impl Transport<RoleClient> for ServerLines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::DiscoverRequest(_) = &request.request
        {
            let until = Instant::now() + self.patience.within;
            self.discover = Discover::Asked(request.id.clone(), until);
        }
        let input = self.input.clone();
        async move {
            let mut line = serde_json::to_vec(&message).map_err(io::Error::other)?;
            line.push(b'\n');
            match &mut *input.lock().await {
                Some(input) => {
                    input.write_all(&line).await?;
                    input.flush().await
                }
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.garbage < MAX_GARBAGE {
            let line = match &self.discover {
                Discover::Asked(id, until) => {
                    let (id, until) = (id.clone(), *until);
                    match timeout_at(until, self.line()).await {
                        Ok(line) => line?,
                        Err(_) => {
                            self.discover = Discover::GivenUp(id.clone());
                            return Some(failed(id, ErrorCode::METHOD_NOT_FOUND.0));
                        }
                    }
                }
                _ => self.line().await?,
            };
            let Some(message) = self.message(line) else {
                continue;
            };
            if self.is_late(&message) {
                continue;
            }
            if let (Discover::Asked(..), JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) =
                (&self.discover, &message)
            {
                self.discover = Discover::Answered;
            }
            return Some(message);
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.input.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_known_by_its_head_or_its_end() {
        let id = |head: &str, tail: &str| {
            let too_long = LongLine {
                head: head.as_bytes().to_vec(),
                tail: tail.as_bytes().to_vec(),
            };
            too_long.request()
        };
        let five = Some(NumberOrString::Number(5));
        assert_eq!(
            id(r#"{"jsonrpc":"2.0","id": 5,"result":{"#, "x\"}]}}"),
            five
        );
        assert_eq!(
            id(r#"{"result":{"#, r#"x"}]},"jsonrpc":"2.0","id":5}"#),
            five
        );
        assert_eq!(id(r#"{"result":{"#, r#"say \"id\":7 x"}]}}"#), None);
        assert_eq!(id("", r#""id":"seven"}"#), None);
    }
}
