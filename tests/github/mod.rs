//! `issue://` and `pr://` over the wire, asked of a server of the test's own that answers as GitHub's public pages of its REST interface say.

mod errors;
mod hub;
mod items;
mod lists;
