//! Listing through a judged handle; what it leaves out is exactly what may not be named one by one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde_json::json;

use super::super::{Directory, EntryKind, ListError, Scope};
use super::{Scratch, work};

fn list<'a>(scope: &'a Scope, path: &Path) -> Directory<'a> {
    let handle = scope.open(path).expect("a directory that may be listed");
    scope.list(&handle).expect("listed")
}

fn names(directory: &mut Directory<'_>) -> BTreeSet<OsString> {
    let read = directory.read(1000, &work()).expect("read");
    assert!(!read.is_cut);
    read.entries.into_iter().map(|entry| entry.name).collect()
}

/// The directory and all below it that may be listed hold the names that are permitted one by one.
fn agrees(scope: &Scope, path: &Path, mut directory: Directory<'_>) {
    let permitted = |entry: std::fs::DirEntry| {
        let is_dir = entry.file_type().expect("its type").is_dir();
        scope
            .permits(&entry.path(), is_dir)
            .then(|| (entry.file_name(), is_dir))
    };
    let entries = std::fs::read_dir(path).expect("the same directory");
    let expected: Vec<_> = entries
        .filter_map(|entry| permitted(entry.expect("one")))
        .collect();
    let listed = names(&mut directory);
    assert_eq!(
        listed,
        expected.iter().map(|(name, _)| name.clone()).collect(),
        "{path:?}"
    );
    for (name, is_dir) in expected {
        if is_dir {
            agrees(
                scope,
                &path.join(&name),
                directory.child(&name).expect("a directory"),
            );
        }
    }
}

#[test]
fn a_listing_permits_what_is_permitted_one_by_one() {
    let place = Scratch::new(&[
        "ws/.env",
        "ws/.ENV.local",
        "ws/.env.example",
        "ws/a/.env",
        "ws/a/b/deep.key",
        "ws/a/b/kept.key",
        "ws/a/b/top",
        "ws/top",
        "ws/Secrets/x",
        "ws/a/secrets",
        "ws/shut/x.txt",
        "ws/inner/.env",
        "ws/inner/inner/x.key",
        "ws/inner/only.txt",
        "out/ws2/a.key",
        "out/.env",
    ]);
    place.write(
        "ws/.agentignore",
        "*.key\n!kept.key\n/top\n/a/b/only.txt\nonly.txt\n",
    );
    place.write("ws/a/.agentignore", "!deep.key\n");
    place.write("ws/a/b/.rooignore", "deep.*\n");
    place.make("ws/shut/.agentignore/");
    let rules = [
        ".env",
        ".env.*",
        "!.env.example",
        "secrets/",
        "inner/inner",
        "/ws2",
    ];
    for (roots, outside, start) in [
        (&["ws"][..], "deny", "ws"),
        (&["ws", "ws/inner"], "deny", "ws"),
        (&["ws/inner", "ws"], "deny", "ws/inner"),
        (&["ws/a"], "read", "ws"),
        (&["ws", "out/ws2"], "read", ""),
    ] {
        for rules in [&rules[..], &[]] {
            let access = json!({ "deny": rules, "outsideWorkspace": outside });
            let scope = place.scope_of(roots, access);
            let path = place.at(start).components().collect::<std::path::PathBuf>();
            agrees(&scope, &path, list(&scope, &path));
        }
    }
    let scope = place.scope();
    let listed = names(&mut list(&scope, &place.at("ws/shut")));
    assert!(
        listed.is_empty(),
        "rules that cannot be read deny all: {listed:?}"
    );
}

#[test]
fn reading_stops_at_the_limit_and_when_nobody_waits() {
    let place = Scratch::new(&["ws/a", "ws/b", "ws/c"]);
    let scope = place.scope();
    let read = |limit| {
        list(&scope, &place.at("ws"))
            .read(limit, &work())
            .expect("read")
    };
    assert!(!read(3).is_cut);
    let cut = read(2);
    assert_eq!((cut.entries.len(), cut.is_cut), (2, true));
    let token = crate::task::CancelToken::new();
    let work = crate::task::Work::new(token.clone(), std::time::Duration::from_secs(30));
    token.cancel();
    let stopped = list(&scope, &place.at("ws")).read(10, &work);
    assert!(matches!(stopped, Err(ListError::Stopped(_))));
}

#[test]
fn a_directory_that_became_a_link_is_not_gone_into() {
    let place = Scratch::new(&["ws/d/x", "out/secret"]);
    let scope = place.scope();
    let mut directory = list(&scope, &place.at("ws"));
    let read = directory.read(10, &work()).expect("read");
    assert_eq!(
        read.entries[0].kind,
        EntryKind::Directory { ignored: false }
    );
    std::fs::rename(place.at("ws/d"), place.at("ws/e")).expect("renamed");
    place.make("ws/d -> out");
    assert!(directory.child("d".as_ref()).is_err());
    // The workspace itself moves away and a link takes its place: the opened one is gone on with.
    std::fs::rename(place.at("ws"), place.at("moved")).expect("renamed");
    place.make("ws -> out");
    let names = names(&mut directory.child("e".as_ref()).expect("still there"));
    assert!(!names.contains(&OsString::from("secret")), "{names:?}");
}
