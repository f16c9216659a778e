//! The table that the README quotes: every read beside what it is measured against, taken in turns in one run; a side is never measured twice in a row.

#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use support::table::{self, Times, row, timed};
use support::{Answer, InProcess, Pair, Peer, READERS, Workspace};

/// Rounds of what takes microseconds, of what takes milliseconds, and rounds before any counts.
const QUICK: usize = 4000;
const SLOW: usize = 60;
const WARM_UP: usize = 200;

/// How long an idle daemon is watched.
const IDLE: Duration = Duration::from_secs(3);

fn main() -> Answer<()> {
    if support::serve_if_asked()? {
        return Ok(());
    }
    let workspace = Workspace::new()?;
    table::head();
    warm(&workspace)?;
    pipelined(&workspace)?;
    cold(&workspace)?;
    start_up(&workspace)?;
    idle(&workspace)
}

fn warm(workspace: &Workspace) -> Answer<()> {
    let mut pair = Pair::new(workspace, 1)?;
    let times = in_turns(QUICK, &mut pair, Pair::read, Pair::echo)?;
    row(
        "warm read of 250 lines (10 KB) over pipes",
        "echo of its answer",
        times,
    );
    Ok(())
}

fn pipelined(workspace: &Workspace) -> Answer<()> {
    let mut pair = Pair::new(workspace, READERS)?;
    let times = in_turns(QUICK / 8, &mut pair, Pair::read, Pair::echo)?;
    row(
        &format!("{READERS} warm reads at once"),
        &format!("{READERS} echoes at once"),
        times,
    );
    Ok(())
}

/// The text itself, and what a bare read of a source file gives, which has to parse it.
fn cold(workspace: &Workspace) -> Answer<()> {
    let path = workspace.large();
    for (what, asked, rounds) in [
        ("read", "src/large.rs:full", QUICK / 4),
        ("summary", "src/large.rs", SLOW),
    ] {
        let read = InProcess::new(workspace, asked)?;
        let mut reads = Vec::new();
        let mut bare = Vec::new();
        for _ in 0..rounds {
            // Making and dropping the stores is no part of a read.
            let reader = InProcess::reader();
            let (took, answer) = timed(|| read.read(&reader))?;
            reads.push(took);
            drop(answer);
            bare.push(timed(|| Ok(std::fs::read_to_string(&path)?))?.0);
        }
        row(
            &format!("cold {what} of 200 KB, in process"),
            "`std::fs::read_to_string`",
            (reads, bare),
        );
    }
    Ok(())
}

fn start_up(workspace: &Workspace) -> Answer<()> {
    let mut turn = workspace;
    let daemon = |workspace: &mut &Workspace| support::start_up(workspace);
    let echo = |workspace: &mut &Workspace| support::echo_start_up(workspace);
    let times = in_turns(SLOW, &mut turn, daemon, echo)?;
    row(
        "start, `initialize`, first answer",
        "the same of the echo",
        times,
    );
    Ok(())
}

fn idle(workspace: &Workspace) -> Answer<()> {
    let daemon: Peer = support::start_up(workspace)?;
    // Threads that ran for the first answer go to sleep.
    std::thread::sleep(Duration::from_millis(500));
    let before = daemon.cpu_time()?;
    std::thread::sleep(IDLE);
    let used = daemon.cpu_time()? - before;
    let seconds = IDLE.as_secs();
    println!("| processor time of {seconds} s idle | {used:?} | | | |");
    Ok(())
}

/// Both sides by turns; what they return is dropped off the clock.
fn in_turns<C, A, B>(
    rounds: usize,
    context: &mut C,
    mut first: impl FnMut(&mut C) -> Answer<A>,
    mut second: impl FnMut(&mut C) -> Answer<B>,
) -> Answer<Times> {
    let mut times = (Vec::new(), Vec::new());
    let warm_up = if rounds == SLOW { 2 } else { WARM_UP };
    for round in 0..rounds + warm_up {
        let one = timed(|| first(context))?.0;
        let other = timed(|| second(context))?.0;
        if round >= warm_up {
            times.0.push(one);
            times.1.push(other);
        }
    }
    Ok(times)
}
