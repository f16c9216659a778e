//! What the client or an MCP server answered for a URI, as what is shown: one text, a file of the kind that its bytes are, or rows.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::net::{Body, SpooledFile};
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, InternalDetails, NamedResource};
use crate::protocol::resources::{
    ListedResource, PartBody, ResourceAnswer, ResourceContents, ResourceListing, ResourcePart,
};
use crate::session::{Keepable, Key, Label, Material, Prior};
use crate::text::{Text, decode};
use crate::view::size::file_size;
use crate::view::{Selector, Style};
use crate::workspace::Handle;

use super::super::kind::{self, KINDS};
use super::super::web;
use super::{
    About, Given, GivenFile, GivenText, Hold, InternalAsk, InternalContext, Listing, one_line,
};

/// An answer, and what was made of it.
#[derive(Debug)]
pub struct Resource {
    pub answer: ResourceAnswer,
    got_at: SystemTime,
    asked_at: Instant,
    made: OnceLock<MadeResource>,
}

#[derive(Debug)]
enum MadeResource {
    Text(Text),
    /// Bytes in a file of ours, and what is said of them where they are of no kind.
    File(SpooledFile, String),
}

/// Whose answer it is.
#[derive(Debug, Clone)]
pub struct Answerer {
    /// `details.provider`.
    pub provider: &'static str,
    /// Lines above the text.
    pub notices: Vec<String>,
}

/// Base64 as it is sent, with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Resource {
    pub fn new(answer: ResourceAnswer) -> Arc<Resource> {
        Arc::new(Resource {
            answer,
            got_at: SystemTime::now(),
            asked_at: Instant::now(),
            made: OnceLock::new(),
        })
    }

    /// Whether it may be shown without another question, as its answerer said.
    pub fn is_fresh(&self) -> bool {
        match &self.answer {
            ResourceAnswer::Contents(ResourceContents { ttl_ms, .. }) => {
                ttl_ms.is_some_and(|ttl| self.asked_at.elapsed() < Duration::from_millis(ttl))
            }
            ResourceAnswer::Listing(_) => false,
        }
    }

    /// As a provider gives it. Blocking: bytes become a file.
    pub fn given(
        self: &Arc<Resource>,
        spelled: &str,
        answerer: Answerer,
        cache: Cache,
        context: &InternalContext,
    ) -> Result<Given, Refusal> {
        let contents = match &self.answer {
            ResourceAnswer::Listing(listing) => {
                return Ok(Given::List(rows(listing, None, answerer.provider)));
            }
            ResourceAnswer::Contents(contents) => contents,
        };
        let mut about = About {
            provider: Some(answerer.provider),
            details: self.details(contents),
            notices: answerer.notices,
            ..About::default()
        };
        let made = match self.made.get() {
            Some(made) => made,
            None => {
                let made = make(contents, context).map_err(|error| Refusal::io(spelled, &error))?;
                // Another read may have been as quick, with the same.
                self.made.get_or_init(|| made)
            }
        };
        Ok(match made {
            MadeResource::Text(text) => Given::Text(GivenText {
                text: text.clone(),
                about,
                cache,
                style: Style::Lines,
                spills: true,
            }),
            MadeResource::File(file, note) => {
                about.if_binary = Some(note.clone());
                let handle = Handle::of_own_file(file.path());
                Given::File(Box::new(GivenFile {
                    handle: handle.map_err(|error| Refusal::io(spelled, &error))?,
                    about,
                    is_editable: false,
                    is_spooled: true,
                    is_text: false,
                    scope: None,
                    held_up_to: None,
                    hold: Some(Hold::new(file.clone())),
                }))
            }
        })
    }

    fn details(&self, contents: &ResourceContents) -> InternalDetails {
        let only = match &contents.contents[..] {
            [only] => only.mime_type.as_deref(),
            _ => None,
        };
        InternalDetails {
            title: contents.title.as_deref().map(one_line),
            content_type: only.map(one_line),
            fetched_at: Some(web::rfc3339(self.got_at)),
            trusted: Some(contents.trusted == Some(true)),
            ..InternalDetails::default()
        }
    }
}

