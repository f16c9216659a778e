//! Further threads of one long job, which are there for as long as it runs and let everything else go first.

use std::num::NonZero;
use std::thread;

/// Threads of one job at most.
const MOST: usize = 8;

/// What the system takes from their turn for whoever else wants to run.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Runs `work` in as many threads as there are processors, each with a number of its own, and waits for all
/// of them. A panic in one goes on in the caller, once all have ended.
pub fn in_crew(work: impl Fn(usize) + Sync) {
    let count = thread::available_parallelism().map_or(1, NonZero::get);
    let work = &work;
    thread::scope(|crew| {
        let mut begun = 0;
        for number in 0..count.min(MOST) {
            let thread = thread::Builder::new().name(format!("crew {number}"));
            let spawned = thread.spawn_scoped(crew, move || {
                yield_to_others();
                work(number);
            });
            begun += usize::from(spawned.is_ok());
        }
        if begun == 0 {
            work(0);
        }
    });
}

/// For good, and of the calling thread alone: elsewhere than on Linux that would be the process.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_thread_has_a_number_of_its_own_and_is_waited_for() {
        let numbers = AtomicUsize::new(0);
        in_crew(|number| {
            numbers.fetch_add(1 << (4 * number), Ordering::Relaxed);
        });
        let all = numbers.load(Ordering::Relaxed);
        assert!([0x1, 0x11, 0x111, 0x1111].contains(&(all & 0xFFFF)));
    }
}
