//! A link that is swapped while it is opened; no byte from outside may ever come of it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Scratch, content, find};

#[test]
fn a_swapped_link_never_leads_outside() {
    let place = Scratch::new(&[
        "ws/inside",
        "out/outside",
        "ws/link -> ws/inside",
        "ws/d/x",
        "out/x",
    ]);
    place.make("ws/dir -> ws/d");
    let scope = place.scope();
    let done = AtomicBool::new(false);
    let swap = |link: &str, target: &str| {
        let spare = place.at(&format!("{link}.new"));
        std::os::unix::fs::symlink(place.at(target), &spare).expect("linked");
        std::fs::rename(&spare, place.at(link)).expect("renamed");
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap("ws/link", "out/outside");
                swap("ws/dir", "out");
                swap("ws/link", "ws/inside");
                swap("ws/dir", "ws/d");
            }
        });
        let (mut read, mut refused) = (0, 0);
        // Enough rounds that both ends of the link were met, whatever the scheduler does.
        while read + refused < 1000 || ((read == 0 || refused == 0) && read + refused < 1_000_000) {
            for (path, text) in [("link", "ws/inside"), ("dir/x", "ws/d/x")] {
                match find(&scope, path) {
                    Ok(found) => {
                        read += 1;
                        assert_eq!(content(&found), text);
                    }
                    Err(_) => refused += 1,
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
    });
}
