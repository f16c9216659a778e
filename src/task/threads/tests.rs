//! What the threads promise: who runs what, in which order, and that nothing that hangs keeps the rest from going on.

use std::sync::mpsc;
use std::thread::{self, ThreadId};

use tokio::sync::oneshot;

use super::*;

const HANG: Duration = Duration::from_secs(30);

/// Runs a job from within a future and waits for it.
async fn job<T: Send + 'static>(
    threads: &Threads,
    job: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (tell, told) = oneshot::channel();
    threads.run(job, move |result| drop(tell.send(result)));
    told.await.ok()
}

#[tokio::test]
async fn what_follows_a_job_runs_in_its_thread() {
    let threads = Threads::new(Handle::current());
    for _ in 0..100 {
        let (tell, told) = oneshot::channel::<[Option<ThreadId>; 3]>();
        let shared = threads.clone();
        threads.start(async move {
            let first = job(&shared, || thread::current().id()).await;
            let between = thread::current().id();
            let second = job(&shared, || thread::current().id()).await;
            let _ = tell.send([first, Some(between), second]);
        });
        let [first, between, second] = told.await.expect("it is done");
        assert!(first.is_some() && first == between && between == second);
    }
    assert_eq!(threads.0.queue.lock().threads(), 1);
}

#[tokio::test]
async fn what_nobody_waits_for_is_done_last() {
    let threads = Threads::new(Handle::current());
    for _ in 0..100 {
        let (tell, told) = mpsc::channel();
        let (last, shared) = (tell.clone(), threads.clone());
        let then = move |()| {
            for _ in 0..2 * MOST_WHEN_FREE {
                let last = last.clone();
                shared.run_when_free(move || {
                    let _ = last.send("left behind");
                });
            }
            shared.run(
                || (),
                move |()| {
                    let _ = tell.send("waited for");
                },
            );
        };
        threads.run(|| (), then);
        let order: Vec<&str> = tokio::task::spawn_blocking(move || told.iter().collect())
            .await
            .expect("all are done");
        assert_eq!(order.len(), 2 * MOST_WHEN_FREE + 1);
        assert_eq!(order.last(), Some(&"left behind"));
    }
}

#[tokio::test]
async fn what_nobody_waits_for_starts_no_thread() {
    let threads = Threads::new(Handle::current());
    let (tell, told) = mpsc::channel();
    let shared = threads.clone();
    let then = move |()| {
        for number in 0..MOST_WHEN_FREE {
            let tell = tell.clone();
            shared.run_when_free(move || {
                let _ = tell.send(number);
            });
        }
    };
    threads.run(|| (), then);
    let done = tokio::task::spawn_blocking(move || told.iter().count());
    assert_eq!(done.await.expect("all are done"), MOST_WHEN_FREE);
    assert_eq!(threads.0.queue.lock().threads(), 1);
}

#[tokio::test]
async fn jobs_that_hang_leave_threads_to_others() {
    let threads = Threads::new(Handle::current());
    let (go_on, told) = mpsc::channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let mut hanging = Vec::new();
    for _ in 0..MOST {
        let (told, (tell, done)) = (told.clone(), oneshot::channel());
        let hang = move || {
            let _ = told.lock().recv();
        };
        threads.run(hang, move |()| {
            let _ = tell.send(());
        });
        hanging.push(done);
    }
    // No job more, but futures.
    let (tell, timer) = oneshot::channel();
    threads.start(async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let _ = tell.send(());
    });
    let waited = tokio::time::timeout(HANG, timer).await;
    assert_eq!(waited.ok(), Some(Ok(())));
    // Nor does input wait for them.
    let (tell, input) = oneshot::channel();
    threads.run_input(
        false,
        || 7,
        move |came| {
            let _ = tell.send(came);
        },
    );
    let waited = tokio::time::timeout(HANG, input).await;
    assert_eq!(waited.ok(), Some(Ok(7)));
    assert!(threads.0.queue.lock().threads() <= MOST);
    drop(go_on);
    for done in hanging {
        assert_eq!(done.await, Ok(()));
    }
    assert_eq!(job(&threads, || 7).await, Some(7));
}

#[tokio::test]
async fn input_is_taken_though_who_took_some_is_stuck() {
    let threads = Threads::new(Handle::current());
    let mut stuck = Vec::new();
    // The first time there is no other thread yet, and later there are some that rest.
    for round in 0..8 {
        let (tell, told) = oneshot::channel();
        let (go_on, hold) = mpsc::channel::<()>();
        stuck.push(go_on);
        let shared = threads.clone();
        let then = move |()| {
            let hang = move || {
                let _ = hold.recv();
            };
            shared.run(hang, |()| {});
            let then = move |came| {
                let _ = tell.send(came);
            };
            shared.run_input(false, move || round, then);
        };
        threads.run_input(round % 2 == 0, || (), then);
        let waited = tokio::time::timeout(HANG, told).await;
        assert_eq!(waited.ok(), Some(Ok(round)));
        if round == 3 {
            stuck.clear();
        }
    }
}

#[tokio::test]
async fn what_nobody_waits_for_is_done_before_input_is_waited_for() {
    let threads = Threads::new(Handle::current());
    for _ in 0..100 {
        let (done, told) = mpsc::channel();
        let (tell, input) = oneshot::channel();
        let shared = threads.clone();
        let then = move |()| {
            shared.run_when_free(move || {
                let _ = done.send(());
            });
            let then = move |came| {
                let _ = tell.send(came);
            };
            shared.run_input(false, move || told.recv_timeout(HANG).is_ok(), then);
        };
        threads.run(|| (), then);
        assert_eq!(input.await, Ok(true));
    }
}

#[tokio::test]
async fn a_panic_ends_what_panicked_and_nothing_else() {
    let threads = Threads::new(Handle::current());
    let panic = || std::panic::resume_unwind(Box::new("on purpose"));
    assert_eq!(job::<()>(&threads, panic).await, None);
    let (tell, told) = oneshot::channel::<()>();
    let shared = threads.clone();
    threads.start(async move {
        job(&shared, || ()).await;
        let _tell = tell;
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(told.await.is_err());
    assert_eq!(job(&threads, || 7).await, Some(7));
    let queue = threads.0.queue.lock();
    assert_eq!(queue.in_jobs, 0);
}

#[test]
fn a_future_that_wakes_itself_is_polled_again() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let threads = Threads::new(Handle::current());
        let (tell, told) = oneshot::channel();
        threads.start_here(async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let _ = tell.send(());
        });
        assert_eq!(told.await, Ok(()));
    });
}
