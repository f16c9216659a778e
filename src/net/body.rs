//! A body as it streams in: decoded, counted, kept in memory or in a file, and ended where it has gone on for long enough.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::sync::watch;
use tokio::time::Instant;
use url::Url;

use super::client::{broken_words, network};
use super::error::{NetError, Phase};
use super::judge::shown;
use super::request::{Cut, Progress};

use super::spool::{Body, Spool, SpoolWriter};

/// Between two pieces of a body.
const BETWEEN: Duration = Duration::from_secs(5);

/// How long one listens to a stream of events.
const EVENTS: Duration = Duration::from_secs(3);

/// What is read of an answer that is a failure.
const MOST_OF_A_FAILURE: u64 = 256 * 1024;

/// Bytes by which a kind is known.
const HEAD: usize = 4096;

/// How a body is received.
#[derive(Debug)]
pub(super) struct Receiving<'a> {
    pub(super) url: &'a Url,
    /// Of the decoded body.
    pub(super) limit: u64,
    pub(super) spool: &'a Arc<Spool>,
    pub(super) progress: Option<&'a watch::Sender<Progress>>,
}

/// What a header says of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyHeaders {
    Text,
    Events,
    /// Something else.
    Binary,
    Nothing,
}

impl Receiving<'_> {
    /// Reads a body to its end or to one of its limits.
    pub(super) async fn receive(
        &self,
        mut response: Response,
    ) -> Result<(Body, Option<Cut>), NetError> {
        // Where nothing is compressed.
        let of = response.content_length();
        let said = said(response.headers());
        let is_failure = !response.status().is_success();
        let limit = match is_failure {
            true => self.limit.min(MOST_OF_A_FAILURE),
            false => self.limit,
        };
        let over = of.is_some_and(|of| of > limit) && !is_failure;
        if over && said == BodyHeaders::Binary {
            return Err(self.too_large(of));
        }
        let listening = Instant::now() + EVENTS;
        let mut sink = Sink::new(self.spool);
        let cut = loop {
            let until = match said {
                BodyHeaders::Events => listening,
                _ => Instant::now() + BETWEEN,
            };
            let chunk = match tokio::time::timeout_at(until, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break None,
                Ok(Err(_)) if is_failure || !is_binary(said, &sink.head) => {
                    break Some(Cut::Broken { at: sink.bytes, of });
                }
                Ok(Err(error)) => return Err(network(self.url, broken_words(&error), true)),
                Err(_) if said == BodyHeaders::Events => break Some(Cut::EventStream),
                Err(_) => {
                    return Err(NetError::Timeout {
                        url: shown(self.url),
                        phase: Phase::Between(BETWEEN),
                    });
                }
            };
            let room = limit - sink.bytes;
            let fits = &chunk[..chunk.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
            sink.add(fits).await?;
            self.tell(sink.bytes, of);
            let is_full = fits.len() < chunk.len();
            if (is_full || over) && !is_failure && is_binary(said, &sink.head) {
                return Err(self.too_large(of));
            }
            if is_full {
                break Some(Cut::TooLong { of });
            }
        };
        Ok((sink.finish().await?, cut))
    }

    fn too_large(&self, of: Option<u64>) -> NetError {
        NetError::TooLarge {
            url: shown(self.url),
            of,
            limit: self.limit,
        }
    }

    fn tell(&self, bytes: u64, of: Option<u64>) {
        if let Some(progress) = self.progress {
            progress.send_replace(Progress::Received { bytes, of });
        }
    }
}

fn said(headers: &HeaderMap) -> BodyHeaders {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return BodyHeaders::Nothing;
    };
    let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    let essence = text.split(';').next().unwrap_or("").trim();
    let (kind, name) = essence.split_once('/').unwrap_or((essence, ""));
    const TEXTS: &[&str] = &[
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "x-javascript",
        "x-ndjson",
        "ndjson",
        "jsonl",
        "x-jsonlines",
        "yaml",
        "x-yaml",
        "toml",
        "x-sh",
        "x-httpd-php",
        "sql",
        "graphql",
        "x-tex",
        "x-latex",
        "markdown",
    ];
    let suffix = name.rsplit_once('+').map_or("", |(_, suffix)| suffix);
    match (kind, name) {
        ("text", "event-stream") => BodyHeaders::Events,
        ("text", _) => BodyHeaders::Text,
        (_, name) if TEXTS.contains(&name) => BodyHeaders::Text,
        _ if matches!(suffix, "json" | "xml" | "yaml" | "json-seq") => BodyHeaders::Text,
        ("", _) => BodyHeaders::Nothing,
        _ => BodyHeaders::Binary,
    }
}

/// Whether a body is no text, by its first bytes and then by what was said of it. UTF-16 has a mark or is not known here.
fn is_binary(said: BodyHeaders, head: &[u8]) -> bool {
    let marked = [&b"\xff\xfe"[..], b"\xfe\xff"]
        .iter()
        .any(|mark| head.starts_with(mark));
    if marked {
        return false;
    }
    let known =
        infer::get(head).is_some_and(|kind| kind.matcher_type() != infer::MatcherType::Text);
    match known || head.contains(&0) {
        true => true,
        false => said == BodyHeaders::Binary,
    }
}

/// Where a body is put.
#[derive(Debug)]
struct Sink<'a> {
    spool: &'a Arc<Spool>,
    /// What is not in the file: all of it, where there is none.
    buffer: Vec<u8>,
    file: Option<SpoolWriter>,
    head: Vec<u8>,
    bytes: u64,
}

impl Sink<'_> {
    fn new(spool: &Arc<Spool>) -> Sink<'_> {
        Sink {
            spool,
            buffer: Vec::new(),
            file: None,
            head: Vec::new(),
            bytes: 0,
        }
    }

    async fn add(&mut self, bytes: &[u8]) -> Result<(), NetError> {
        let wanted = (HEAD - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..wanted]);
        self.bytes += bytes.len() as u64;
        // In pieces: a decoder may give much at once.
        for piece in bytes.chunks(Body::IN_MEMORY) {
            if self.buffer.len() + piece.len() > Body::IN_MEMORY {
                self.write().await?;
            }
            self.buffer.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Empties the buffer into the file, in one of tokio's threads for that.
    async fn write(&mut self) -> Result<(), NetError> {
        let (file, mut buffer) = (self.file.take(), std::mem::take(&mut self.buffer));
        let spool = self.spool.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut file = match file {
                Some(file) => file,
                None => spool.create()?,
            };
            file.write(&buffer)?;
            buffer.clear();
            Ok((file, buffer))
        });
        let written = written.await.map_err(|_| NetError::Internal)?;
        let kept = written.map_err(|error: std::io::Error| NetError::Spool {
            message: error.to_string(),
        })?;
        (self.file, self.buffer) = (Some(kept.0), kept.1);
        Ok(())
    }

    async fn finish(mut self) -> Result<Body, NetError> {
        if self.file.is_some() {
            self.write().await?;
        }
        Ok(match self.file {
            Some(file) => Body::File(file.finish()),
            None => Body::Memory(self.buffer.into()),
        })
    }
}
