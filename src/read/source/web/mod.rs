//! Web pages: an address to a page, a page to a document.
//!
//! [`address`] takes the path string apart. [`obtain`] gets the page, from its server or from what is
//! [`kept`]; nothing of that holds a thread. [`open`] makes a document of it in a job: what it is
//! ([`content`]), its text ([`made`]: HTML and feeds by a converter, JSON here; all else is opened as a
//! file of its kind), whether something else is better to read ([`choose`], which says what it lacks),
//! and what is said with it ([`header`]).

mod address;
mod choose;
mod content;
mod fragment;
mod header;
mod kept;
mod made;
mod made_text;
mod obtain;
mod open;
mod page;
mod sites;
mod summary;

pub use address::{Looks, WebAddress, looks, parse, without_secrets};
pub use content::name_for as file_name_for;
pub use header::rfc3339;
pub use obtain::{ObtainedPage, PageAsk, PageLacking, Web};
pub use open::open;
