//! Directories; a name that access denies is never listed.

mod walk;

use crate::protocol::Refusal;
use crate::protocol::read::{Cache, ListingLimits, MoreDetails, ResourceKind};
use crate::text::Text;
use crate::view::listing::{self, DirectoryView, Rest};
use crate::view::{self, Document, Extras, Style};
use crate::workspace::{Handle, now_ns};

use super::{Opened, ReadContext, location};

/// A directory as rows: with the directories in it, or its names alone.
pub fn open(handle: &Handle, spelled: &str, means: ReadContext) -> Result<Opened, Refusal> {
    means.work.takes_long()?;
    let mut footers = Vec::new();
    let deep = means.listing == view::ListingStyle::Tree;
    let inside = walk::contents(handle, spelled, deep, means.scope, means.work)?;
    let limit = walk::limit_met(&inside).filter(|_| deep || inside.rest != Rest::Nothing);
    let text = match means.listing {
        view::ListingStyle::Tree => {
            let listing = DirectoryView {
                path: means.display.to_owned(),
                inside,
            };
            listing::rows(&listing, now_ns().into())
        }
        view::ListingStyle::Names => {
            if let Rest::MoreThan(read) = inside.rest {
                footers.push(format!("There are more than {read} entries"));
            }
            listing::names(&inside)
        }
    };
    let text = Text::new(&text);
    Ok(Opened::read_only(Document {
        kind: ResourceKind::Directory,
        style: Style::Listing,
        location: location(&handle.into(), None),
        cache: Cache::Miss,
        notices: Vec::new(),
        details: MoreDetails {
            is_directory: Some(true),
            total_lines: Some(text.len_lines() as u64),
            limits: limit.map(|result_limit| ListingLimits {
                result_limit,
                total: None,
            }),
            ..MoreDetails::default()
        },
        text: text.into(),
        extras: Extras {
            footers,
            ..Extras::default()
        },
    }))
}
