//! Images in the dialects: the seeds' words beside the engine's picture; pictures are made by other programs.

use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{ask, text_of};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/image");
    std::fs::read(path.join(name)).expect("a fixture")
}

/// A PNG of noise of more bytes than five mebibytes, by Python.
fn large_png(to: &Path) {
    const MAKE: &str = "
import os, struct, sys, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
w, h = 1400, 1300
rows = b''.join(b'\\0' + os.urandom(3 * w) for _ in range(h))
png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0))
png += chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b'')
open(sys.argv[1], 'wb').write(png)
";
    let made = Command::new("python3").args(["-c", MAKE]).arg(to).status();
    assert!(made.expect("python3 runs").success());
}

fn block(result: &Value) -> (&str, Vec<u8>) {
    let blocks = result["content"].as_array().expect("content");
    assert_eq!(blocks.len(), 2, "{}", text_of(result));
    assert_eq!(blocks[1]["type"], "image");
    let data = blocks[1]["data"].as_str().expect("data");
    let mime = blocks[1]["mimeType"].as_str().expect("a type");
    (mime, BASE64.decode(data).expect("base64"))
}

#[test]
fn each_seed_has_its_words_beside_the_picture() {
    let flag = fixture("flag.png");
    let tree = Tree::new().file("lib/flag.png", &flag);
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("lib/flag.png");
    let bytes = flag.len();
    let cases = [
        (
            "opencode",
            json!({ "filePath": "lib/flag.png" }),
            "Image read successfully".to_owned(),
        ),
        (
            "pikuri",
            json!({ "path": "lib/flag.png" }),
            format!("Read image: lib/flag.png ({bytes} bytes, image/png)"),
        ),
        (
            "llm-gateway",
            json!({ "filePath": path }),
            format!("Read image: {path}"),
        ),
    ];
    for (dialect, params, text) in cases {
        // Where the lines are named as well, that is nothing to an image.
        let mut with_lines = params.clone();
        with_lines["offset"] = json!(1);
        with_lines["limit"] = json!(5);
        for params in [params, with_lines] {
            let result = ask(&daemon, dialect, params).expect("a read");
            assert_eq!(text_of(&result), text);
            // What fits is passed on byte for byte.
            assert_eq!(block(&result), ("image/png", flag.clone()), "{dialect}");
            assert_eq!(result["details"]["kind"], "image");
            assert!(result.get("isError").is_none());
        }
    }
    let opencode = ask(&daemon, "opencode", json!({ "filePath": path })).expect("a read");
    assert_eq!(
        opencode["details"]["native"],
        json!({
            "title": "lib/flag.png",
            "metadata": { "preview": "Image read successfully", "truncated": false },
        })
    );
    // Roo's seed says nothing of images: they are the engine's.
    let roo = ask(&daemon, "roo", json!({ "path": "lib/flag.png" })).expect("a read");
    assert!(
        text_of(&roo).starts_with("[lib/flag.png: image/png, "),
        "{}",
        text_of(&roo)
    );
    assert_eq!(block(&roo).1, flag);
}

#[test]
fn every_type_of_the_seeds_is_shown() {
    let types = [
        ("flag.png", "image/png"),
        ("flag.jpg", "image/jpeg"),
        ("flag.gif", "image/gif"),
        ("flag.webp", "image/webp"),
    ];
    let tree = Tree::new();
    for (name, _) in types {
        tree.write(name, fixture(name));
    }
    tree.write("flag.jpeg", fixture("flag.jpg"));
    let daemon = Daemon::start(tree.path());
    for (name, mime) in types.into_iter().chain([("flag.jpeg", "image/jpeg")]) {
        for (dialect, key) in [
            ("opencode", "filePath"),
            ("pikuri", "path"),
            ("llm-gateway", "filePath"),
        ] {
            let result = ask(&daemon, dialect, json!({ key: tree.spelled(name) }));
            let result = result.expect("a read");
            assert_eq!(block(&result).0, mime, "{dialect}: {name}");
        }
    }
}

#[test]
fn over_five_mebibytes_two_of_them_refuse() {
    let tree = Tree::new();
    large_png(&tree.join("huge.png"));
    let bytes = std::fs::metadata(tree.join("huge.png"))
        .expect("a file")
        .len();
    assert!(bytes > 5 * 1024 * 1024);
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("huge.png");
    let gateway = ask(&daemon, "llm-gateway", json!({ "filePath": path })).expect("a result");
    assert_eq!(gateway["isError"], true);
    assert_eq!(
        text_of(&gateway),
        format!("Image file exceeds 5MB limit: {path}")
    );
    let error = &gateway["details"]["native"]["error"];
    assert_eq!(error["data"]["kind"], "tooLarge");
    let pikuri = ask(&daemon, "pikuri", json!({ "path": "huge.png" })).expect("a result");
    assert_eq!(pikuri["isError"], true);
    let text = text_of(&pikuri);
    assert!(
        text.starts_with("Error: image too large: huge.png, 5.2MB"),
        "{text}"
    );
    // The others pass on what the engine makes of it.
    let opencode = ask(&daemon, "opencode", json!({ "filePath": path })).expect("a read");
    assert!(block(&opencode).1.len() < 5 * 1024 * 1024);
    let roo = ask(&daemon, "roo", json!({ "path": "huge.png" })).expect("a read");
    assert!(text_of(&roo).contains("shown at"), "{}", text_of(&roo));
}

#[test]
fn a_damaged_image_is_refused_in_the_style_of_each() {
    let mut cut = fixture("flag.png");
    cut.truncate(cut.len() / 2);
    let tree = Tree::new().file("cut.png", &cut);
    let daemon = Daemon::start(tree.path());
    let thrown = ask(&daemon, "opencode", json!({ "filePath": "cut.png" })).expect_err("thrown");
    assert_eq!(thrown.kind(), "damaged");
    let pikuri = ask(&daemon, "pikuri", json!({ "path": "cut.png" })).expect("a result");
    assert_eq!(pikuri["isError"], true);
    assert!(
        text_of(&pikuri).starts_with("Error: 'cut.png' is damaged"),
        "{}",
        text_of(&pikuri)
    );
    let roo = ask(&daemon, "roo", json!({ "path": "cut.png" })).expect("a result");
    assert!(
        text_of(&roo).starts_with("Error: 'cut.png' is damaged"),
        "{}",
        text_of(&roo)
    );
}
