//! Archives as other programs write them: each format, dialect and method, and what is special in it; nothing hostile.

use serde_json::json;

use super::{daemon, details, refusal};

#[test]
fn the_zip_family() {
    let daemon = daemon();
    let read = |path: &str| daemon.read_text(path);
    assert_eq!(read("library.jar"), "META-INF/\ntide/");
    assert_eq!(
        read("library.jar:META-INF/MANIFEST.MF"),
        "1:Manifest-Version: 1.0\n2:Main-Class: tide.Main\n3:"
    );
    assert_eq!(
        read("library.jar:tide"),
        "Main.class (8B)\nmessages.properties (11B)"
    );
    assert_eq!(read("package.whl"), "tide/\ntide-1.0.dist-info/");
    assert_eq!(
        read("package.whl:tide/table.py:1:raw"),
        "def high():\n    return 21\n"
    );
    assert_eq!(
        read("app.apk"),
        "res/\nAndroidManifest.xml (64B)\nclasses.dex (98B)\nresources.arsc (24B)"
    );
    assert_eq!(
        read("extension.vsix:extension/package.json"),
        "1:{\n2:  \"name\": \"tide\",\n3:  \"version\": \"1.0.0\"\n4:}"
    );
    assert_eq!(read("lib.nupkg:lib/net8.0"), "Tide.dll (64B)");
    assert_eq!(
        read("book.docx-like.zip"),
        "_rels/\ncustomXml/\ndocProps/\nword/\n[Content_Types].xml (1.5KB)"
    );
}

#[test]
fn names_of_zips() {
    let daemon = daemon();
    assert_eq!(
        daemon.read_text("odd-names.zip"),
        "dot/\nslashes/\n-50.txt (9B)\n... (9B)\nUPPER.TXT (10B)\ncol:on.txt (9B)\nhash#1.txt (9B)\n\"new\\nline.txt\" (9B)\n\"quote\\\".txt\" (9B)\ntrailing .txt (10B)\nupper.txt (10B)\nwith space.txt (9B)\n日本語.txt (9B)"
    );
    for (inner, number) in [
        ("dot/a.txt", 0),
        ("slashes/b.txt", 1),
        ("with space.txt", 2),
        ("col:on.txt", 3),
        ("quote\".txt", 4),
        ("hash#1.txt", 5),
        ("-50.txt", 6),
        ("new\nline.txt", 7),
        ("...", 8),
        ("日本語.txt", 9),
        ("col:on.txt:1", 3),
    ] {
        let text = daemon.read_text(format!("odd-names.zip:{inner}"));
        assert_eq!(text, format!("1:member {number}"), "{inner}");
    }
    assert_eq!(daemon.read_text("utf8-unflagged.zip"), "naïve.txt (8B)");
    assert_eq!(
        daemon.read_text("unicode-path.zip:café.txt"),
        "1:unicode path"
    );
    for (path, listing) in [
        ("hostile/cp437.zip", "Grüße.txt (5B)\ngood.txt (5B)"),
        (
            "hostile/shift-jis.zip",
            "good.txt (5B)\n日本語.txt (5B)\n表示.txt (5B)",
        ),
        ("hostile/bad-utf8.zip", "café.txt (5B)\ngood.txt (5B)"),
    ] {
        assert_eq!(daemon.read_text(path), listing);
    }
    assert_eq!(daemon.read_text("file-and-dir.zip"), "a/\na (7B)");
    assert_eq!(daemon.read_text("file-and-dir.zip:a"), "1:file a");
    assert_eq!(daemon.read_text("file-and-dir.zip:a/"), "b.txt (8B)");
    assert_eq!(
        daemon.read_text("with-dirs.zip"),
        "hollow/\nsub/\ntop.txt (4B)"
    );
    assert_eq!(
        daemon.read_text("with-dirs.zip:hollow"),
        "(empty directory)"
    );
    assert_eq!(daemon.read_text("empty.zip"), "(empty archive)");
}

