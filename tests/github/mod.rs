//! `issue://` and `pr://` over the wire, asked of a server of the test's own that answers as GitHub's public pages of its REST interface say.

mod cache;
mod diffs;
mod errors;
mod faults;
mod hub;
mod items;
mod limits;
mod lists;
mod logins;
mod pulls;
mod repositories;
