//! Trees that change while they are searched: nothing that may not be read is ever found, and nothing is found twice.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::json;

use crate::client::{Daemon, HANG};
use crate::tree::Tree;

use super::search;

/// Ends the other thread, also where the test fails.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn links_that_are_put_in_a_files_or_a_folders_place_lead_nowhere() {
    let tree = Tree::new()
        .file("outside/secret.txt", "needle, secret\n")
        .file("outside/folder/secret.txt", "needle, secret\n")
        .file("root/steady.txt", "needle\n")
        .file("root/file.txt", "needle\n")
        .file("root/folder/secret.txt", "needle\n");
    let daemon = Daemon::start(&tree.join("root"));
    daemon.ignore_changes();
    let ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (spare, file) = (tree.join("spare"), tree.join("root/file.txt"));
            let (aside, folder) = (tree.join("aside"), tree.join("root/folder"));
            while !ended.load(Ordering::Relaxed) {
                symlink("../outside/secret.txt", &spare).expect("a link");
                std::fs::rename(&spare, &file).expect("renamed");
                std::fs::rename(&folder, &aside).expect("renamed");
                symlink("../outside/folder", &folder).expect("a link");
                std::fs::write(&spare, "needle\n").expect("written");
                std::fs::rename(&spare, &file).expect("renamed");
                std::fs::remove_file(&folder).expect("removed");
                std::fs::rename(&aside, &folder).expect("renamed");
            }
        });
        let _end = EndOnDrop(&ended);
        let mut seen = BTreeSet::new();
        let begun = Instant::now();
        let mut rounds = 0;
        // Both are met, in whatever order the threads have their turns.
        while rounds < 200 || !seen.contains(&3) || seen.len() < 2 {
            assert!(begun.elapsed() < HANG, "{seen:?}");
            rounds += 1;
            let answer = search(&daemon, json!({ "pattern": "needle" }));
            assert!(!answer.to_string().contains(", secret"), "{answer}");
            let files = answer["details"]["files"].as_array().expect("files");
            let paths: Vec<&str> = files
                .iter()
                .flat_map(|file| file["path"].as_str())
                .collect();
            assert!(paths.contains(&"steady.txt"), "{paths:?}");
            let once: BTreeSet<&&str> = paths.iter().collect();
            assert_eq!(once.len(), paths.len());
            seen.insert(paths.len());
        }
    });
}
