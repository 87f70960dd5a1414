//! Verbs on borrowed buffers.

mod support;

use std::panic::{catch_unwind, AssertUnwindSafe};

use pace::{CallOptions, Error, ReduceOptions, Status};
use support::*;

#[test]
fn a_scope_takes_borrowed_buffers_and_gives_them_back_before_its_end() {
    let (a, b) = reducing_pair();
    let (mut mine, mut theirs) = (filled(&a, &[1.0]), filled(&b, &[3.0]));
    let sum = a.scope(|first| {
        b.scope(|second| {
            let request = first.reduce(&mut mine, ReduceOptions::default())?;
            second.reduce(&mut theirs, ReduceOptions::default())?.wait()?;
            let (mine, _) = request.wait()?;
            mine[0] += 1.0;
            Ok::<_, Error>(mine[0])
        })
    });
    assert_eq!(sum.unwrap(), 3.0);
    assert_eq!((mine[0], theirs[0]), (3.0, 2.0));
}

#[test]
fn a_scope_ends_requests_that_were_leaked_or_dropped() {
    let (a, _b) = averaging_pair();
    let (mut leaked, mut dropped) = (filled(&a, &[1.0]), filled(&a, &[2.0]));
    a.scope(|scope| {
        std::mem::forget(scope.average(&mut leaked, at(1)).unwrap());
    });
    a.scope(|scope| drop(scope.average(&mut dropped, at(1)).unwrap()));
    leaked[0] += 1.0;
    assert_eq!((leaked[0], dropped[0]), (2.0, 2.0));
    // Nothing is in flight or waits to be collected.
    assert_eq!(a.next(None).unwrap_err().status, Status::NotFound);
}

#[test]
fn a_scope_that_panics_ends_its_requests() {
    let (a, _b) = averaging_pair();
    let mut model = filled(&a, &[1.0]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        a.scope(|scope| {
            let _request = scope.average(&mut model, at(1)).unwrap();
            panic!("as a test does");
        })
    }));
    assert!(panicked.is_err());
    model[0] = 2.0;
    assert_eq!(a.next(None).unwrap_err().status, Status::NotFound);
}

#[test]
fn a_dropped_request_of_a_scope_keeps_what_it_owns_until_the_scope_ends() {
    let (a, b) = reducing_pair();
    let own = a.import(vec![1.0_f32]).unwrap();
    a.scope(|scope| {
        drop(scope.reduce(own, ReduceOptions::default()).unwrap());
        let (theirs, _) = end(b.reduce(filled(&b, &[3.0]), ReduceOptions::default()).unwrap());
        assert_eq!(theirs[0], 2.0);
    });
}

#[test]
fn a_session_does_not_leave_within_a_scope() {
    let session = alone("all-reduce");
    let refused = session.scope(|_| session.leave(SOON).unwrap_err());
    assert_eq!((refused.status, refused.argument.as_str()), (Status::Invalid, "session"));
    session.leave(SOON).unwrap();
    let over = session.scope(|scope| scope.barrier(CallOptions::default()).unwrap_err().status());
    assert_eq!(over, Status::Closed);
}

#[test]
fn a_request_that_is_carried_out_of_its_scope_tells_how_it_ended() {
    let (a, b) = averaging_pair();
    let (own, theirs) = (filled(&a, &[1.0]), filled(&b, &[3.0]));
    let request = a.scope(|scope| scope.average(own, at(1)).unwrap());
    let failure = failure(request);
    assert_eq!(failure.status(), Status::Canceled);
    assert_eq!(failure.into_buffers().unwrap()[0], 1.0);
    let request = a.scope(|scope| {
        let request = scope.average(filled(&a, &[1.0]), at(1)).unwrap();
        end(b.average(theirs, at(1)).unwrap());
        request
    });
    assert_eq!(end(request).0[0], 2.0);
}

#[test]
fn a_wait_of_another_thread_and_the_end_of_the_scope_tell_the_same_end() {
    let (a, _b) = averaging_pair();
    for step in 1..50 {
        let waiting = a.scope(|scope| {
            let request = scope.average(filled(&a, &[1.0]), at(step)).unwrap();
            std::thread::spawn(move || failure(request).status())
        });
        assert_eq!(waiting.join().unwrap(), Status::Canceled);
    }
}

#[test]
fn an_average_that_may_be_written_in_flight_is_refused_in_a_scope() {
    let session = alone("all-reduce");
    let mut model = filled(&session, &[1.0]);
    session.scope(|scope| {
        let refused = scope.average(&mut model, pace::AverageOptions { keep_local: true, ..at(1) }).unwrap_err();
        assert_eq!((refused.status(), refused.error.argument.as_str()), (Status::Invalid, "options"));
    });
}
