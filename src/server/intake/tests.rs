//! The intake without a server: order, limits, cancelling and the end; nothing is written here.

use std::future::ready;

use crate::workspace::RealPath;

use super::*;

const HANG: Duration = Duration::from_secs(30);

/// Limits that are reached at once.
const SHORT: Limits = Limits {
    resolving: Duration::from_millis(20),
    for_edits: Duration::from_millis(20),
    for_reads: Duration::from_millis(20),
    in_all: HANG,
};

/// Limits that are never reached.
const LONG: Limits = Limits {
    resolving: HANG,
    for_edits: HANG,
    for_reads: HANG,
    in_all: HANG,
};

fn place(name: &str) -> Place {
    Place::OnDisk(RealPath::for_tests(name))
}

fn places(names: &[&str]) -> Vec<Place> {
    names.iter().map(|name| place(name)).collect()
}

fn submit(intake: &Arc<Intake>, names: &[&str]) -> Submission {
    let resolved = ready(Ok(places(names)));
    intake.submit("s", resolved).expect("there is room")
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
    let intake = Intake::new(LONG);
    assert!(intake.begin_read("s").is_free());
    let early = intake.begin_read("s");
    let grant = submit(&intake, &["a"]).granted();
    // The early read is of the same session, and not known to be of another file.
    let mut grant = Box::pin(grant);
    assert!(still_waits(&mut grant).await);
    early.reads(place("b"));
    let grant = grant.await.expect("nobody is before it");
    let late = intake.begin_read("other");
    assert!(early.is_free() && !late.is_free());
    late.turn(&places(&["b", "c"])).await.expect("other files");
    let wanted = places(&["c", "a"]);
    let mut turn = Box::pin(late.turn(&wanted));
    assert!(still_waits(&mut turn).await);
    drop(grant);
    turn.await.expect("the edit is done");
    assert!(late.is_free());
    assert!(intake.begin_read("s").is_free());
}

#[tokio::test]
async fn a_read_waits_until_it_is_known_where_an_edit_writes() {
    let intake = Intake::new(LONG);
    let (tell, told) = oneshot::channel();
    let resolve = told.map(|told| told.map_err(|_| Refusal::Internal));
    let edit = intake.submit("s", resolve).expect("there is room");
    let read = intake.begin_read("s");
    let wanted = places(&["a"]);
    let mut turn = Box::pin(read.turn(&wanted));
    assert!(still_waits(&mut turn).await);
    tell.send(places(&["b"])).expect("it is waited for");
    turn.await.expect("it writes elsewhere");
    drop(edit);
}

#[tokio::test]
async fn every_wait_has_its_limit() {
    let intake = Intake::new(SHORT);
    let stuck = intake.submit("s", std::future::pending()).expect("room");
    let refused = stuck.granted().await.expect_err("it cannot be resolved");
    assert!(matches!(refused, Refusal::Timeout { .. }), "{refused:?}");
    let read = intake.begin_read("s");
    read.reads(place("a"));
    let grant = submit(&intake, &["a"]).granted().await;
    let grant = grant.expect("it does not wait for a slow read for ever");
    let late = intake.begin_read("s");
    let refused = late.turn(&places(&["a"])).await.expect_err("too long");
    assert!(matches!(refused, Refusal::Busy { .. }), "{refused:?}");
    let second = submit(&intake, &["b", "a"]).granted().await;
    let refused = second.expect_err("too long");
    assert!(matches!(refused, Refusal::Busy { .. }), "{refused:?}");
    drop(grant);
    assert!(submit(&intake, &["a", "b"]).granted().await.is_ok());
    assert_eq!(intake.lines.count(), 0);
}

#[tokio::test]
async fn an_edit_waits_only_for_reads_of_its_session_that_came_before() {
    let intake = Intake::new(LONG);
    let other = intake.begin_read("other");
    other.reads(place("a"));
    let own = intake.begin_read("s");
    own.reads(place("a"));
    let mut granted = Box::pin(submit(&intake, &["a"]).granted());
    let later = intake.begin_read("s");
    later.reads(place("a"));
    assert!(still_waits(&mut granted).await);
    drop(own);
    assert!(granted.await.is_ok());
}

#[tokio::test]
async fn a_refused_or_panicking_edit_holds_nobody_up() {
    let intake = Intake::new(LONG);
    let refused = intake.submit("s", ready(Err(Refusal::Cancelled)));
    let refused = refused.expect("room");
    let panics = async { panic!("on purpose") };
    let panicked = intake.submit("s", panics).expect("room");
    let read = intake.begin_read("s");
    read.turn(&places(&["a"]))
        .await
        .expect("both write nowhere");
    drop(read);
    assert_eq!(refused.granted().await.err(), Some(Refusal::Cancelled));
    assert_eq!(panicked.granted().await.err(), Some(Refusal::Internal));
    let grant = submit(&intake, &["a"]).granted().await.expect("goes on");
    let panics = |_| async { panic!("on purpose") };
    let outcome: Result<(), Refusal> = grant.commit(panics).await;
    assert_eq!(outcome, Err(Refusal::Internal));
    assert!(submit(&intake, &["a"]).granted().await.is_ok());
}

