//! How much memory pictures and other large things take while they are converted, all together; a wait for it is never without a limit.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::protocol::Refusal;
use crate::task::{Stopped, Work};

/// Bytes that are held at a time, in the whole process. What alone takes more has them all to
/// itself.
const BUDGET: u64 = 96 * 1024 * 1024;

/// How long one waits for others.
const WAIT: Duration = Duration::from_secs(10);

/// Between two looks at the cancel token.
const LOOK: Duration = Duration::from_millis(50);

static USED: Mutex<u64> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// A part of the memory; given back when it is dropped.
#[derive(Debug)]
pub struct Share(u64);

/// Waits until there is room for so many bytes.
pub fn take(bytes: u64, work: &Work) -> Result<Share, Refusal> {
    let bytes = bytes.min(BUDGET);
    let waiting = work.within(WAIT);
    let mut used = USED.lock();
    while *used + bytes > BUDGET {
        match waiting.check() {
            Ok(()) => {}
            Err(Stopped::TimedOut) if work.check().is_ok() => {
                return Err(Refusal::Busy {
                    message: "Other large files are being converted.".to_owned(),
                });
            }
            Err(stopped) => return Err(stopped.into()),
        }
        FREED.wait_for(&mut used, LOOK);
    }
    *used += bytes;
    Ok(Share(bytes))
}

/// Shares over this many bytes go back to the system when they are given back.
const LARGE: u64 = 8 * 1024 * 1024;

/// Gives freed memory back to the system. Without that, glibc keeps tens of megabytes for each
/// thread that ever converted something large.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: it takes the locks of the allocator itself, may be called at any time, and touches
        // only memory that is free.
        unsafe { malloc_trim(0) };
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.0 > LARGE {
            give_back();
        }
        *USED.lock() -= self.0;
        FREED.notify_all();
    }
}
