//! What a worker of any kind does wrong when the text of a test asks for it. Not in releases.
//!
//! `pilcrow:abort`, `overflow`, `spin` and `sleep` end or hold up the process; `number` has the next
//! answer be that to another request, `frame` writes what is no frame, `half` a part of one and ends.

use memchr::memmem;

use super::WorkerLoop;

impl WorkerLoop {
    /// Does what `text` asks for, where that is allowed. Whether that was all that is to be done;
    /// `None` where nobody listens any more.
    pub fn misbehave(&mut self, text: &[u8]) -> Option<bool> {
        if !self.may_misbehave() {
            return Some(false);
        }
        let asks = |what: &str| asks(text, what);
        if asks("abort") {
            std::process::abort();
        }
        if asks("overflow") {
            return Some(overflow(text, 1) == 0);
        }
        while asks("spin") {
            std::hint::spin_loop();
        }
        while asks("sleep") {
            std::thread::park();
        }
        if asks("number") {
            self.mistake_the_request();
        }
        if asks("half") {
            self.write_nonsense(&[1, 0, 0])?;
            std::process::abort();
        }
        if asks("frame") {
            self.write_nonsense(&[0xff; 64])?;
            return Some(true);
        }
        Some(false)
    }

    /// Whether a text asks for something that its kind alone knows.
    pub fn may_be_asked(&self, text: &[u8], what: &str) -> bool {
        self.may_misbehave() && asks(text, what)
    }
}

/// Whether a text has the words `pilcrow:WHAT`.
fn asks(text: &[u8], what: &str) -> bool {
    memmem::find(text, format!("pilcrow:{what}").as_bytes()).is_some()
}

/// Takes more stack than there is.
fn overflow(text: &[u8], depth: usize) -> usize {
    if depth == usize::MAX {
        return 0;
    }
    let mut room = [0u8; 4096];
    room[depth % 4096] = text[depth % text.len()];
    let below = overflow(text, std::hint::black_box(depth + 1));
    below + usize::from(std::hint::black_box(&room)[depth % 4096])
}
