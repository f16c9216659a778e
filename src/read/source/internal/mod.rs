//! What is in no file of the workspace and no web page, by its address: what has such things is a provider, one file beside this one and a row of `read::scheme`.
//!
//! A provider is asked by the name that stands behind `scheme://` and answers with a text, a listing or
//! a file, or says what has to be obtained before it can answer; [`locate`] tells the name from its
//! selector, [`open`] makes a document of what was given.

pub mod agent;
pub mod artifact;
pub mod client;
pub mod folders;
pub mod github;
pub mod guide;
mod listing;
pub mod local;
pub mod locate;
pub mod mcp;
pub mod open;
pub mod provided;
pub mod resource;

use std::any::Any;
use std::fmt;

use crate::buffer::Overlays;
use crate::protocol::read::{Cache, InternalDetails};
use crate::protocol::{Refusal, Settings};
use crate::session::{KeptTexts, Stores};
use crate::task::Work;
use crate::text::Text;
use crate::view::{Selector, Style};
use crate::workspace::{Handle, InternalUrl, Scope};

use super::super::obtained::{Lacking, Obtained};

pub use folders::Folders;
pub use listing::{Listing, one_line};
pub use provided::Provided;

/// Whose read it is, and what of the daemon a provider may use.
#[derive(Debug, Clone, Copy)]
pub struct InternalContext<'a> {
    pub session: &'a str,
    /// With the folders of the session.
    pub scope: &'a Scope,
    pub overlays: &'a Overlays,
    pub stores: &'a Stores,
    /// What was found in folders.
    pub folders: &'a Folders,
    pub kept: &'a KeptTexts,
    pub provided: &'a Provided,
    /// The client waits for this read to answer what it was asked.
    pub is_resolving: bool,
    /// Parameters name the lines.
    pub names_lines: bool,
    /// What it is and how large stands above it.
    pub tells_title: bool,
    /// What was got so far of what this very read lacked.
    pub obtained: Option<&'a Obtained>,
    /// The dialect that it is written in.
    pub dialect: &'static str,
    pub work: &'a Work,
}

/// What is asked of a provider.
#[derive(Debug, Clone, Copy)]
pub struct InternalAsk<'a> {
    /// As the caller wrote it, without a selector: for refusals.
    pub spelled: &'a str,
    /// What stands behind `scheme://`, as it was written.
    pub written: &'a str,
    /// The same, decoded once where the scheme is one whose names are ([`Provider::decodes`]).
    pub name: &'a str,
    /// What of it is wanted. It is told from the name by this very question, so that it may be meant
    /// as part of the name.
    pub selector: &'a Selector,
    /// As much of `written` as is the name if all that can be a selector is one.
    pub shortest: &'a str,
    /// Lines are asked for, by the selector or by parameters: of what was shown before, that is read on in.
    pub reads_on: bool,
    /// Only what it is is wanted: it is not shown to anybody.
    pub is_probe: bool,
}

/// What holds of all that a provider has.
#[derive(Debug)]
pub struct ProviderFacts {
    /// `details.provider`, unless what is given says otherwise.
    pub name: &'static str,
    /// What one of its things is, as a sentence names it.
    pub what: &'static str,
    /// What stands behind `scheme://` in its addresses, as models are told of them.
    pub form: &'static str,
    /// Nothing of it is in a file of this machine.
    pub is_elsewhere: bool,
    /// Names are percent-decoded.
    pub decodes: bool,
    /// A `?` and what follows it are part of a name.
    pub names_hold_queries: bool,
    /// The parameters that may follow a `?`.
    pub parameters: &'static [&'static str],
    /// Its texts are shown whole, as far as any text is.
    pub is_shown_whole: bool,
}

impl ProviderFacts {
    /// As most are; name and what are each provider's own.
    pub const DEFAULT: ProviderFacts = ProviderFacts {
        name: "",
        what: "",
        form: "NAME",
        is_elsewhere: false,
        decodes: true,
        names_hold_queries: false,
        parameters: &[],
        is_shown_whole: false,
    };
}

/// Who has what is behind the addresses of a scheme.
pub trait Provider: Sync + fmt::Debug {
    /// What holds of all that it has.
    fn facts(&self) -> &'static ProviderFacts;

