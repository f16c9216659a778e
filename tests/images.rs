//! Images over the wire, of pictures made by other programs: what a model is told and what it is shown; a block that does not decode is a failure everywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use image::DynamicImage;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::{Daemon, HANG};
use crate::tree::Tree;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/image")
}

pub fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

/// The picture of an answer: its type, its bytes, and its pixels, which must be what the type says.
pub fn picture(result: &Value) -> (String, Vec<u8>, DynamicImage) {
    let blocks = result["content"].as_array().expect("content");
    assert_eq!(blocks.len(), 2, "{}", text_of(result));
    let mime = blocks[1]["mimeType"].as_str().expect("a type").to_owned();
    let data = BASE64.decode(blocks[1]["data"].as_str().expect("data"));
    let data = data.expect("base64");
    let format = image::guess_format(&data).expect("a known format");
    assert_eq!(format.to_mime_type(), mime);
    let pixels = image::load_from_memory(&data).expect("a block that decodes");
    (mime, data, pixels)
}

/// Whether it is the flag, upright: black in the corner, then red, white, blue.
fn is_flag(pixels: &DynamicImage, name: &str) {
    let pixels = pixels.to_rgb8();
    let (width, height) = pixels.dimensions();
    let at = |x: u32, y: u32| pixels.get_pixel(x * width / 48, y * height / 32).0;
    let near = |found: [u8; 3], wanted: [u8; 3], what: &str| {
        let far = found.iter().zip(wanted).any(|(a, b)| a.abs_diff(b) > 60);
        assert!(!far, "{name}: {what} is {found:?}");
    };
    near(at(1, 1), [0, 0, 0], "the corner");
    near(at(8, 24), [200, 30, 60], "the left");
    near(at(24, 8), [255, 255, 255], "the middle");
    near(at(40, 24), [20, 60, 200], "the right");
}

pub fn refused(daemon: &Daemon, path: &str) -> (String, String) {
    let error = daemon.read(path).expect_err(path);
    (error.kind().to_owned(), error.message)
}

#[test]
fn notes_and_pictures_of_every_format() {
    let daemon = Daemon::start(&fixtures());
    for (name, note) in [
        (
            "large.jpg",
            "image/jpeg, 4000x3000, 78.5KB; shown at 2000x1500",
        ),
        (
            "large.png",
            "image/png, 3000x1200, 13.1KB; shown at 2000x800",
        ),
        ("flag.jpg", "image/jpeg, 48x32, 703B"),
        ("flag-progressive.jpg", "image/jpeg, 48x32, 589B"),
        ("flag-cmyk.jpg", "image/jpeg, 48x32, 521B"),
        ("flag-16bit-rgb.png", "image/png, 48x32, 148B"),
        ("flag-palette.png", "image/png, 48x32, 116B"),
        ("flag-interlaced.png", "image/png, 48x32, 170B"),
        ("flag.gif", "image/gif, 48x32, 210B"),
        ("flag.webp", "image/webp, 48x32, 136B"),
        ("flag-lossless.webp", "image/webp, 48x32, 78B"),
        ("exact.png", "image/png, 2000x2000, 15.9KB"),
        ("flag.bmp", "image/bmp, 48x32, 4.6KB; shown as image/png"),
        ("flag-rle.bmp", "image/bmp, 48x32, 338B; shown as image/png"),
        ("flag.tif", "image/tiff, 48x32, 4.6KB; shown as image/png"),
        (
            "flag-lzw.tif",
            "image/tiff, 48x32, 500B; shown as image/png",
        ),
        (
            "flag-cmyk.tif",
            "image/tiff, 48x32, 604B; shown as image/png",
        ),
        (
            "flag-orientation-6.tif",
            "image/tiff, 48x32, 444B; shown as image/png",
        ),
        (
            "flag-bmp.ico",
            "image/x-icon, 32x32, 3.2KB; shown as image/png",
        ),
        ("flag.ico", "image/x-icon, 48x48, 643B; shown as image/png"),
        ("png-named.jpg", "image/png, 48x32, 151B"),
        ("jpeg-named.png", "image/jpeg, 48x32, 703B"),
        ("gif-named.txt", "image/gif, 48x32, 210B"),
        ("webp-named.bin", "image/webp, 48x32, 136B"),
        ("no-extension", "image/png, 48x32, 151B"),
    ] {
        let result = daemon.read(name).expect(name);
        assert_eq!(text_of(&result), format!("[{name}: {note}]"));
        assert_eq!(result["details"]["kind"], "image");
        assert_eq!(result["details"]["hashline"], Value::Null);
        let (_, data, pixels) = picture(&result);
        if !name.ends_with("ico") {
            is_flag(&pixels, name);
        }
        // What fits, in a form that models take, is passed on byte for byte.
        let file = fs::read(fixtures().join(name)).expect("a fixture");
        assert_eq!(data == file, !note.contains("shown"), "{name}");
        assert!(pixels.width().max(pixels.height()) <= 2000);
    }
    // The other kinds of picture that there are in the folder decode as well.
    for name in [
        "flag-gray.png",
        "flag-gray-alpha.png",
        "flag-1bit.png",
        "flag-g4.tif",
        "flag-16bit.tif",
        "tall.png",
        "one.png",
        "flag-565.bmp",
    ] {
        picture(&daemon.read(name).expect(name));
    }
}

