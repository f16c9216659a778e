//! The queue without a server: order, limits, withdrawing and the end; nothing is written here.

use std::future::ready;

use crate::workspace::{RealPath, ResourceId};

use super::*;

const HANG: Duration = Duration::from_secs(30);

/// Limits that are reached at once.
const SHORT: WaitLimits = WaitLimits {
    for_edits: Duration::from_millis(20),
    for_reads: Duration::from_millis(20),
    in_all: HANG,
};

/// Limits that are never reached.
const LONG: WaitLimits = WaitLimits {
    for_edits: HANG,
    for_reads: HANG,
    in_all: HANG,
};

fn threads() -> Threads {
    Threads::new(tokio::runtime::Handle::current())
}

fn place(name: &str) -> ResourceId {
    ResourceId::File(RealPath::for_tests(name))
}

fn places(names: &[&str]) -> Vec<ResourceId> {
    names.iter().map(|name| place(name)).collect()
}

/// An edit of session `s` that knows its places as soon as it is asked.
fn edit(queue: &Arc<EditQueue>, names: &[&str]) -> impl Future<Output = Result<Grant, Refusal>> {
    queue.submit("s").granted(places(names))
}

/// Whether `future` is not done, after everybody else had time to go on.
async fn still_waits<T>(future: &mut (impl Future<Output = T> + Unpin)) -> bool {
    for _ in 0..200 {
        if future.now_or_never().is_some() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

#[tokio::test]
async fn a_read_waits_for_earlier_edits_of_its_file_and_no_others() {
    let queue = EditQueue::new(LONG);
    assert!(queue.begin_read("s").is_free());
    let early = queue.begin_read("s");
    // The early read is of the same session, and not known to be of another file.
    let mut grant = Box::pin(edit(&queue, &["a"]));
    assert!(still_waits(&mut grant).await);
    early.reads(place("b"));
    let grant = grant.await.expect("nobody is before it");
    assert!(!grant.came_at_once());
    let late = queue.begin_read("other");
    assert!(early.is_free() && !late.is_free());
    late.turn(&places(&["b", "c"])).await.expect("other files");
    let wanted = places(&["c", "a"]);
    let mut turn = Box::pin(late.turn(&wanted));
    assert!(still_waits(&mut turn).await);
    drop(grant);
    turn.await.expect("the edit is done");
    assert!(late.is_free());
    assert!(queue.begin_read("s").is_free());
}

#[tokio::test]
async fn all_wait_until_it_is_known_where_an_edit_writes() {
    let queue = EditQueue::new(LONG);
    let first = queue.submit("s");
    let mut second = Box::pin(edit(&queue, &["c"]));
    let mut third = Box::pin(edit(&queue, &["a", "b"]));
    let read = queue.begin_read("s");
    let wanted = places(&["a"]);
    let mut turn = Box::pin(read.turn(&wanted));
    assert!(still_waits(&mut turn).await);
    assert!(still_waits(&mut second).await);
    assert!(still_waits(&mut third).await);
    let first = first
        .granted(places(&["b"]))
        .await
        .expect("it is the first");
    assert!(first.came_at_once());
    assert!(!second.await.expect("it writes elsewhere").came_at_once());
    assert!(still_waits(&mut third).await && still_waits(&mut turn).await);
    drop(first);
    let third = third.await.expect("it is next");
    assert!(still_waits(&mut turn).await);
    drop(third);
    turn.await.expect("both are done");
}

#[tokio::test]
async fn every_wait_has_its_limit() {
    let queue = EditQueue::new(SHORT);
    let read = queue.begin_read("s");
    read.reads(place("a"));
    let grant = edit(&queue, &["a"]).await;
    let grant = grant.expect("it does not wait for a slow read for ever");
    let late = queue.begin_read("s");
    let refused = late.turn(&places(&["a"])).await.expect_err("too long");
    assert!(matches!(refused, Refusal::Busy { .. }), "{refused:?}");
    let refused = edit(&queue, &["b", "a"]).await.expect_err("too long");
    assert!(matches!(refused, Refusal::Busy { .. }), "{refused:?}");
    drop(grant);
    assert!(edit(&queue, &["a", "b"]).await.is_ok());
    assert_eq!(queue.locks.count(), 0);
}

#[tokio::test]
async fn an_edit_waits_only_for_reads_of_its_session_that_came_before() {
    let queue = EditQueue::new(LONG);
    let other = queue.begin_read("other");
    other.reads(place("a"));
    let own = queue.begin_read("s");
    own.reads(place("a"));
    let mut granted = Box::pin(edit(&queue, &["a"]));
    let later = queue.begin_read("s");
    later.reads(place("a"));
    assert!(still_waits(&mut granted).await);
    drop(own);
    assert!(granted.await.is_ok());
}

#[tokio::test]
async fn a_withdrawn_or_panicking_edit_holds_nobody_up() {
    let queue = EditQueue::new(LONG);
    let withdrawn = queue.submit("s");
    let read = queue.begin_read("s");
    let wanted = places(&["a"]);
    let mut turn = Box::pin(read.turn(&wanted));
    assert!(still_waits(&mut turn).await);
    drop(withdrawn);
    turn.await.expect("it writes nowhere");
    drop(read);
    let grant = edit(&queue, &["a"]).await.expect("goes on");
    let panics = |_| async { panic!("on purpose") };
    let outcome: Result<(), Refusal> = grant.commit(&threads(), panics).await;
    assert_eq!(outcome, Err(Refusal::Internal));
    assert!(edit(&queue, &["a"]).await.is_ok());
}

#[tokio::test]
async fn a_commit_goes_on_when_nobody_waits_for_it_and_the_end_waits() {
    let (queue, threads) = (EditQueue::new(LONG), threads());
    let withdrawn = queue.submit("s");
    let grant = edit(&queue, &["a"]);
    let behind = edit(&queue, &["a"]);
    drop(withdrawn);
    let grant = grant.await.expect("the first has left");
    let (finish, finished) = oneshot::channel::<()>();
    let (tell, told) = oneshot::channel();
    let mut commit = Box::pin(grant.commit(&threads, |commit| async move {
        assert_eq!(commit.places(), places(&["a"]));
        finished.await.map_err(|_| Refusal::Internal)?;
        tell.send(()).map_err(|()| Refusal::Internal)
    }));
    assert!(still_waits(&mut commit).await);
    drop(commit);
    queue.drain(Duration::from_millis(20)).await;
    let mut settled = Box::pin(queue.settled(HANG));
    assert!(still_waits(&mut settled).await);
    finish.send(()).expect("it still runs");
    told.await.expect("it was committed");
    settled.await;
    // Who has waited through the end must not begin any more.
    let grant = behind.await.expect("it is first now");
    let nothing = |_| ready(Ok(()));
    assert_eq!(
        grant.commit(&threads, nothing).await,
        Err(Refusal::Cancelled)
    );
}
