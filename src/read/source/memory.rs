//! How much memory pictures and other large things take while they are converted, all together; a wait for it is never without a limit.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::protocol::Refusal;
use crate::task::{Stopped, Work};

/// Bytes that are held at a time. What alone takes more has them all to itself.
const BUDGET: u64 = 96 * 1024 * 1024;

/// How long one waits for others; less than the 30 s of a request.
const WAIT: Duration = Duration::from_secs(20);

/// Between two looks at the cancel token.
const LOOK: Duration = Duration::from_millis(50);

/// The memory that the large things of one engine share.
#[derive(Debug, Default)]
pub struct Memory {
    book: Mutex<Book>,
    freed: Condvar,
}

/// Who has what of it, and who waits.
#[derive(Debug, Default)]
struct Book {
    used: u64,
    /// Who waits, in order: who wants all of it is not passed by those who want little.
    queue: VecDeque<u64>,
    /// The number that was given to a waiter last.
    last: u64,
}

/// A part of the memory; given back when it is dropped.
#[derive(Debug)]
pub struct Share<'a> {
    of: &'a Memory,
    bytes: u64,
}

impl Memory {
    /// Waits until there is room for so many bytes.
    pub fn take(&self, bytes: u64, work: &Work) -> Result<Share<'_>, Refusal> {
        map_large_pieces();
        let bytes = bytes.min(BUDGET);
        let waiting = work.within(WAIT);
        let mut book = self.book.lock();
        book.last += 1;
        let number = book.last;
        book.queue.push_back(number);
        let outcome = loop {
            if book.queue.front() == Some(&number) && book.used + bytes <= BUDGET {
                break Ok(());
            }
            match waiting.check() {
                Ok(()) => {}
                Err(Stopped::TimedOut) if work.check().is_ok() => break Err(busy()),
                Err(stopped) => break Err(stopped.into()),
            }
            self.freed.wait_for(&mut book, LOOK);
        };
        book.queue.retain(|waiter| *waiter != number);
        let share = outcome.map(|()| {
            book.used += bytes;
            Share { of: self, bytes }
        });
        drop(book);
        // The next one may fit as well.
        self.freed.notify_all();
        share
    }
}

fn busy() -> Refusal {
    Refusal::Busy {
        message: "Other large files are being converted.".to_owned(),
    }
}

/// Has glibc map large pieces of memory by themselves, so that they go back to the system when they
/// are freed. By default it soon keeps them, tens of megabytes for each thread that ever converted
/// something large: measured on 349 hostile pictures, a peak of 425 MB instead of 150.
fn map_large_pieces() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;
        const M_MMAP_THRESHOLD: c_int = -3;
        static ONCE: std::sync::Once = std::sync::Once::new();
        unsafe extern "C" {
            fn mallopt(param: c_int, value: c_int) -> c_int;
        }
        ONCE.call_once(|| {
            // SAFETY: it takes the allocator's own locks and only sets a number.
            unsafe { mallopt(M_MMAP_THRESHOLD, 1024 * 1024) };
        });
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.book.lock().used -= self.bytes;
        self.of.freed.notify_all();
    }
}
