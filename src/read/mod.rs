//! The pipeline of a read: what is there, what of it is shown, how it is written; nothing later ever goes back to an earlier stage.

mod ask;
mod declared;
mod definitions;
mod details;
mod finish;
mod fit;
mod fragment;
mod look;
mod obtained;
mod outlines;
mod places;
mod plan;
mod reader;
mod scheme;
mod search;
mod share;
mod source;
mod source_file;
mod syntax_checks;
mod target;

pub use ask::{Ask, BudgetParams, is_resolving, session_name};
pub use fit::cut;
pub use obtained::{ClientAnswer, Got, Lacking, Obtained, StageResult};
pub use places::{Whereabouts, go_on_mount, place_to_edit, places_to_read};
pub use plan::Prepared;
pub use reader::Reader;
pub use scheme::{address_forms, looks_like_address, refuse_change, refuse_making, schemes};
pub use search::SearchAsk;
pub use share::{Share, beside_rows, share_within};
#[cfg(any(test, fuzzing))]
pub use source::archive_laws;
pub use source::editor::id_of_unsaved;
pub use source::internal::folders::writable as writable_folders;
pub use source::internal::resource::Resource;
pub use source::internal::{InternalContext, Provided};
pub use source::kind::{KINDS, Kind, kinds};
pub use source::location::file_uri;
pub use source::notebook::{Converted, convert, is_notebook_name};
pub use source::text::{Held, held};
pub use source::web::{ObtainedPage, PageLacking, Web};
pub use syntax_checks::{Checked, SyntaxChecks, key};
pub use target::{Located, TargetKind, is_address, locate, refuse_longer_than_a_path};
