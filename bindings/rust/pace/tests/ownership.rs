//! Who has a buffer, when.

mod support;

use pace::{AverageOptions, CallOptions, Left, Order, ReduceOptions, Status};
use support::*;

#[test]
fn a_request_gives_its_buffers_back_with_the_result() {
    let (a, b) = averaging_pair();
    let first = a.average(filled(&a, &[1.0, 2.0]), at(5)).unwrap();
    let second = b.average(filled(&b, &[3.0, 6.0]), at(4)).unwrap();
    let (model, info) = end(first);
    assert_eq!(model[..], [2.0, 4.0]);
    assert_eq!((info.iteration, info.member_count), (5, 2));
    assert_eq!(info.members.iter().map(|member| member.rank).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(end(second).0[..], [2.0, 4.0]);
}

#[test]
fn a_refused_verb_gives_its_buffers_back() {
    let session = alone("all-reduce");
    let refused = session.average(filled(&session, &[7.0]), at(1)).unwrap_err();
    assert_eq!(refused.status(), Status::Verb);
    assert!(refused.info.is_none());
    assert_eq!(refused.into_buffers().unwrap()[..], [7.0]);
}

#[test]
fn a_canceled_request_gives_its_buffers_back_as_they_were() {
    let (a, _b) = averaging_pair();
    let request = a.average(filled(&a, &[1.0, 2.0]), AverageOptions { user_data: 8, ..at(1) }).unwrap();
    request.cancel().unwrap();
    let failure = failure(request);
    assert_eq!(failure.status(), Status::Canceled);
    assert_eq!(failure.info.as_ref().unwrap().user_data, 8);
    assert_eq!(failure.into_buffers().unwrap()[..], [1.0, 2.0]);
}

#[test]
fn a_wait_whose_time_has_passed_gives_the_request_back() {
    let (a, b) = reducing_pair();
    let request = a.reduce(filled(&a, &[1.0]), ReduceOptions::default()).unwrap();
    let late = request.wait_timeout(std::time::Duration::ZERO).unwrap_err();
    assert_eq!(late.status(), Status::Timeout);
    let request = match late.left {
        Left::InFlight(request) => request,
        Left::Buffers(_) => panic!("the request has not ended"),
    };
    let pending = request.test().unwrap_err();
    assert_eq!(pending.status(), Status::Pending);
    let request = pending.into_buffers().unwrap_err();
    let other = b.reduce(filled(&b, &[3.0]), ReduceOptions::default()).unwrap();
    assert_eq!(end(request).0[..], [2.0]);
    end(other);
}

#[test]
fn a_dropped_request_goes_on_and_its_buffers_are_freed_when_it_has_ended() {
    let (a, b) = reducing_pair();
    drop(a.reduce(filled(&a, &[1.0]), ReduceOptions::default()).unwrap());
    let (result, _) = end(b.reduce(filled(&b, &[5.0]), ReduceOptions::default()).unwrap());
    assert_eq!(result[..], [3.0]);
    // More than the 64 that may be in flight: each call collects those that were dropped and have ended.
    for _ in 0..100 {
        drop(a.barrier(CallOptions::default()).unwrap());
        end(b.barrier(CallOptions::default()).unwrap());
        end_all_but_dropped(&a, &b);
    }
}

/// A barrier that both wait for: what `a` has dropped before has ended then.
fn end_all_but_dropped(a: &pace::Session, b: &pace::Session) {
    let first = a.barrier(CallOptions::default()).unwrap();
    end(b.barrier(CallOptions::default()).unwrap());
    end(first);
}

#[test]
fn a_leaked_request_keeps_its_buffers() {
    let (a, b) = reducing_pair();
    std::mem::forget(a.reduce(filled(&a, &[1.0]), ReduceOptions::default()).unwrap());
    let (result, _) = end(b.reduce(filled(&b, &[5.0]), ReduceOptions::default()).unwrap());
    assert_eq!(result[..], [3.0]);
}

#[test]
fn parts_of_a_buffer_are_in_flight_apart() {
    let (a, b) = reducing_pair();
    let mut mine = filled(&a, &[1.0, 1.0, 1.0, 1.0]);
    let mut tail = mine.split_off(2);
    let request = a.reduce(mine, ReduceOptions::default()).unwrap();
    tail[0] = 9.0;
    let other = b.reduce(filled(&b, &[3.0, 3.0]), ReduceOptions::default()).unwrap();
    let (mut mine, _) = end(request);
    end(other);
    assert!(mine.unsplit(filled(&a, &[0.0])).is_err());
    mine.unsplit(tail).unwrap();
    assert_eq!(mine[..], [2.0, 2.0, 9.0, 1.0]);
}

#[test]
fn several_buffers_of_several_types_are_one_vector() {
    let (a, b) = reducing_pair();
    let of = |session: &pace::Session, number: f32| {
        let mut wide = session.buffer::<f64>(1).unwrap();
        wide[0] = f64::from(number);
        (vec![filled(session, &[number]), filled(session, &[number, number])], wide)
    };
    let first = a.reduce(of(&a, 1.0), ReduceOptions::default()).unwrap();
    let second = b.reduce(of(&b, 2.0), ReduceOptions::default()).unwrap();
    let ((halves, wide), _) = end(first);
    assert_eq!((halves[0][0], halves[1][1], wide[0]), (1.5, 1.5, 1.5));
    end(second);
}

#[test]
fn results_elsewhere_leave_what_was_given_as_it_was() {
    let (a, b) = reducing_pair();
    let first = a.reduce_into(filled(&a, &[1.0]), filled(&a, &[0.0]), ReduceOptions::default()).unwrap();
    let second = b.reduce_into(filled(&b, &[3.0]), filled(&b, &[0.0]), ReduceOptions::default()).unwrap();
    let ((given, result), _) = end(first);
    assert_eq!((given[0], result[0]), (1.0, 2.0));
    end(second);
    let lacking = a.reduce_into(filled(&a, &[1.0]), (), ReduceOptions::default()).unwrap_err();
    assert_eq!(lacking.status(), Status::Invalid);
}

#[test]
fn an_average_beside_computing_keeps_what_is_written_meanwhile() {
    let (a, b) = averaging_pair();
    let mut request = a.average(filled(&a, &[1.0, 2.0]), AverageOptions { keep_local: true, ..at(1) }).unwrap();
    assert!(request.elements_mut::<f64>(0).is_none());
    assert!(request.elements_mut::<f32>(1).is_none());
    request.elements_mut::<f32>(0).unwrap()[0] += 10.0;
    request.set_local_iteration(3);
    assert_eq!(a.next(None).unwrap_err().status, Status::Invalid);
    let other = b.average(filled(&b, &[3.0, 6.0]), at(1)).unwrap();
    let (model, info) = end(request);
    assert_eq!(model[..], [12.0, 4.0]);
    assert_eq!((info.iteration, info.staleness), (3, 2));
    end(other);
    assert_eq!(a.next(None).unwrap_err().status, Status::NotFound);
}

#[test]
fn what_is_not_ready_may_be_written_in_flight() {
    for order in [Order::Forward, Order::Backward] {
        let (a, b) = averaging_pair();
        let buffers = |session| [filled(session, &[1.0, 1.0]), filled(session, &[1.0, 1.0, 1.0])];
        let mut first = a.average(buffers(&a), AverageOptions { order, ..at(1) }).unwrap();
        let mut second = b.average(buffers(&b), AverageOptions { order, ..at(1) }).unwrap();
        second.ready(5).unwrap();
        first.ready(3).unwrap();
        let lengths = [0, 1].map(|index| first.elements_mut::<f32>(index).unwrap().len());
        assert_eq!(lengths, if order == Order::Forward { [0, 2] } else { [2, 0] });
        for index in 0..2 {
            first.elements_mut::<f32>(index).unwrap().fill(3.0);
        }
        assert_eq!(first.ready(6).unwrap_err().argument, "elements");
        first.ready(5).unwrap();
        assert!(first.elements_mut::<f32>(0).unwrap().is_empty());
        let ([head, tail], _) = end(first);
        let expected = if order == Order::Forward { [1.0, 1.0, 1.0, 2.0, 2.0] } else { [2.0, 2.0, 1.0, 1.0, 1.0] };
        assert_eq!([&head[..], &tail[..]].concat(), expected);
        end(second);
    }
}

#[test]
fn an_ordinary_request_lets_nothing_be_touched() {
    let (a, _b) = reducing_pair();
    let mut request = a.reduce(filled(&a, &[1.0]), ReduceOptions::default()).unwrap();
    assert!(request.elements_mut::<f32>(0).unwrap().is_empty());
}