    /// Whether these settings leave it anything that it could have.
    fn is_on(&self, _: &Settings) -> bool {
        true
    }

    /// What has this name, `None` where nothing has it; `""` is the scheme as a whole. Blocking.
    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal>;

    /// Names to suggest where one is missing.
    fn names(&self, _: &InternalContext) -> Vec<String> {
        Vec::new()
    }

    /// The same for who asked for a name that nothing has.
    fn names_like(&self, _asked: &str, context: &InternalContext) -> Vec<String> {
        self.names(context)
    }

    /// What to do instead of changing what has this name, as the end of a sentence that begins with
    /// its address.
    fn instead_of_change(&self, _name: &str, _scope: &Scope) -> String {
        format!("is {} and cannot be changed", self.facts().what)
    }
}

/// What has a name.
#[derive(Debug)]
pub enum Given {
    Text(GivenText),
    /// What there is, one row each.
    List(Listing),
    File(Box<GivenFile>),
    /// This has to be obtained first; then the provider is asked again.
    Lacks(Lacking),
}

/// What is told of something that is given, besides what it holds.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The address, where that is not the one it was asked for by.
    pub url: Option<InternalUrl>,
    /// Who has it, where that is not the provider alone.
    pub provider: Option<&'static str>,
    pub details: InternalDetails,
    /// A line each, above the text.
    pub notices: Vec<String>,
    /// A line each, below the text.
    pub footers: Vec<String>,
    /// Of a file: what is shown in its place if it is neither text nor of any kind.
    pub if_binary: Option<String>,
}

/// A text in memory.
#[derive(Debug)]
pub struct GivenText {
    pub text: Text,
    pub about: About,
    pub cache: Cache,
    /// Under numbers, unless it has rows of ours.
    pub style: Style,
    /// It is to be had again only by asking somebody who may answer otherwise: where it is cut, the
    /// whole becomes an artifact.
    pub spills: bool,
}

/// A file or a directory, read as the kind of resource that it is.
#[derive(Debug)]
pub struct GivenFile {
    pub handle: Handle,
    pub about: About,
    /// By what it is judged, where that is not by what the session may reach.
    pub scope: Option<Box<Scope>>,
    /// It is edited by its address, and shown as a file of the workspace is.
    pub is_editable: bool,
    /// It is a file of ours for as long as it is kept: nobody is told where it lies.
    pub is_spooled: bool,
    /// It is known to be text, in UTF-8.
    pub is_text: bool,
    /// Over so many bytes it is read by lines, and not held; where that is not as for any file.
    pub held_up_to: Option<u64>,
    /// What keeps it as it is until it was opened.
    pub hold: Option<Hold>,
}

/// Dropped when a file was opened.
pub struct Hold(#[expect(dead_code, reason = "it is dropped")] Box<dyn Any + Send + Sync>);

impl Hold {
    pub fn new(held: impl Any + Send + Sync) -> Hold {
        Hold(Box::new(held))
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("Hold")
    }
}

impl Given {
    /// A text that is all there is to say.
    pub fn text(text: &str) -> Given {
        Given::Text(GivenText {
            text: Text::new(text),
            about: About::default(),
            cache: Cache::Hit,
            style: Style::Lines,
            spills: false,
        })
    }

    /// The address, where that is not the one it was asked for by.
    fn url(&self) -> Option<&InternalUrl> {
        match self {
            Given::Text(text) => text.about.url.as_ref(),
            Given::File(file) => file.about.url.as_ref(),
            Given::List(listing) => listing.url.as_ref(),
            Given::Lacks(_) => None,
        }
    }

    /// What is said above it.
    fn notices(&self) -> &[String] {
        match self {
            Given::Text(text) => &text.about.notices,
            Given::File(file) => &file.about.notices,
            Given::List(_) | Given::Lacks(_) => &[],
        }
    }
}

/// What an address named, as its provider gave it.
#[derive(Debug)]
pub struct GivenTarget {
    pub url: InternalUrl,
    pub provider: &'static dyn Provider,
    pub given: Given,
}