#[tokio::test]
async fn a_commit_goes_on_when_nobody_waits_for_it_and_the_end_waits() {
    let intake = Intake::new(LONG);
    let withdrawn = submit(&intake, &["a"]);
    let grant = submit(&intake, &["a"]).granted();
    let behind = submit(&intake, &["a"]);
    drop(withdrawn);
    let grant = grant.await.expect("the first has left");
    let (finish, finished) = oneshot::channel::<()>();
    let (tell, told) = oneshot::channel();
    let mut commit = Box::pin(grant.commit(|commit| async move {
        assert_eq!(commit.places(), places(&["a"]));
        finished.await.map_err(|_| Refusal::Internal)?;
        tell.send(()).map_err(|()| Refusal::Internal)
    }));
    assert!(still_waits(&mut commit).await);
    drop(commit);
    intake.drain(Duration::from_millis(20)).await;
    let mut settled = Box::pin(intake.settled(HANG));
    assert!(still_waits(&mut settled).await);
    finish.send(()).expect("it still runs");
    told.await.expect("it was committed");
    settled.await;
    // Who has waited through the end must not begin any more.
    let grant = behind.granted().await.expect("it is first now");
    let nothing = |_| ready(Ok(()));
    assert_eq!(grant.commit(nothing).await, Err(Refusal::Cancelled));
}

#[tokio::test]
async fn an_edit_is_alone_only_where_nobody_is_in_front_of_it() {
    let intake = Intake::new(LONG);
    let read = intake.begin_read("s");
    assert!(intake.submit_alone("s").is_none());
    let alone = intake.submit_alone("other").expect("nobody of its session");
    drop(read);
    assert!(intake.submit_alone("s").is_none());
    drop(alone);
    let queued = submit(&intake, &["a"]);
    assert!(intake.submit_alone("s").is_none());
    drop(queued);
    let alone = intake.submit_alone("s").expect("the other has left");
    intake.settled(HANG).await;
    let submission = alone.take_tickets(places(&["a"])).expect("in time");
    let grant = submission.granted_now().expect("it is first");
    assert_eq!(grant.begin().err(), Some(Refusal::Cancelled));
    assert!(
        intake.submit_alone("s").is_none(),
        "nothing begins any more"
    );
}

#[tokio::test]
async fn those_who_come_later_wait_for_the_places_of_one_alone() {
    let intake = Intake::new(LONG);
    let alone = intake.submit_alone("s").expect("nobody is there");
    let mut same = Box::pin(submit(&intake, &["b", "a"]).granted());
    let mut elsewhere = Box::pin(submit(&intake, &["c"]).granted());
    let read = intake.begin_read("s");
    let wanted = places(&["a"]);
    let mut turn = Box::pin(read.turn(&wanted));
    assert!(still_waits(&mut same).await && still_waits(&mut elsewhere).await);
    assert!(still_waits(&mut turn).await);
    let submission = alone.take_tickets(places(&["a"])).expect("in time");
    let grant = submission.granted_now().expect("it is first");
    assert!(elsewhere.await.is_ok());
    assert!(still_waits(&mut same).await && still_waits(&mut turn).await);
    drop(grant);
    let grant = same.await.expect("it is next");
    drop(grant);
    turn.await.expect("both are done");
}

#[tokio::test]
async fn one_alone_that_takes_too_long_is_passed_and_refused() {
    let intake = Intake::new(SHORT);
    let alone = intake.submit_alone("s").expect("nobody is there");
    assert!(submit(&intake, &["a"]).granted().await.is_ok());
    let refused = alone.take_tickets(places(&["a"])).err();
    assert!(
        matches!(refused, Some(Refusal::Timeout { .. })),
        "{refused:?}"
    );
    let alone = intake.submit_alone("s").expect("it has left");
    let pass_over = alone.pass_over();
    assert!(pass_over());
    assert!(alone.take_tickets(places(&["a"])).is_err());
    let alone = intake.submit_alone("s").expect("it has left");
    let pass_over = alone.pass_over();
    let submission = alone.take_tickets(places(&["a"])).expect("in time");
    assert!(!pass_over(), "it has its tickets");
    drop(submission);
    assert_eq!(intake.lines.count(), 0);
}