impl Keepable for Resource {
    fn bytes(&self) -> u64 {
        self.answer.bytes()
    }

    fn hash(&self) -> u128 {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        match &self.answer {
            ResourceAnswer::Contents(contents) => {
                for part in &contents.contents {
                    let (PartBody::Text(body) | PartBody::Blob(body)) = &part.body;
                    hasher.update(part.uri.as_bytes());
                    hasher.update(&[0]);
                    hasher.update(body.as_bytes());
                    hasher.update(&[0]);
                }
            }
            ResourceAnswer::Listing(listing) => {
                for resource in &listing.resources {
                    hasher.update(resource.uri.as_bytes());
                    hasher.update(&[0]);
                }
            }
        }
        hasher.digest128()
    }
}

/// What is said where a session reads on in what is no longer what it was shown.
pub fn is_changed(prior: &Prior<Resource>, now: &Resource, ask: &InternalAsk) -> Option<String> {
    match prior {
        Prior::Dropped(hash) if ask.reads_on && *hash != now.hash() => Some(CHANGED.to_owned()),
        _ => None,
    }
}

const CHANGED: &str = "It has changed since it was last shown; line numbers may differ";

/// Several contents are set apart by their URIs; one that is no text is a file.
fn make(contents: &ResourceContents, context: &InternalContext) -> io::Result<MadeResource> {
    if let [part] = &contents.contents[..] {
        return match bytes(part) {
            Some(bytes) => match text_of(part, &bytes) {
                Some(text) => Ok(MadeResource::Text(text)),
                None => {
                    let name = file_name(part, &bytes);
                    let note = match is_of_a_kind(&name, &bytes) {
                        // No artifact is made of what is shown as what it is.
                        true => not_text(part, bytes.len(), None),
                        false => not_text(part, bytes.len(), put_away(part, &bytes, context)),
                    };
                    let spool = context.provided.spool();
                    let file = spool.keep(&Body::Memory(bytes.into()), &name)?;
                    Ok(MadeResource::File(file, note))
                }
            },
            None => Ok(MadeResource::Text(text(part))),
        };
    }
    let mut all = String::new();
    for part in &contents.contents {
        all.push_str(&format!("--- {} ---\n", one_line(&part.uri)));
        match bytes(part) {
            None => push_text(&mut all, &text(part)),
            Some(bytes) => match text_of(part, &bytes) {
                Some(text) => push_text(&mut all, &text),
                None => {
                    let number = put_away(part, &bytes, context);
                    all.push_str(&not_text(part, bytes.len(), number));
                    all.push('\n');
                }
            },
        }
    }
    Ok(MadeResource::Text(Text::new(&all)))
}

fn push_text(all: &mut String, text: &Text) {
    text.chunks().for_each(|chunk| all.push_str(chunk));
    if !all.ends_with('\n') {
        all.push('\n');
    }
}

/// The text of a part that is sent as one.
fn text(part: &ResourcePart) -> Text {
    let (PartBody::Text(body) | PartBody::Blob(body)) = &part.body;
    Text::new(body)
}

/// The bytes of a part that is sent as such; base64 that is none is shown as it came.
fn bytes(part: &ResourcePart) -> Option<Vec<u8>> {
    let PartBody::Blob(base64) = &part.body else {
        return None;
    };
    BASE64.decode(base64.as_bytes()).ok().or_else(|| {
        let bare: Vec<u8> = base64
            .bytes()
            .filter(|b| !b.is_ascii_whitespace())
            .collect();
        BASE64.decode(bare).ok()
    })
}

/// The text of bytes whose type is one of text.
fn text_of(part: &ResourcePart, bytes: &[u8]) -> Option<Text> {
    let essence = essence(part);
    let is_text = essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence.as_str(),
            "application/json" | "application/xml" | "application/javascript" | "application/yaml"
        );
    // Pictures in XML are pictures, and notebooks in JSON are notebooks.
    let is_more = essence.starts_with("image/") || essence == "application/x-ipynb+json";
    if !is_text || is_more {
        return None;
    }
    decode(bytes, None).ok().map(|decoded| decoded.text)
}

