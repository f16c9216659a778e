//! Pictures of many megapixels, made by another program: shown, while the daemon itself never holds their pixels; small ones are told of elsewhere.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::client::Daemon;
use crate::images::{picture, refused, text_of};
use crate::tree::Tree;

const MIB: u64 = 1 << 20;

/// A PNG by Python's zlib, whose first rows are so much noise, with a note in it.
fn png(tree: &Tree, name: &str, side: u32, noise_rows: u32, note: &str) {
    let made = Command::new("python3")
        .arg("-c")
        .arg(
            "import random,struct,sys,zlib
def chunk(kind, data): return struct.pack('>L', len(data)) + kind + data + struct.pack('>L', zlib.crc32(kind + data))
name, side, noise, note = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
dice, packer = random.Random(7), zlib.compressobj(1)
row = b'\\0' + (bytes(range(250)) * (side * 3 // 250 + 1))[:side * 3]
data = b''.join(packer.compress(b'\\0' + dice.randbytes(side * 3) if y < noise else row) for y in range(side))
with open(name, 'wb') as out:
    out.write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>LLBBBBB', side, side, 8, 2, 0, 0, 0)))
    if note: out.write(chunk(b'tEXt', b'Comment\\0' + note))
    out.write(chunk(b'IDAT', data + packer.flush()) + chunk(b'IEND', b''))",
        )
        .arg(tree.join(name))
        .args([side.to_string(), noise_rows.to_string(), note.to_owned()])
        .status()
        .expect("python3 runs");
    assert!(made.success());
}

fn peak_under(daemon: &Daemon, most: u64) {
    let peak = daemon.peak_bytes();
    assert!(peak < most, "{} MiB at its peak", peak / MIB);
}

fn limited(root: &Path, limits: &str) -> Daemon {
    let builder = Daemon::builder().root(root);
    builder.env("PILCROW_CONVERT", limits).start()
}

#[test]
fn a_picture_of_25_megapixels_is_shown() {
    let tree = Tree::new();
    png(&tree, "large.png", 5000, 0, "");
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("large.png").expect("a read");
    let text = text_of(&result);
    assert!(text.contains("image/png, 5000x5000, "), "{text}");
    assert!(text.ends_with("; shown at 2000x2000]"), "{text}");
    let (_, data, pixels) = picture(&result);
    assert!(pixels.width() == 2000 && data.len() <= 307_200);
    // A part of it is in its own pixels.
    let part = daemon.read("large.png:crop=4000,10,50,40").expect("a read");
    let (_, _, pixels) = picture(&part);
    assert_eq!((pixels.width(), pixels.height()), (50, 40));
    let found = pixels.to_rgb8().get_pixel(20, 20).0;
    let at = (4020 * 3) % 250;
    let wanted = [at, (at + 1) % 250, (at + 2) % 250].map(|value| value as u8);
    let far = found.iter().zip(wanted).any(|(a, b)| a.abs_diff(b) > 40);
    assert!(!far, "{found:?} is not {wanted:?}");
    peak_under(&daemon, 150 * MIB);
}

/// The largest picture that is decoded, in nearly the largest file that is looked at.
#[test]
fn the_largest_picture_costs_the_daemon_no_pixels() {
    let tree = Tree::new();
    png(&tree, "largest.png", 10_000, 600, "");
    let daemon = Daemon::start(tree.path());
    let paths = ["largest.png", "largest.png:crop=10,900,300,200"];
    let ids = paths.map(|path| daemon.request("agent/read", json!({ "path": path })));
    for (id, size) in ids.iter().zip([(2000, 2000), (300, 200)]) {
        let result = daemon.wait(id).expect("a read");
        let text = text_of(&result);
        assert!(text.contains(": image/png, 10000x10000, "), "{text}");
        let (_, data, pixels) = picture(&result);
        assert!(data.len() <= 307_200);
        assert!(pixels.width() <= size.0 && pixels.height() <= size.1);
    }
    peak_under(&daemon, 200 * MIB);
}

#[test]
fn a_decoder_that_goes_wrong_ends_alone() {
    let tree = Tree::new();
    png(&tree, "sound.png", 2600, 0, "");
    png(&tree, "abort.png", 2600, 0, "pilcrow:abort");
    png(&tree, "spin.png", 2600, 0, "pilcrow:spin");
    png(&tree, "sleep.png", 2600, 0, "pilcrow:sleep");
    let daemon = limited(tree.path(), "misbehave=1,cpuMs=5000");
    for (name, why) in [
        ("abort.png", "its decoder needs too much memory"),
        ("spin.png", "it took more than 5 s of processor time"),
    ] {
        let (kind, message) = refused(&daemon, name);
        assert_eq!(kind, "damaged", "{message}");
        assert!(message.contains(why), "{message}");
    }
    let id = daemon.request("agent/read", json!({ "path": "sleep.png" }));
    daemon.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(daemon.wait(&id).expect_err("cancelled").code, -32800);
    picture(&daemon.read("sound.png").expect("a read"));
}
