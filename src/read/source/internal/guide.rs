//! `pilcrow://NAME`: the daemon's own guide, out of the binary; its pages are the Markdown files in `../guide/`.

use crate::protocol::Refusal;
use crate::protocol::read::NamedResource;
use crate::workspace::InternalUrl;

use super::{Given, InternalAsk, InternalContext, Listing, Provider, ProviderFacts};

/// The provider of the scheme.
pub static GUIDE: Guide = Guide;

/// See the module.
#[derive(Debug)]
pub struct Guide;

/// One page.
struct GuidePage {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal: $about:literal,)*) => {
        const NAMES: &[&str] = &[$($name),*];
        const PAGES: &[GuidePage] = &[$(GuidePage {
            name: $name,
            about: $about,
            text: include_str!(concat!("../guide/", $name, ".md")),
        }),*];
    };
}

pages! {
    "read": "Reading files and directories: what comes back, and how much",
    "selectors": "What may follow a path: lines, forms, parts",
    "edit": "Changing files: the patch, blocks, what may be edited, whole files",
    "kinds": "Archives, documents, databases, notebooks, images",
    "internal": "Addresses that are no files, this guide among them",
    "settings": "What the user can set, with the defaults",
    "errors": "What each kind of error means and what to do",
}

impl Provider for Guide {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "daemon",
            what: "the daemon's own guide",
            ..ProviderFacts::DEFAULT
        }
    }

    fn get(&self, ask: &InternalAsk, _: &InternalContext) -> Result<Option<Given>, Refusal> {
        if ask.name.is_empty() {
            let pages = PAGES.iter().map(listed).collect();
            return Ok(Some(Given::List(Listing::of(pages))));
        }
        let page = PAGES.iter().find(|page| page.name == ask.name);
        Ok(page.map(|page| Given::text(page.text)))
    }

    fn names(&self, _: &InternalContext) -> Vec<String> {
        NAMES.iter().map(|name| (*name).to_owned()).collect()
    }
}

fn listed(page: &GuidePage) -> NamedResource {
    NamedResource {
        uri: InternalUrl::new("pilcrow", page.name).to_string(),
        name: page.name.to_owned(),
        description: Some(page.about.to_owned()),
        mime_type: Some("text/markdown".to_owned()),
        size: Some(page.text.len() as u64),
        provider: GUIDE.facts().name,
        ..NamedResource::default()
    }
}