#[test]
fn a_picture_is_shown_upright() {
    let daemon = Daemon::start(&fixtures());
    for turn in 1..=9 {
        let name = format!("orientation-{turn}.jpg");
        let result = daemon.read(&name).expect("a read");
        assert!(
            text_of(&result).contains(": image/jpeg, 48x32, "),
            "{}",
            text_of(&result)
        );
        is_flag(&picture(&result).2, &name);
    }
    let result = daemon
        .read("large-6.jpg:crop=0,0,1600,1200")
        .expect("a read");
    assert_eq!(
        text_of(&result),
        "[large-6.jpg: image/jpeg, 1600x2400, 27.0KB; part 0,0,1600,1200]"
    );
    let pixels = picture(&result).2.to_rgb8();
    assert_eq!(pixels.dimensions(), (1600, 1200));
}

#[test]
fn of_what_moves_the_first_frame_is_shown_and_that_is_said() {
    let daemon = Daemon::start(&fixtures());
    for (name, notice) in [
        (
            "flag-animated.gif",
            "It is animated; only the first frame is shown",
        ),
        (
            "flag-animated.webp",
            "It is animated; only the first frame is shown",
        ),
        (
            "flag-apng.png",
            "It is animated; only the first frame is shown",
        ),
        (
            "flag-pages.tif",
            "It has several pages; only the first is shown",
        ),
    ] {
        let result = daemon.read(name).expect(name);
        assert!(text_of(&result).ends_with(&format!("]\n\n[{notice}]")));
        assert_eq!(result["details"]["notices"], json!([notice]));
        let (mime, _, pixels) = picture(&result);
        assert_eq!(mime, "image/png");
        // The first is red.
        let pixel = pixels.to_rgb8().get_pixel(24, 16).0;
        assert!(pixel[0] > 150 && pixel[1] < 100, "{name}: {pixel:?}");
    }
}

