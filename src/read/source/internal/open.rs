//! What a provider gave, as a document: numbered rows without a header, since no edit can be of it; rows of ours; or a file as the kind that it is.

use encoding_rs::{Encoding, UTF_8};

use crate::protocol::Refusal;
use crate::protocol::read::{Cache, InternalDetails, Location, MoreDetails, ResourceKind};
use crate::text::Text;
use crate::view::{Document, Extras, Style};
use crate::workspace::ResourceId;

use super::super::{Opened, ReadContext, location, refuse_own};
use super::{About, Given, GivenFile, GivenTarget, GivenText, Listing, Provider};

/// Opens what was given for an address. `inner` is what follows its name, where that may lead on within it.
pub fn open(
    target_kind: &GivenTarget,
    (spelled, inner): (&str, Option<&str>),
    encoding: Option<&'static Encoding>,
    means: ReadContext,
) -> Result<Opened, Refusal> {
    let source = location(&ResourceId::Internal(target_kind.url.clone()), None);
    let provider = target_kind.provider;
    match &target_kind.given {
        Given::Text(given) => {
            refuse_own(means.selector, spelled, provider.facts().what)?;
            Ok(text(given, provider, source))
        }
        Given::List(listing) => {
            refuse_own(means.selector, spelled, "a listing")?;
            Ok(list(listing, provider, source))
        }
        Given::File(given) => {
            let asked = (spelled, inner, encoding);
            file(given, provider, source, asked, means)
        }
        Given::Lacks(_) => Err(Refusal::Internal),
    }
}

/// What is told of it by whoever gave it.
fn details(about: &About, provider: &dyn Provider) -> MoreDetails {
    MoreDetails {
        provider: Some(about.provider.unwrap_or(provider.facts().name)),
        internal: Some(Box::new(about.details.clone())),
        ..MoreDetails::default()
    }
}

fn text(given: &GivenText, provider: &dyn Provider, location: Location) -> Opened {
    let text = given.text.clone();
    Opened {
        spills: given.spills,
        ..Opened::read_only(Document {
            kind: ResourceKind::Internal,
            style: given.style,
            location,
            cache: given.cache,
            details: MoreDetails {
                line_ending: Some(text.line_ending().as_str()),
                total_lines: Some(text.len_lines() as u64),
                total_bytes: Some(text.len_bytes() as u64),
                ..details(&given.about, provider)
            },
            text: text.into(),
            notices: Vec::new(),
            extras: Extras {
                footers: given.about.footers.clone(),
                ..Extras::default()
            },
        })
    }
}

fn list(listing: &Listing, provider: &dyn Provider, location: Location) -> Opened {
    let text = Text::new(&listing.text());
    // What others list is theirs, whoever of ours has the scheme.
    let mut listed = listing.resources.iter().map(|it| it.provider);
    let others = listed.find(|it| matches!(*it, "client" | "server"));
    let of_others = others.map(|_| InternalDetails {
        trusted: Some(false),
        ..InternalDetails::default()
    });
    Opened::read_only(Document {
        kind: ResourceKind::Internal,
        style: Style::Listing,
        location,
        cache: Cache::Hit,
        details: MoreDetails {
            total_lines: Some(text.len_lines() as u64),
            provider: Some(others.unwrap_or(provider.facts().name)),
            resources: Some(listing.resources.clone()),
            internal: listing.details.clone().or(of_others).map(Box::new),
            ..MoreDetails::default()
        },
        text: text.into(),
        notices: Vec::new(),
        extras: Extras {
            footers: listing.footer.clone().into_iter().collect(),
            ..Extras::default()
        },
    })
}

/// What is said of bytes that are neither text nor of any kind.
fn binary(note: &str, location: Location) -> Opened {
    let text = Text::new(&format!("{note}\n"));
    Opened::read_only(Document {
        kind: ResourceKind::Internal,
        style: Style::Note,
        location,
        cache: Cache::Hit,
        details: MoreDetails::default(),
        text: text.into(),
        notices: Vec::new(),
        extras: Extras::default(),
    })
}

/// It is named by its address, wherever it lies.
fn file(
    given: &GivenFile,
    provider: &dyn Provider,
    source: Location,
    (spelled, inner, encoding): (&str, Option<&str>, Option<&'static Encoding>),
    means: ReadContext,
) -> Result<Opened, Refusal> {
    let means = ReadContext {
        held_up_to: given.held_up_to.unwrap_or(means.held_up_to),
        // Who reads what another writes wants to know how long it is by now.
        counts_lines: means.counts_lines || !given.is_editable,
        ..means
    };
    let encoding = encoding.or(given.is_text.then_some(UTF_8));
    let means = ReadContext {
        scope: given.scope.as_deref().unwrap_or(means.scope),
        ..means
    };
    let opened = super::super::open(&given.handle, spelled, inner, encoding, means);
    let mut opened = match (opened, &given.about.if_binary) {
        (Err(Refusal::Binary { .. }), Some(note)) => binary(note, source.clone()),
        (opened, _) => opened?,
    };
    let document = &mut opened.document;
    document.location.source = source.source;
    if given.is_spooled {
        document.location.resolved_path = None;
    }
    let own = details(&given.about, provider);
    (document.details.provider, document.details.internal) = (own.provider, own.internal);
    if given.is_editable {
        return Ok(opened);
    }
    opened.snapshot = None;
    let document = &mut opened.document;
    document.location.uri = None;
    document.details.origin = None;
    if document.kind == ResourceKind::File {
        document.kind = ResourceKind::Internal;
    }
    Ok(opened)
}
