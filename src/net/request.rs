//! What is asked of a fetch and what it gives.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::sync::watch;
use url::Url;

use crate::protocol::settings::Web;

use super::space::Space;
use super::spool::Body;

pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// One address to fetch. Credentials in it are not sent.
#[derive(Debug, Clone)]
pub struct FetchRequest {
    pub url: Url,
    /// Where what led here is: nothing more private is asked. `None` for what a caller named.
    pub from: Option<Space>,
    pub settings: Arc<Web>,
    pub accept: &'static str,
    /// Sent to the origin of `url` alone, at every hop of it.
    pub headers: HeaderMap,
    /// Sent to one URL alone, whichever hop it is.
    pub conditional: Vec<Conditional>,
    pub redirects: Redirects,
    /// Bytes of a decoded body; `web.maxBytes` holds as well.
    pub max_bytes: Option<u64>,
    pub deadline: Instant,
    pub progress: Option<watch::Sender<Progress>>,
}

impl FetchRequest {
    /// A plain request that follows redirects.
    pub fn new(url: Url, settings: Arc<Web>, deadline: Instant) -> FetchRequest {
        FetchRequest {
            url,
            from: None,
            settings,
            accept: "*/*",
            headers: HeaderMap::new(),
            conditional: Vec::new(),
            redirects: Redirects::Follow,
            max_bytes: None,
            deadline,
            progress: None,
        }
    }
}

/// Validators of what is kept of a URL (`If-None-Match`); its fragment does not count.
#[derive(Debug, Clone)]
pub struct Conditional {
    pub url: Url,
    pub headers: HeaderMap,
}

/// Which redirects are followed; one that is not is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    Follow,
    /// Those to the same scheme, host and port.
    SameOrigin,
}

/// How far a fetch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Waiting for a place, an address, a connection or the answer's first byte.
    Connecting,
    /// Of the body as it is decoded; `of` where the length was sent and nothing compressed.
    Received { bytes: u64, of: Option<u64> },
}

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Of the last hop, with the fragment that came down to it.
    pub url: Url,
    /// The redirects that led there, in order.
    pub hops: Vec<Hop>,
    /// Of the last hop.
    pub space: Space,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Body,
    /// What is missing of the body, if not all is there.
    pub cut: Option<Cut>,
    pub requested_at: SystemTime,
    pub responded_at: SystemTime,
    /// Whether a proxy was asked for the last hop.
    pub proxied: bool,
}

/// A redirect that was followed.
#[derive(Debug, Clone)]
pub struct Hop {
    pub from: Url,
    pub status: u16,
    pub headers: HeaderMap,
    pub requested_at: SystemTime,
    pub responded_at: SystemTime,
}

/// Why a body is not whole. Of what is no text only [`Cut::TooLong`] of a failed answer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The limit was reached; `of` as in [`Progress`].
    TooLong { of: Option<u64> },
    /// The connection broke after so many bytes.
    Broken { at: u64, of: Option<u64> },
    /// Events that came within the time one listens to them.
    EventStream,
}