#[test]
fn a_crop_is_in_the_pixels_of_the_image() {
    let daemon = Daemon::start(&fixtures());
    let result = daemon.read("large.jpg:crop=0,0,500,500").expect("a crop");
    assert_eq!(
        text_of(&result),
        "[large.jpg: image/jpeg, 4000x3000, 78.5KB; part 0,0,500,500]"
    );
    let (_, _, pixels) = picture(&result);
    // The corner is black up to a sixth of 3000 rows.
    let pixel = pixels.to_rgb8().get_pixel(490, 490).0;
    assert!(pixel.iter().all(|c| *c < 60), "{pixel:?}");
    let result = daemon.read("large.jpg:crop=1,1,2400,2400").expect("a crop");
    assert!(text_of(&result).ends_with("; part 1,1,2400,2400; shown at 2000x2000]"));
    let result = daemon.read("flag.png:crop=40,20,100,100").expect("a crop");
    assert_eq!(
        text_of(&result),
        "[flag.png: image/png, 48x32, 151B; part 40,20,8,12]\n\n[The crop goes beyond the image (48x32); 8x12 of it are there]"
    );
    assert_eq!(
        refused(&daemon, "flag.png:crop=48,0,1,1"),
        ("badSelector".into(), "The crop begins at 48,0, outside of the image, which is 48x32 pixels. Use :crop=x,y,w,h with x under 48 and y under 32.".into())
    );
    assert_eq!(
        refused(&daemon, "flag.png:crop=1,1,0,5"),
        (
            "badSelector".into(),
            "A crop is :crop=x,y,w,h in pixels of the image, with w and h of at least 1.".into()
        )
    );
    let apart = json!({ "path": "flag.png", "selector": "crop=0,0,5,5" });
    let pixels = picture(&daemon.read_with(apart).expect("a crop")).2;
    assert_eq!((pixels.width(), pixels.height()), (5, 5));
}

#[test]
fn selectors_of_other_kinds_are_refused() {
    let daemon = Daemon::start(&fixtures());
    let lines = "An image has no lines. Leave the selector out, or use :crop=x,y,w,h to see a part of it in its own pixels.";
    for (path, kind, message) in [
        ("flag.png:5-9", "badSelector", lines),
        ("flag.png:-3", "badSelector", lines),
        ("no-extension:2", "badSelector", lines),
        (
            "flag.png:outputs",
            "badSelector",
            ":outputs is for notebooks, and this is an image. Leave it out.",
        ),
        (
            "flag.png:p2",
            "badSelector",
            ":p selects pages of documents, and this is an image. Leave it out.",
        ),
        (
            "flag.png:conflicts",
            "badSelector",
            ":conflicts is for text files, and this is an image. Leave the selector out.",
        ),
        (
            "flag.svg:crop=1,1,1,1",
            "badSelector",
            ":crop is for images, and this is text. Leave it out.",
        ),
        (
            "flag.png:raw",
            "binary",
            "'flag.png:raw' is a binary file (PNG image), not text. Read it without :raw to see it.",
        ),
    ] {
        assert_eq!(
            refused(&daemon, path),
            (kind.into(), message.into()),
            "{path}"
        );
    }
    assert!(
        text_of(&daemon.read("flag.svg").expect("text")).contains("\n8:  <title>Harbour</title>")
    );
    for (name, kind) in [
        ("text-named.png", "file"),
        ("html-named.jpg", "file"),
        ("empty.png", "file"),
    ] {
        assert_eq!(daemon.read(name).expect(name)["details"]["kind"], kind);
    }
}

