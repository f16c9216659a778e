//! What the file watchers of other programs hear of an edit; they are never told last that an edited file went.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{edit, patch, read};

/// Hears which names of a directory come and go.
struct Names(OwnedFd);

impl Names {
    fn of(directory: &Path) -> Names {
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("inotify");
        let names =
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        add_watch(&inotify, directory, names).expect("a watch");
        Names(inotify)
    }

    /// Whether a name was there, by each event of it so far, in their order.
    fn heard(&self, wanted: &str) -> Vec<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut heard = Vec::new();
        // The events of an edit are there before its answer; then there are no more.
        while let Ok(event) = reader.next() {
            let name = event.file_name().and_then(|name| name.to_str().ok());
            if name == Some(wanted) {
                let there = ReadFlags::CREATE | ReadFlags::MOVED_TO;
                heard.push(event.events().intersects(there));
            }
        }
        heard
    }
}

/// A watcher that joins the events of a moment takes a file that came and then went for one that
/// never was, and its users see the old text. VS Code's is of that kind.
#[test]
fn the_last_that_watchers_hear_of_an_edited_file_is_that_it_is_there() {
    let tree = Tree::new();
    tree.write("a.txt", "one\ntwo\n");
    let daemon = Daemon::builder().root(tree.path()).start();
    let names = Names::of(tree.path());
    for row in ["eins", "un", "uno"] {
        let tag = read(&daemon, "a.txt");
        let hunk = format!("replace 1:\n+{row}\n");
        edit(&daemon, &patch("a.txt", &tag, &hunk)).expect("made");
        assert_eq!(names.heard("a.txt").last(), Some(&true), "{row}");
    }
    let new = serde_json::json!({ "path": "b.txt", "text": "new\n", "expect": "absent" });
    daemon.call("agent/write", new).expect("made");
    assert_eq!(names.heard("b.txt"), [true]);
}