/// Its type without parameters.
fn essence(part: &ResourcePart) -> String {
    let written = part.mime_type.as_deref().unwrap_or_default();
    let essence = written.split(';').next().unwrap_or_default();
    one_line(essence).to_ascii_lowercase()
}

/// `[application/octet-stream, 12.3KB: not text; artifact://5]`.
fn not_text(part: &ResourcePart, bytes: usize, artifact: Option<u64>) -> String {
    let essence = match essence(part) {
        essence if essence.is_empty() => "application/octet-stream".to_owned(),
        essence => essence,
    };
    let size = file_size(bytes as u64);
    match artifact {
        Some(number) => format!("[{essence}, {size}: not text; artifact://{number}]"),
        None => format!("[{essence}, {size}: not text]"),
    }
}

/// Whether bytes are shown as text or as some kind of file, as their beginning tells.
fn is_of_a_kind(name: &str, bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(kind::HEAD)];
    kind::is_claimed(name, &Selector::default())
        || KINDS.iter().any(|kind| kind.claims_bytes(head))
        || decode(head, None).is_ok()
}

/// Bytes that are not shown become an artifact of the session; a store that is full or off costs no more
/// than that.
fn put_away(part: &ResourcePart, bytes: &[u8], context: &InternalContext) -> Option<u64> {
    if !context.stores.is_on() {
        return None;
    }
    let label = Label {
        title: Some(one_line(&part.uri)),
        mime_type: Some(essence(part)).filter(|it| !it.is_empty()),
        is_terminal: false,
        is_text: false,
        is_spilled: true,
    };
    let material = Material::Bytes(bytes.to_vec());
    let put = context
        .stores
        .put(context.session, None, label, None, &material, context.work);
    match put
        .inspect_err(|error| tracing::warn!(%error, "not kept"))
        .ok()?
        .key
    {
        Key::Number(number) => Some(number),
        Key::Agent(_) => None,
    }
}

/// As kinds are told: the last part of its URI, with an extension that is right for its bytes.
fn file_name(part: &ResourcePart, bytes: &[u8]) -> String {
    let path = part.uri.split(['?', '#']).next().unwrap_or_default();
    let last = path.rsplit(['/', ':']).next().unwrap_or_default();
    web::file_name_for(last, &essence(part), bytes)
}

/// Rows for what is listed, below the name of the server that has it.
pub fn rows(listing: &ResourceListing, server: Option<&str>, provider: &'static str) -> Listing {
    let mut rows: Vec<Vec<String>> = server
        .map(|name| vec![name.to_owned()])
        .into_iter()
        .collect();
    rows.extend(listing.resources.iter().map(|it| {
        let words =
            [&it.mime_type, &it.description].map(|it| one_line(it.as_deref().unwrap_or("")));
        let [mime_type, description] = words;
        vec![
            one_line(&it.uri),
            one_line(name(it)),
            mime_type,
            description,
        ]
    }));
    rows.extend(listing.templates.iter().map(|it| {
        let description = one_line(it.description.as_deref().unwrap_or_default());
        let template = format!("{}  (template)", one_line(&it.uri_template));
        match description.is_empty() {
            true => vec![template],
            false => vec![format!("{template}  {description}")],
        }
    }));
    let address = |uri: &str| match server {
        Some(server) => format!("mcp://{server}/{uri}"),
        None => uri.to_owned(),
    };
    let resources = listing.resources.iter().map(|it| NamedResource {
        uri: address(&it.uri),
        name: one_line(name(it)),
        description: it.description.as_deref().map(one_line),
        mime_type: it.mime_type.as_deref().map(one_line),
        size: it.size,
        provider,
        ..NamedResource::default()
    });
    Listing {
        rows,
        resources: resources.collect(),
        footer: listing
            .is_cut
            .then(|| "There are more; these are the first 1000".to_owned()),
        ..Listing::default()
    }
}

fn name(resource: &ListedResource) -> &str {
    match resource.name.is_empty() {
        true => resource.title.as_deref().unwrap_or_default(),
        false => &resource.name,
    }
}
