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

/// A PNG of noise, by Python: three bytes for each pixel.
fn noise_png(to: &Path, width: u32, height: u32) {
    const MAKE: &str = "
import os, struct, sys, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
w, h = int(sys.argv[2]), int(sys.argv[3])
rows = b''.join(b'\\0' + os.urandom(3 * w) for _ in range(h))
png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0))
png += chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b'')
open(sys.argv[1], 'wb').write(png)
";
    let size = [width.to_string(), height.to_string()];
    let made = Command::new("python3")
        .args(["-c", MAKE])
        .arg(to)
        .args(size)
        .status();
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
    noise_png(&tree.join("huge.png"), 1400, 1300);
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
    // The others pass on what the engine makes of it, and say what that is.
    let opencode = ask(&daemon, "opencode", json!({ "filePath": path })).expect("a read");
    let (mime, data) = block(&opencode);
    assert!(data.len() <= 5 * 1024 * 1024);
    assert_eq!(
        text_of(&opencode),
        format!(
            "Image read successfully\n[Attached is {mime}, 1400x1300, {}, made of image/png, 1400x1300, 5.2MB]",
            sized(data.len())
        )
    );
    let roo = ask(&daemon, "roo", json!({ "path": "huge.png" })).expect("a read");
    assert!(text_of(&roo).contains("shown at"), "{}", text_of(&roo));
}

/// As sizes are written from a kilobyte to a megabyte or so.
fn sized(bytes: usize) -> String {
    match bytes as f64 / 1024.0 {
        kilobytes if kilobytes < 1024.0 => format!("{kilobytes:.1}KB"),
        kilobytes => format!("{:.1}MB", kilobytes / 1024.0),
    }
}

const SEEDS: [(&str, &str); 3] = [
    ("opencode", "filePath"),
    ("pikuri", "path"),
    ("llm-gateway", "filePath"),
];

/// The seeds' limit is 5 MB, whatever that of fetched images is, and they make none smaller.
#[test]
fn up_to_five_mebibytes_an_image_is_passed_on_as_it_is() {
    let tree = Tree::new();
    noise_png(&tree.join("photo.png"), 2400, 400);
    let file = std::fs::read(tree.join("photo.png")).expect("a file");
    assert!(file.len() > 2 * 1024 * 1024);
    let daemon = Daemon::start(tree.path());
    for (dialect, key) in SEEDS {
        let path = tree.spelled("photo.png");
        let result = ask(&daemon, dialect, json!({ key: path })).expect("a read");
        assert_eq!(block(&result), ("image/png", file.clone()), "{dialect}");
        assert_eq!(text_of(&result).lines().count(), 1);
    }
    // Elsewhere the defaults of the settings hold.
    let hashline = daemon.read("photo.png").expect("a read");
    assert!(block(&hashline).1.len() <= 307_200);
}

#[test]
fn the_settings_bound_what_is_passed_on_and_each_says_so() {
    let tree = Tree::new();
    noise_png(&tree.join("photo.png"), 900, 400);
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "images": { "maxDimension": 450, "maxInlineBytes": 40_000 } }))
        .start();
    let path = tree.spelled("photo.png");
    for (dialect, key) in SEEDS {
        let result = ask(&daemon, dialect, json!({ key: path })).expect("a read");
        let (mime, data) = block(&result);
        assert!(mime == "image/jpeg" && data.len() <= 40_000, "{dialect}");
        let size = imagesize(&data);
        let said = match dialect {
            "opencode" => "Image read successfully".to_owned(),
            "pikuri" => format!("Read image: photo.png ({} bytes, image/jpeg)", data.len()),
            _ => format!("Read image: {path}"),
        };
        assert_eq!(
            text_of(&result),
            format!(
                "{said}\n[Attached is image/jpeg, {}x{}, {}, made of image/png, 900x400, 1.0MB]",
                size.0,
                size.1,
                sized(data.len())
            )
        );
        assert!(size.0 <= 450);
    }
    // Not at all, where they say so.
    let settings = json!({ "settings": { "pilcrow": { "images": { "inline": false } } } });
    daemon.notify("workspace/didChangeConfiguration", settings);
    let result = ask(&daemon, "pikuri", json!({ "path": path })).expect("a read");
    assert!(text_of(&result).contains("not shown (images.inline is off)"));
}

fn imagesize(data: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(data).expect("a picture");
    (picture.width(), picture.height())
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
