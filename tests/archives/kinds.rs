//! Members that are no plain text: notebooks, images and documents are read in an archive as they are beside it.

use serde_json::Value;

use super::{daemon, refusal};

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

#[test]
fn members_go_through_the_kinds_again() {
    let daemon = daemon();
    let cases = [
        (
            "mixed.zip:notebook.ipynb",
            "notebook",
            "1:# %% [markdown] cell:0\n2:# Tides\n3:# %% [code] cell:1\n4:tide = 21\n5:print(tide)\n6:# %% [raw] cell:2\n7:raw text",
        ),
        (
            "mixed.zip:notebook.ipynb:4,5",
            "notebook",
            "4:tide = 21\n5:print(tide)",
        ),
        (
            "mixed.zip:report.docx",
            "document",
            "1:# Harbour report\n2:\n3:Berth 7 is free",
        ),
        (
            "mixed.zip:table.xlsx:p1",
            "document",
            "1:## Berths\n2:\n3:| ship | berth |\n4:| --- | --- |\n5:| Aurora | 7 |\n6:| Ceres | 3 |",
        ),
        (
            "data.csv.gz:table",
            "document",
            "1:| ship | berth |\n2:| --- | --- |\n3:| Aurora | 7 |\n4:| Boréal | 12 |\n5:| Ceres | 3 |",
        ),
        (
            "data.csv.gz",
            "archive",
            "1:ship,berth\n2:Aurora,7\n3:Boréal,12\n4:Ceres,3",
        ),
        (
            "mixed.zip:dot.png:crop=0,0,1,1",
            "image",
            "[dot.png: image/png, 2x1, 72B; part 0,0,1,1]",
        ),
        (
            "mixed.zip:icon.svg",
            "archive",
            "1:<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"><rect width=\"8\" height=\"8\"/></svg>",
        ),
    ];
    for (path, kind, expected) in cases {
        let result = daemon.read(path).expect(path);
        assert_eq!(text(&result), expected, "{path}");
        assert_eq!(result["details"]["kind"], kind, "{path}");
        // Nothing in an archive can be edited.
        assert_eq!(result["details"].get("hashline"), None, "{path}");
    }
}

#[test]
fn an_image_in_an_archive_is_passed_on_byte_for_byte() {
    let daemon = daemon();
    for (path, note, mime) in [
        (
            "mixed.zip:photo.jpg",
            "[photo.jpg: image/jpeg, 16x8, 633B]",
            "image/jpeg",
        ),
        (
            "photo.png.gz",
            "[photo.png: image/png, 16x8, 79B]",
            "image/png",
        ),
    ] {
        let result = daemon.read(path).expect(path);
        assert_eq!(text(&result), note);
        let block = &result["content"][1];
        assert_eq!(
            (&block["type"], &block["mimeType"]),
            (&"image".into(), &mime.into())
        );
        assert_eq!(result["content"].as_array().expect("blocks").len(), 2);
    }
}

#[test]
fn selectors_of_other_kinds_are_refused_in_an_archive_too() {
    let daemon = daemon();
    for (path, kind, words) in [
        (
            "mixed.zip:plain.txt:table",
            "badSelector",
            ":table is for CSV files, and this is text. Leave it out.",
        ),
        (
            "mixed.zip:nope.docx",
            "notFound",
            "File not found: mixed.zip:nope.docx.",
        ),
    ] {
        let error = refusal(&daemon, path);
        assert_eq!(error.kind(), kind, "{path}");
        assert_eq!(error.message, words);
    }
    let raw = daemon.read("mixed.zip:report.docx:raw").expect("Markdown");
    assert_eq!(
        raw["content"][0]["text"],
        "# Harbour report\n\nBerth 7 is free\n"
    );
}
