//! Presentations slide by slide, and those of their slides that are hidden; what is hostile is read elsewhere.

use super::{daemon, rows, rows_from, text};

#[test]
fn presentations() {
    let daemon = daemon();
    let slides = |bullets: &str| {
        rows(&format!(
            "## Harbour 2024

A year of tides

## Tides

{bullets}

### Notes

Say it slowly.

## Berths

| ship | berth |
| --- | --- |
| Aurora | 7 |
| Ceres \\| old | 12 |

## Slide 4

Only a text box

### Notes

No title here."
        ))
    };
    let office = slides("- Ebb\n\n- Flow\n\n  - Spring");
    assert_eq!(text(&daemon, "slides-python.pptx"), office);
    assert_eq!(text(&daemon, "slides.pptx"), office);
    assert_eq!(
        text(&daemon, "slides.odp"),
        slides("- Ebb\n- Flow\n\n- - Spring")
    );
    // Its tables are boxes.
    let old = "## Harbour 2024

A year of tides

## Tides

- Ebb

- Flow

  - Spring

### Notes

Say it slowly.

## Berths

ship

berth

Aurora

7

Ceres | old

12

## Slide 4

Only a text box

### Notes

No title here.";
    assert_eq!(text(&daemon, "slides.ppt"), rows(old));
    assert_eq!(
        text(&daemon, "slides.ppt:p4"),
        rows_from(
            31,
            "## Slide 4\n\nOnly a text box\n\n### Notes\n\nNo title here."
        )
    );
    assert_eq!(
        text(&daemon, "reordered.pptx:p2"),
        "3:## File three, shown second\n\n[3-3 of 5]"
    );
}

#[test]
fn hidden_slides_are_read_and_said() {
    let daemon = daemon();
    for name in ["hidden-slide.pptx", "hidden-slide.odp", "hidden-slide.ppt"] {
        assert_eq!(
            text(&daemon, name),
            rows("## Shown first\n\n## Hidden one\n\n## Shown last")
                + "\n\n[Slide 2 is a hidden slide]",
            "{name}"
        );
    }
    assert_eq!(
        text(&daemon, "reordered.pptx"),
        rows("## File two, shown first\n\n## File three, shown second\n\n## File one, shown third")
    );
    assert_eq!(
        text(&daemon, "group.pptx"),
        rows("## Groups\n\nText in a group\n\nText in a group in a group")
    );
}
