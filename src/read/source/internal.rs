//! Texts that are in no file and no editor: what has one is a provider, one file beside this one and a row of `read::scheme`.
//!
//! Such a text is numbered rows without a header, since no edit can be of it; a list of what there
//! is has rows without numbers.

pub mod folders;

use std::borrow::Cow;
use std::fmt;

use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, NamedResource, ResourceKind};
use crate::text::Text;
use crate::view::{Document, Extras, Selector, Style};
use crate::workspace::{InternalUrl, ResourceId};

use super::{Opened, location, refuse_own};

/// Who has the texts of a scheme, all of them in memory.
pub trait Provider: Sync + fmt::Debug {
    /// `details.provider`.
    fn name(&self) -> &'static str;

    /// What one of its texts is, as a sentence names it.
    fn what(&self) -> &'static str;

    /// What has this name, which was decoded once; `""` is the scheme as a whole.
    fn get(&self, name: &str) -> Option<Given>;

    /// Names to suggest where one is missing.
    fn names(&self) -> &'static [&'static str] {
        &[]
    }
}

/// What has a name.
#[derive(Debug)]
pub enum Given {
    Text(Cow<'static, str>),
    /// What there is, one row each.
    List(Vec<NamedResource>),
}

/// Opens what was located as an address of this provider's.
pub fn open(
    url: &InternalUrl,
    provider: &dyn Provider,
    selector: &Selector,
    spelled: &str,
) -> Result<Opened, Refusal> {
    let given = provider.get(url.name()).ok_or(Refusal::Internal)?;
    refuse_own(selector, spelled, provider.what())?;
    let (text, style, resources) = match given {
        Given::Text(text) => (Text::new(&text), Style::Lines, None),
        Given::List(list) => (Text::new(&rows(&list)), Style::Listing, Some(list)),
    };
    let is_text = style == Style::Lines;
    Ok(Opened::read_only(Document {
        kind: ResourceKind::Internal,
        style,
        location: location(&ResourceId::Internal(url.clone()), None),
        cache: Cache::Hit,
        details: MoreDetails {
            line_ending: is_text.then(|| text.line_ending().as_str()),
            total_lines: Some(text.len_lines() as u64),
            total_bytes: is_text.then(|| text.len_bytes() as u64),
            provider: Some(provider.name()),
            resources,
            ..MoreDetails::default()
        },
        text: text.into(),
        notices: Vec::new(),
        extras: Extras::default(),
    }))
}

/// The address of each, and in the second column what it is.
fn rows(list: &[NamedResource]) -> String {
    let widths = list.iter().map(|row| row.uri.chars().count());
    let width = widths.max().unwrap_or(0);
    let row = |row: &NamedResource| format!("{:width$}  {}\n", row.uri, row.description);
    list.iter().map(row).collect()
}
