//! Sessions: how they are opened, and how they end.

mod support;

use std::thread;
use std::time::Duration;

use pace::{CallOptions, ReduceOptions, RunState, Session, Status};
use support::*;

#[test]
fn a_session_tells_of_itself() {
    let job = new_job();
    let session = builder(&job, "all-reduce", 1, 2).run("first").open().unwrap();
    let info = session.info().unwrap();
    assert_eq!((info.rank, info.world, info.run_state), (1, 2, RunState::New));
    assert_eq!((info.job.as_str(), info.run.as_str()), (job.as_str(), "first"));
    assert!(!info.node.is_empty());
}

#[test]
fn what_is_wrong_is_named() {
    let job = new_job();
    let fails = |session: pace::Result<Session>| session.map(drop).unwrap_err();
    let wrong = fails(builder(&job, "all-reduce", 0, 0).open());
    assert_eq!((wrong.status, wrong.argument.as_str()), (Status::Invalid, "world"));
    let wrong = fails(builder(&job, "all-reduce", 0, 1).option("group.size", 2).open());
    assert_eq!((wrong.status, wrong.argument.as_str()), (Status::Invalid, "group.size"));
    let wrong = fails(builder(&job, "partial-reduce", 0, 2).option("group.size", "two").open());
    assert_eq!((wrong.status, wrong.argument.as_str()), (Status::Invalid, "group.size"));
    let wrong = fails(builder("a\0b", "all-reduce", 0, 1).open());
    assert_eq!((wrong.status, wrong.argument.as_str()), (Status::Invalid, "job"));
    assert!(wrong.to_string().starts_with("PACE_E_INVALID: job"));
    let wrong = fails(Session::builder(&job, "all-reduce").world(1).endpoint("unix:/nowhere/paced.sock").open());
    assert!(matches!(wrong.status, Status::NotFound | Status::DaemonGone), "{wrong}");
}

#[test]
fn options_of_every_kind_are_taken_and_an_unknown_hint_is_ignored() {
    let session = builder(&new_job(), "ad-psgd", 0, 3)
        .option("group.edges", vec![0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])
        .option("average.weights", "dynamic")
        .option("average.alpha", 0.25)
        .option("worker.timeout_ms", 60000_u32)
        .hint("of.a.later.release", true)
        .connect_timeout(SOON)
        .open();
    session.unwrap();
    let mismatch = new_job();
    let _first = builder(&mismatch, "partial-reduce", 0, 3).option("group.size", 2).open().unwrap();
    let second = builder(&mismatch, "partial-reduce", 1, 3).option("group.size", 3).open();
    assert_eq!(second.map(drop).unwrap_err().status, Status::Mismatch);
}

#[test]
fn who_leaves_frees_its_rank_and_its_session_is_over() {
    let job = new_job();
    let session = builder(&job, "all-reduce", 0, 2).open().unwrap();
    let mut kept = filled(&session, &[1.0]);
    let request = session.barrier(CallOptions::default()).unwrap();
    session.leave(SOON).unwrap();
    assert_eq!(session.barrier(CallOptions::default()).unwrap_err().status(), Status::Closed);
    assert_eq!(session.leave(SOON).unwrap_err().status, Status::Closed);
    let closed = request.wait().unwrap_err();
    assert_eq!(closed.status(), Status::Closed);
    assert!(closed.into_buffers().is_err());
    kept[0] += 1.0;
    builder(&job, "all-reduce", 0, 2).open().unwrap();
}

#[test]
fn a_dropped_session_leaves_buffers_and_tensors_their_elements() {
    let session = alone("all-reduce");
    let mut kept = filled(&session, &[1.0, 2.0]);
    let tensor = filled(&session, &[3.0]).into_tensor(pace::TensorKind::Versioned).unwrap();
    drop(session);
    kept[0] += 1.0;
    assert_eq!((&kept[..], &tensor[..]), (&[2.0, 2.0][..], &[3.0][..]));
    assert_eq!(kept.info().unwrap_err().status, Status::Closed);
}

