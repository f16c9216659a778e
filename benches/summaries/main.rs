//! What summaries cost: a warm one beside a plain read of as many bytes, a cold one beside the bare parse; nothing here judges a time.

#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::time::Duration;

use pilcrow::outline::Rules;
use pilcrow::protocol::read::{ContentBlock, ReadResult};
use pilcrow::structure::{Code, Parsers};
use pilcrow::syntax::{Language, detect};
use pilcrow::task::{CancelToken, Work};
use pilcrow::text::Text;
use pilcrow::worker::WorkerLimits;

use support::table::{self, Times, row, timed};
use support::{Answer, InProcess, SETTLED, Workspace};

/// Rounds of what takes microseconds and of what takes milliseconds, and rounds before any counts.
const QUICK: usize = 4000;
const SLOW: usize = 300;
const WARM_UP: usize = 20;

/// At least so long is what is parsed.
const COLD_BYTES: usize = 100_000;

/// Samples of real-looking code, so often after one another that a file has about a thousand lines.
const SAMPLES: &[(&str, &str, usize)] = &[
    (
        "telemetry.rs",
        include_str!("../../fixtures/outline/rust/telemetry.rs"),
        4,
    ),
    (
        "inventory.py",
        include_str!("../../fixtures/outline/python/inventory.py"),
        4,
    ),
    (
        "booking.ts",
        include_str!("../../fixtures/outline/typescript/booking.ts"),
        4,
    ),
    ("wav.c", include_str!("../../fixtures/outline/c/wav.c"), 4),
];

// The daemon's own allocator, for reads in this process.
fn main() -> Answer<()> {
    if support::serve_if_asked()? {
        return Ok(());
    }
    support::work_if_asked();
    let workspace = Workspace::new()?;
    for (name, source, times) in SAMPLES {
        fs::write(workspace.path().join(name), source.repeat(*times))?;
    }
    std::thread::sleep(SETTLED);
    table::head();
    for (name, source, _) in SAMPLES {
        warm(&workspace, name)?;
        cold(
            name,
            &Text::new(&source.repeat(COLD_BYTES / source.len() + 1)),
        )?;
    }
    Ok(())
}

fn warm(workspace: &Workspace, name: &str) -> Answer<()> {
    let reader = InProcess::reader();
    let summary = InProcess::new(workspace, name)?;
    let text = text_of(&summary.read(&reader)?)?;
    // The rows of the summary as the lines of a file that has no language.
    let rows: String = text
        .lines()
        .skip(1)
        .map(|row| format!("{}\n", row.split_once(':').map_or(row, |(_, shown)| shown)))
        .collect();
    let plain_name = format!("{name}.txt");
    fs::write(workspace.path().join(&plain_name), rows)?;
    std::thread::sleep(SETTLED);
    let plain = InProcess::new(workspace, &plain_name)?;
    let plain_text = text_of(&plain.read(&reader)?)?;
    let times = in_turns(QUICK, || summary.read(&reader), || plain.read(&reader))?;
    row(
        &format!("warm summary of {name}, {} bytes", text.len()),
        &format!("plain read of {} bytes", plain_text.len()),
        times,
    );
    Ok(())
}

fn text_of(result: &ReadResult) -> Answer<String> {
    match result.content.first() {
        Some(ContentBlock::Text { text }) => Ok(text.clone()),
        _ => Err("a read of text has a block of text".into()),
    }
}

fn cold(name: &str, text: &Text) -> Answer<()> {
    let language = detect(name, text).ok_or("a language")?;
    let rules = Rules {
        min_body_lines: 4,
        prose: false,
    };
    let work = Work::new(CancelToken::new(), Duration::from_secs(3600));
    let mut source = String::new();
    text.chunks().for_each(|chunk| source.push_str(chunk));
    let parsers = Parsers::new(WorkerLimits::of_syntax());
    let mut document = 0;
    let outline = || {
        // A text that no worker has seen.
        document += 1;
        let code = Code {
            document,
            text,
            content: document.into(),
            language,
        };
        Ok(parsers.outline(&code, rules, &work)?)
    };
    let times = in_turns(SLOW, outline, || parse(language, &source))?;
    row(
        &format!("outline of {name}, {} bytes, in a worker", source.len()),
        "bare parse by tree-sitter",
        times,
    );
    Ok(())
}

fn parse(language: &Language, source: &str) -> Answer<tree_sitter::Tree> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(language.grammar())?;
    Ok(parser.parse(source, None).ok_or("a tree")?)
}

/// Both sides by turns; what they return is dropped off the clock.
fn in_turns<A, B>(
    rounds: usize,
    mut first: impl FnMut() -> Answer<A>,
    mut second: impl FnMut() -> Answer<B>,
) -> Answer<Times> {
    let mut times = (Vec::new(), Vec::new());
    for round in 0..rounds + WARM_UP {
        let one = timed(&mut first)?.0;
        let other = timed(&mut second)?.0;
        if round >= WARM_UP {
            times.0.push(one);
            times.1.push(other);
        }
    }
    Ok(times)
}
