//! Tells the program what `--version` names besides its number: the target it is built for and the commit.
//!
//! The commit is what `dist/build` says it is (`PILCROW_COMMIT`), else what `cargo package` wrote into
//! the crate. A build in a checkout names none: it would have to be built again after each commit, or
//! be wrong.

use std::env;
use std::fs;

/// What `cargo package` says of the commit.
const PACKAGED: &str = ".cargo_vcs_info.json";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Only a packaged crate has it. To cargo a file that is missing has changed each time: it would compile all again.
    if fs::exists(PACKAGED).unwrap_or(false) {
        println!("cargo::rerun-if-changed={PACKAGED}");
    }
    println!("cargo::rerun-if-env-changed=PILCROW_COMMIT");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=PILCROW_TARGET={target}");
    let commit = env::var("PILCROW_COMMIT").ok().or_else(packaged_commit);
    let commit = commit.unwrap_or_else(|| "from source".to_owned());
    println!("cargo::rustc-env=PILCROW_COMMIT={commit}");
}

/// `{"git": {"sha1": "…"}}`
fn packaged_commit() -> Option<String> {
    let info = fs::read_to_string(PACKAGED).ok()?;
    let (_, rest) = info.split_once("\"sha1\"")?;
    let commit: String = rest
        .chars()
        .skip_while(|c| !c.is_ascii_hexdigit())
        .take_while(char::is_ascii_hexdigit)
        .collect();
    (commit.len() >= 12).then(|| commit[..12].to_owned())
}