#[test]
fn shapes_and_methods_of_zips() {
    let daemon = daemon();
    for path in [
        "zip64.zip:tide.txt",
        "descriptors.zip:tide.txt",
        "streamed.zip:-",
        "comment.zip:tide.txt",
        "prefixed.zip:tide.txt",
        "prefixed-fixed.zip:tide.txt",
        "method-bzip2.zip:tide.txt",
        "method-lzma.zip:tide.txt",
        "method-deflate64.zip:tide.txt",
        "method-zstd.zip:tide.txt",
        "wrong-name.tar:tide.txt",
        "wrong-name.zip:tide.txt",
    ] {
        let text = daemon.read_text(format!("{path}:60,60"));
        assert_eq!(text, "60:line 60: the tide is at 180 cm", "{path}");
        assert_eq!(details(&daemon, path)["totalLines"], 60, "{path}");
    }
    let error = refusal(&daemon, "method-ppmd.zip:tide.txt");
    assert_eq!(
        (error.kind(), &*error.message),
        (
            "unsupported",
            "'method-ppmd.zip:tide.txt' is packed by method 98 (PPMd), which cannot be unpacked here. Extract it with 7z."
        )
    );
}

#[test]
fn dialects_of_tar() {
    let daemon = daemon();
    let deep = ["harbour-basin"; 9].join("/") + "/tide-table.txt";
    let long = format!("{}/{}.txt", "l".repeat(60), "n".repeat(235));
    for (path, text) in [
        (
            format!("ustar.tar:{deep}:60"),
            "60:line 60: the tide is at 180 cm",
        ),
        (format!("gnu-long.tar:{long}"), "1:long"),
        (format!("pax-long.tar:{long}"), "1:long"),
        ("gnu-long.tar:link".to_owned(), "1:long"),
        ("pax-long.tar:naïve/日本.txt".to_owned(), "1:naive"),
        ("v7.tar:b/c.txt".to_owned(), "1:file c"),
        ("incremental.tar:b/c.txt".to_owned(), "1:file c"),
        ("global-pax.tar:b/c.txt".to_owned(), "1:file c"),
        ("no-end.tar:b/c.txt".to_owned(), "1:file c"),
        (
            "no-end.tar".to_owned(),
            "b/\na.txt (7B)\n\n[The archive has no mark of its end: it may be cut, and members missing]",
        ),
        ("concatenated.tar".to_owned(), "b/\na.txt (7B)"),
        ("latin1-names.tar:élève.txt".to_owned(), "1:élève"),
        ("empty.tar".to_owned(), "(empty archive)"),
        (
            "sparse-gnu.tar".to_owned(),
            "a.txt (7B)\nsparse.bin (1.0MB)",
        ),
        (
            "sparse-pax.tar".to_owned(),
            "a.txt (7B)\nsparse.bin (1.0MB)",
        ),
        ("sparse-gnu.tar:a.txt".to_owned(), "1:file a"),
        ("sparse-pax.tar:a.txt".to_owned(), "1:file a"),
        (
            "twice.tar".to_owned(),
            "a.txt (17B)\n\n[1 name occurs more than once; the last member of that name is the one read]",
        ),
        (
            "twice.tar:a.txt".to_owned(),
            "1:new text, longer\n\n[The archive has several members of this name; this is the last one]",
        ),
    ] {
        assert_eq!(daemon.read_text(&path), text, "{path}");
    }
    for ending in ["gz", "bz2", "xz", "zst"] {
        let path = format!("multi.tar.{ending}:b/c.txt");
        assert_eq!(daemon.read_text(&path), "1:file c", "{path}");
    }
    // Decoded as what they are said to be, the holes are there as NULs.
    for path in ["sparse-gnu.tar:sparse.bin", "sparse-pax.tar:sparse.bin"] {
        let params = json!({ "path": path, "encoding": "utf-8" });
        let result = daemon.read_with(params).expect("a read");
        assert_eq!(result["details"]["totalBytes"], 1 << 20, "{path}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("1:head\0\0"), "{path}");
    }
}

#[test]
fn links_and_special_members() {
    let daemon = daemon();
    assert_eq!(
        daemon.read_text("links.tar"),
        "absolute.txt -> /etc/passwd\ndangling.txt -> nowhere.txt\nhard-out.txt -> ../../etc/passwd\nhard.txt -> real.txt\nloop-a -> loop-b\nloop-b -> loop-a\nout.txt -> ../../etc/passwd\nreal.txt (10B)\nsoft.txt -> real.txt"
    );
    for (path, text) in [
        ("links.tar:soft.txt", "1:real text"),
        ("links.tar:hard.txt:1", "1:real text"),
        (
            "links.tar:out.txt",
            "[out.txt is a link to ../../etc/passwd, which is outside the archive]",
        ),
        (
            "links.tar:hard-out.txt",
            "[hard-out.txt is a link to ../../etc/passwd, which is outside the archive]",
        ),
        (
            "links.tar:absolute.txt",
            "[absolute.txt is a link to /etc/passwd, which is outside the archive]",
        ),
        (
            "links.tar:dangling.txt",
            "[dangling.txt is a link to nowhere.txt, which is not in the archive]",
        ),
        (
            "links.tar:loop-a",
            "[loop-a is a link to loop-b, in a loop of links]",
        ),
        (
            "hostile/symlink.zip",
            "good.txt (5B)\nlink.txt -> /etc/passwd",
        ),
        (
            "hostile/symlink.zip:link.txt",
            "[link.txt is a link to /etc/passwd, which is outside the archive]",
        ),
        (
            "devices.tar",
            "dir/\ndisk (block device)\nnull (character device)\npipe (FIFO)\nreal.txt (10B)",
        ),
        (
            "devices.tar:pipe",
            "[Cannot read archive entry 'pipe': it is a FIFO]",
        ),
    ] {
        assert_eq!(daemon.read_text(path), text, "{path}");
    }
}

#[test]
fn a_single_compressed_file() {
    let daemon = daemon();
    let line = "60:line 60: the tide is at 180 cm";
    for name in [
        "tide.txt.gz",
        "noname.txt.gz",
        "members.txt.gz",
        "comment.txt.gz",
    ] {
        assert_eq!(daemon.read_text(format!("{name}:60-")), line, "{name}");
        assert_eq!(details(&daemon, name)["totalLines"], 60, "{name}");
    }
    assert_eq!(daemon.read_text("tide.txt.gz:"), "tide.txt (1.8KB)");
    assert_eq!(daemon.read_text("tide.txt.gz:tide.txt:60"), line);
    assert_eq!(
        daemon.read_text("renamed.gz"),
        "1:# Original\n2:\n3:Named otherwise outside."
    );
    assert_eq!(daemon.read_text("data.csv.gz:4"), "4:Ceres,3");
    assert_eq!(
        daemon.read_text("blob.gz"),
        "[Cannot read binary archive entry 'blob' (256B)]"
    );
    assert_eq!(details(&daemon, "tide.txt.gz")["kind"], "archive");
    assert_eq!(refusal(&daemon, "tide.txt.gz:nope.txt").kind(), "notFound");
}

#[test]
fn an_archive_in_an_archive_is_said_to_be_one() {
    let daemon = daemon();
    for (path, name, size) in [
        ("nested.zip:inner.zip", "inner.zip", "454B"),
        ("nested.zip:inner.zip:inner.txt", "inner.zip", "454B"),
        ("nested.zip:inner.tar.gz", "inner.tar.gz", "389B"),
        ("nested.zip:tide.txt.gz", "tide.txt.gz", "316B"),
        ("nested.tar.gz:inner.zip", "inner.zip", "454B"),
    ] {
        let note = format!(
            "[Archive entry '{name}' ({size}) is itself an archive; one inside another is not opened. Extract it to read what it holds]"
        );
        assert_eq!(daemon.read_text(path), note);
        assert_eq!(details(&daemon, path)["kind"], "archive");
    }
    assert_eq!(
        daemon.read_text("nested.zip:plain.txt"),
        "1:beside the archives"
    );
}