#[test]
fn the_settings_decide_what_is_shown() {
    let settings = json!({ "images": { "inline": false } });
    let daemon = Daemon::builder()
        .root(fixtures())
        .settings(settings)
        .start();
    for (name, text) in [
        (
            "large.jpg",
            "[large.jpg: image/jpeg, 4000x3000, 78.5KB; 3 channels, no alpha; not shown (images.inline is off)]",
        ),
        (
            "flag-gray.png",
            "[flag-gray.png: image/png, 48x32, 105B; 1 channel, no alpha; not shown (images.inline is off)]",
        ),
        (
            "flag-alpha.png",
            "[flag-alpha.png: image/png, 48x32, 162B; 4 channels, alpha; not shown (images.inline is off)]",
        ),
    ] {
        let result = daemon.read(name).expect(name);
        assert_eq!(result["content"], json!([{ "type": "text", "text": text }]));
    }
    let tree = Tree::new();
    // Noise, which no format makes small.
    let mut seed = 1u32;
    let noise = image::RgbImage::from_fn(600, 400, |_, _| {
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        image::Rgb([next(), next(), next()])
    });
    noise.save(tree.join("noise.png")).expect("written");
    fs::copy(fixtures().join("flag-alpha.png"), tree.join("alpha.png")).expect("copied");
    let settings = json!({ "images": { "maxDimension": 300, "maxInlineBytes": 20_000 } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let (mime, data, pixels) = picture(&daemon.read("noise.png").expect("a read"));
    assert_eq!(mime, "image/jpeg");
    assert!(
        data.len() <= 20_000 && pixels.width() <= 300,
        "{}",
        data.len()
    );
    let settings = json!({ "settings": { "pilcrow": { "images": { "maxDimension": 24 } } } });
    daemon.notify("workspace/didChangeConfiguration", settings);
    let result = daemon.read("alpha.png").expect("a read");
    assert_eq!(
        text_of(&result),
        "[alpha.png: image/png, 48x32, 162B; shown at 24x16]"
    );
    let (mime, _, pixels) = picture(&result);
    assert_eq!(mime, "image/png");
    assert_eq!(
        pixels.to_rgba8().get_pixel(22, 8).0[3],
        0,
        "it stays transparent"
    );
}

#[test]
fn an_image_that_was_read_is_warm_until_it_changes() {
    let tree = Tree::new();
    fs::copy(fixtures().join("large.jpg"), tree.join("a.jpg")).expect("copied");
    let daemon = Daemon::start(tree.path());
    let begun = Instant::now();
    // What has just changed is not kept.
    while daemon.read("a.jpg").expect("a read")["details"]["cache"] != "hit" {
        assert!(begun.elapsed() < HANG, "it is never warm");
    }
    let result = daemon.read("a.jpg").expect("a read");
    assert_eq!(
        text_of(&result),
        "[a.jpg: image/jpeg, 4000x3000, 78.5KB; shown at 2000x1500]"
    );
    fs::copy(fixtures().join("flag.jpg"), tree.join("a.jpg")).expect("copied");
    let result = daemon.read("a.jpg").expect("a read");
    assert_eq!(text_of(&result), "[a.jpg: image/jpeg, 48x32, 703B]");
    assert_eq!(result["details"]["cache"], "miss");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_decoded() {
    let tree = Tree::new();
    let mut large = fs::read(fixtures().join("flag.png")).expect("a fixture");
    large.resize(20 * 1024 * 1024 + 1, 0);
    tree.write("large.png", &large);
    let daemon = Daemon::builder().root(tree.path()).root(fixtures()).start();
    assert_eq!(
        refused(&daemon, "large.png"),
        ("tooLarge".into(), "'large.png' is too large: the image has 20.0MB, and at most 20.0MB are decoded. Make a smaller copy with another program and read that.".into())
    );
    for (name, size) in [
        ("bomb.png", "60000x60000"),
        ("bomb-real.png", "20000x20000"),
        ("bomb.jpg", "65500x65500"),
        ("bomb.gif", "65535x65535"),
        ("bomb.bmp", "60000x60000"),
        ("bomb.tif", "60000x60000"),
        ("bomb.webp", "16383x16383"),
    ] {
        let path = format!("hostile/{name}");
        assert_eq!(
            refused(&daemon, &path),
            (
                "tooLarge".into(),
                format!(
                    "'{path}' is too large: the image is {size}, and at most 100 megapixels are decoded. Make a smaller copy with another program and read that; :crop cannot help, it is applied after decoding."
                )
            )
        );
    }
}

#[test]
fn what_does_not_decode_is_damaged() {
    let daemon = Daemon::start(&fixtures());
    let instead = "Nothing of it can be shown; ask the user for a sound copy, or convert it to PNG with another program.";
    assert_eq!(
        refused(&daemon, "hostile/truncated.png"),
        (
            "damaged".into(),
            format!(
                "'hostile/truncated.png' is damaged: the PNG image does not decode (it ends before its end). {instead}"
            )
        )
    );
    assert_eq!(
        refused(&daemon, "hostile/bad-filter.png"),
        (
            "damaged".into(),
            format!(
                "'hostile/bad-filter.png' is damaged: the PNG image does not decode (Unknown filter method 9). {instead}"
            )
        )
    );
    for name in [
        "truncated.jpg",
        "truncated.gif",
        "truncated.webp",
        "truncated.bmp",
        "truncated.tif",
        "truncated.ico",
        "header-only.png",
        "header-only.jpg",
        "header-only.gif",
        "header-only.webp",
        "header-only.bmp",
        "header-only.tif",
        "header-only.ico",
        "bad-crc.png",
        "no-idat.png",
        "no-iend.png",
        "two-ihdr.png",
        "ifd-loop.tif",
        "ifd-far.tif",
        "bomb.ico",
        "zero.png",
    ] {
        let (kind, message) = refused(&daemon, &format!("hostile/{name}"));
        assert_eq!(kind, "damaged", "{name}: {message}");
        assert!(
            message.ends_with(instead) && !message.contains('\n'),
            "{message}"
        );
    }
    assert_eq!(refused(&daemon, "flag.avif").0, "binary");
}

/// Cut and spoilt pictures, some hundreds, in one daemon that goes on serving.
#[test]
#[cfg(target_os = "linux")]
fn hostile_pictures_cost_nothing_but_their_own_answers() {
    let tree = Tree::new().file("plain.txt", "still here\n");
    let mut chance = Chance(0x2545_F491_4F6C_DD1D);
    let mut names = Vec::new();
    for source in [
        "flag.png",
        "flag-palette.png",
        "flag.jpg",
        "flag-progressive.jpg",
        "flag-animated.gif",
        "flag.webp",
        "flag-alpha.webp",
        "flag.bmp",
        "flag-rle.bmp",
        "flag-lzw.tif",
        "flag-jpeg.tif",
        "flag.ico",
        "large.jpg",
    ] {
        let sound = fs::read(fixtures().join(source)).expect("a fixture");
        let mut add = |bytes: &[u8]| {
            let name = format!("{}-{source}", names.len());
            tree.write(&name, bytes);
            names.push(name);
        };
        for percent in [10, 50, 90] {
            add(&sound[..sound.len() * percent / 100]);
        }
        for _ in 0..20 {
            let mut spoilt = sound.clone();
            for _ in 0..=chance.below(4) {
                let at = chance.below(spoilt.len());
                spoilt[at] = chance.below(256) as u8;
            }
            add(&spoilt);
        }
        let noise: Vec<u8> = (0..sound.len()).map(|_| chance.below(256) as u8).collect();
        add(&[&sound[..sound.len().min(12)], &noise].concat());
    }
    for entry in fs::read_dir(fixtures().join("hostile")).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = format!("hostile-{}", entry.file_name().to_string_lossy());
        fs::copy(entry.path(), tree.join(&name)).expect("copied");
        names.push(name);
    }
    assert!(names.len() > 300);
    let daemon = Daemon::start(tree.path());
    let asked: Vec<_> = names
        .iter()
        .map(|name| daemon.request("agent/read", json!({ "path": name })))
        .collect();
    assert_eq!(daemon.read_text("plain.txt"), daemon.read_text("plain.txt"));
    for (name, id) in names.iter().zip(&asked) {
        match daemon.wait(id) {
            // A spoilt signature makes it text, or nothing that is known.
            Ok(result) if result["details"]["kind"] == "file" => {}
            Ok(result) => {
                picture(&result);
            }
            Err(error) => assert!(
                ["damaged", "tooLarge", "binary"].contains(&error.kind()),
                "{name}: {error:?}"
            ),
        }
    }
    assert!(daemon.read_text("plain.txt").contains("1:still here"));
    assert!(
        daemon.peak_bytes() < 300 << 20,
        "{} MiB",
        daemon.peak_bytes() >> 20
    );
}
