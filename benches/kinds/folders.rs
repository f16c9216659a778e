//! The list of 500 skills, half of them the user's and half the workspace's, as a client gets it: warm, and when one of them has just changed.

use std::fs;
use std::path::Path;

use divan::Bencher;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{self, Answer, Peer};

const SKILLS: usize = 500;

fn skills() -> Answer<TempDir> {
    let place = tempfile::tempdir()?;
    for number in 0..SKILLS {
        let folder = match number % 2 {
            0 => "home/.agents/skills",
            _ => "ws/.claude/skills",
        };
        write(place.path(), folder, number, "What it is for")?;
    }
    // What is younger is looked at anew each time.
    std::thread::sleep(support::SETTLED);
    Ok(place)
}

fn write(place: &Path, folder: &str, number: usize, about: &str) -> Answer<()> {
    let folder = place.join(folder).join(format!("skill-{number:03}"));
    fs::create_dir_all(&folder)?;
    let matter = format!(
        "---\nname: skill-{number:03}\ndescription: {about}, number {number}, with words enough for a row.\n---\n# Skill\n"
    );
    fs::write(folder.join("SKILL.md"), matter)?;
    Ok(())
}

fn daemon(place: &Path) -> Answer<Peer> {
    Peer::daemon_of_home(&place.join("ws"), &place.join("home"))
}

#[divan::bench]
fn five_hundred_skills_warm(bencher: Bencher) {
    let place = skills().expect("a place");
    let mut daemon = daemon(place.path()).expect("a daemon");
    let frame = support::request("agent/read", json!({ "path": "skill://" }));
    for _ in 0..20 {
        daemon.result(&frame).expect("an answer");
    }
    bencher.bench_local(|| daemon.exchange(&frame).expect("an answer").len());
}

#[divan::bench]
fn five_hundred_skills_one_of_them_new(bencher: Bencher) {
    let place = skills().expect("a place");
    let mut daemon = daemon(place.path()).expect("a daemon");
    let frame = support::request("agent/read", json!({ "path": "skill://" }));
    write(place.path(), "home/.agents/skills", 0, "Another thing").expect("written");
    bencher.bench_local(|| daemon.exchange(&frame).expect("an answer").len());
}