#[test]
fn a_dropped_session_ends_as_if_its_worker_had_died() {
    let (a, b) = reducing_pair();
    drop(a);
    let (alone, info) = end(b.reduce(filled(&b, &[5.0]), ReduceOptions::default()).unwrap());
    assert_eq!((alone[0], info.member_count), (5.0, 1));
}

#[test]
fn a_wait_for_a_request_that_never_ends_ends_with_its_session() {
    let (a, _b) = averaging_pair();
    let request = a.average(filled(&a, &[1.0]), at(1)).unwrap();
    let waiting = thread::spawn(move || {
        let failure = request.wait().unwrap_err();
        (failure.status(), failure.into_buffers().is_err())
    });
    drop(a);
    assert_eq!(waiting.join().unwrap(), (Status::Closed, true));
}

#[test]
fn next_tells_which_request_has_ended_and_its_wait_tells_how() {
    let (a, b) = reducing_pair();
    assert_eq!(a.next(None).unwrap_err().status, Status::NotFound);
    let barrier = a.barrier(CallOptions { user_data: 1 }).unwrap();
    let reduce = a.reduce(filled(&a, &[1.0]), ReduceOptions::default()).unwrap();
    assert_eq!(a.next(Duration::ZERO).unwrap_err().status, Status::Timeout);
    end(b.barrier(CallOptions::default()).unwrap());
    assert_eq!(a.next(SOON).unwrap(), barrier.id());
    assert_eq!(barrier.test().unwrap().1.user_data, 1);
    let other = b.reduce(filled(&b, &[3.0]), ReduceOptions::default()).unwrap();
    assert_eq!(a.next(SOON).unwrap(), reduce.id());
    assert_eq!(end(reduce).0[..], [2.0]);
    end(other);
}

#[test]
fn a_wait_and_next_of_two_threads_tell_the_same_end() {
    let (a, b) = reducing_pair();
    for _ in 0..50 {
        let request = a.barrier(CallOptions::default()).unwrap();
        let id = request.id();
        thread::scope(|threads| {
            let waiting = threads.spawn(|| request.wait().map(|(_, info)| info.member_count).unwrap());
            end(b.barrier(CallOptions::default()).unwrap());
            match a.next(SOON) {
                Ok(found) => assert_eq!(found, id),
                Err(error) => assert_eq!(error.status, Status::NotFound),
            }
            assert_eq!(waiting.join().unwrap(), 2);
        });
    }
}

#[test]
fn a_canceler_cancels_what_another_thread_waits_for() {
    let (a, _b) = averaging_pair();
    let request = a.average(filled(&a, &[1.0]), at(1)).unwrap();
    let canceler = request.canceler();
    let waiting = thread::spawn(move || request.wait().unwrap_err().status());
    canceler.cancel().unwrap();
    assert_eq!(waiting.join().unwrap(), Status::Canceled);
    canceler.cancel().unwrap();
}

#[test]
fn an_announcement_is_taken_back() {
    let (a, _b) = averaging_pair();
    a.announce(1).unwrap();
    a.withdraw().unwrap();
    assert_eq!(alone("all-reduce").announce(1).unwrap_err().status, Status::Verb);
}

#[test]
fn the_library_tells_of_itself() {
    assert_eq!(pace::library_version(), pace::HEADER_VERSION);
    assert_eq!(pace::status_name(-6), "PACE_E_TAKEN");
    assert_eq!(Status::from_number(77), Status::Other(77));
    assert_eq!(Status::Other(77).name(), "PACE_?");
    assert!(!Status::Stale.is_fault() && Status::Taken.is_fault());
    let options = pace::query("options", None).unwrap();
    assert!(options.contains("\"topk.density\""));
    assert_eq!(pace::query("nonsense", None).unwrap_err().argument, "what");
}
