//! What the kinds other than text cost, a module for each, every read beside the least that could be done instead; nothing here judges a time.

mod archive;
mod beside;
mod document;
mod folders;
mod github;
mod notebook;
mod server;
mod sqlite;
#[path = "../support/mod.rs"]
mod support;
mod web;
mod wire;

use support::Answer;

// The daemon's own allocator, for reads in this process.
fn main() -> Answer<()> {
    support::work_if_asked();
    if !support::serve_if_asked()? {
        divan::main();
        // Not where some benches are picked out, or listed.
        if std::env::args()
            .skip(1)
            .all(|argument| argument == "--bench")
        {
            beside::print()?;
            web::print()?;
            github::print()?;
        }
    }
    Ok(())
}
