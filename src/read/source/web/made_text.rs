//! A text that was made of a page's body, and what is known of it.

use std::sync::{Arc, OnceLock};

use crate::convert::HtmlPage;
use crate::outline::Outline;
use crate::text::Text;

use super::summary;

/// A text that was made of a body.
#[derive(Debug)]
pub struct MadeText {
    pub text: Text,
    pub method: &'static str,
    pub encoding: Option<String>,
    pub title: Option<String>,
    pub notes: Vec<String>,
    /// Its name tells the language that it is in, if it is in one (`x.json`).
    pub file_name: &'static str,
    /// What else a converter found in a page of HTML.
    pub html: Option<Box<HtmlPage>>,
    /// Whether a feed has the entry that was asked for.
    pub has_entry: bool,
    pub(super) outline: OnceLock<Option<Arc<Outline>>>,
}

impl MadeText {
    pub fn new(text: &str, method: &'static str) -> MadeText {
        MadeText {
            text: Text::new(text),
            method,
            encoding: None,
            title: None,
            notes: Vec::new(),
            file_name: "page.md",
            html: None,
            has_entry: false,
            outline: OnceLock::new(),
        }
    }

    /// Its headings, where it is Markdown and has some.
    pub fn outline(&self) -> Option<Arc<Outline>> {
        let make = || match self.file_name {
            "page.md" => summary::outline(&self.text).map(Arc::new),
            _ => None,
        };
        self.outline.get_or_init(make).clone()
    }

    /// Bytes in memory, about.
    pub fn weight(&self) -> u64 {
        let html = self.html.as_ref().map_or(0, |html| {
            let links: usize = html
                .links
                .iter()
                .map(|it| it.text.len() + it.url.len() + 48)
                .sum();
            let sections: usize = html.sections.iter().map(|it| it.id.len() + 40).sum();
            links + sections
        });
        let outline = self.outline.get().and_then(Option::as_ref);
        let outline = outline.map_or(0, |outline| outline.weight());
        (self.text.len_bytes() * 8 / 7 + html + outline + 512) as u64
    }
}
