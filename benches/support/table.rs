//! The clock and the rows of the printed tables; it never decides what is measured.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::Answer;

/// What was measured, and what it is compared with.
pub type Times = (Vec<Duration>, Vec<Duration>);

pub fn timed<T>(run: impl FnOnce() -> Answer<T>) -> Answer<(Duration, T)> {
    let begun = Instant::now();
    let made = black_box(run()?);
    Ok((begun.elapsed(), made))
}

pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub fn head() {
    println!("| | median | compared with | median | ratio |");
    println!("|---|---|---|---|---|");
}

pub fn row(what: &str, against: &str, (mut times, mut others): Times) {
    let (one, other) = (median(&mut times), median(&mut others));
    let ratio = one.as_secs_f64() / other.as_secs_f64();
    println!(
        "| {what} | {} | {against} | {} | {ratio:.2} |",
        shown(one),
        shown(other)
    );
}

/// A row of a value that is compared with nothing.
pub fn lone_row(what: &str, value: &str) {
    println!("| {what} | {value} | | | |");
}

pub fn shown(time: Duration) -> String {
    match time.as_micros() {
        0..10_000 => format!("{:.0} µs", time.as_secs_f64() * 1e6),
        10_000..10_000_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}
