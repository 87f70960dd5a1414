//! The server family, and what top-k owes.

mod support;

use pace::{BroadcastOptions, CallOptions, Op, PullOptions, PushOptions, ReduceOptions, Status};
use support::*;

#[test]
fn updates_are_pushed_dense_and_sparse_and_the_model_is_pulled() {
    let session = builder(&new_job(), "bsp", 0, 1).option("server.elements", 4).open().unwrap();
    let (model, _) = end(session.broadcast(filled(&session, &[1.0; 4]), BroadcastOptions::default()).unwrap());
    let (update, info) = end(session.push(filled(&session, &[1.0, 2.0, 3.0, 4.0]), PushOptions::at(0)).unwrap());
    assert_eq!(info.contributor_count, 1);
    let (_, info) = end(session.push(update, PushOptions::at(0)).unwrap());
    assert_eq!(info.contributor_count, 0, "the update of that step had been taken before");
    let mut indices = session.buffer::<u32>(2).unwrap();
    indices.copy_from_slice(&[1, 3]);
    let sparse = PushOptions { entries: Some(2), ..PushOptions::at(1) };
    end(session.push((indices, filled(&session, &[10.0, 20.0])), sparse).unwrap());
    let (model, info) = end(session.pull(model, PullOptions::at(2)).unwrap());
    assert_eq!(model[..], [2.0, 13.0, 4.0, 25.0]);
    assert_eq!(info.slowest_clock, 2);
}

#[test]
fn what_the_servers_refuse_is_given_back() {
    let session = builder(&new_job(), "asp", 0, 1).option("server.elements", 2).open().unwrap();
    let request = session.push(filled(&session, &[1.0]), PushOptions { first: 2, ..PushOptions::at(0) }).unwrap();
    let refused = failure(request);
    assert_eq!(refused.status(), Status::Refused);
    assert_eq!(refused.into_buffers().unwrap()[..], [1.0]);
    // The embedded daemon has no folder for checkpoints.
    assert_eq!(failure(session.checkpoint(CallOptions::default()).unwrap()).status(), Status::Disk);
}

#[test]
fn what_top_k_has_cut_is_owed_and_is_saved_and_loaded() {
    let job = new_job();
    let open = |rank| {
        let builder = builder(&job, "all-reduce", rank, 2).option("compression", "spardl").option("topk.density", 0.25);
        builder.option("topk.hierarchy", "flat").option("topk.dense_fallback", "never").open().unwrap()
    };
    let (a, b) = (open(0), open(1));
    let sum = || ReduceOptions { op: Op::Sum, ..ReduceOptions::default() };
    let first = a.reduce(filled(&a, &[1.0, -5.0, 2.0, 3.0, 9.0, 4.0, -6.0, 0.0]), sum()).unwrap();
    let second = b.reduce(filled(&b, &[1.0, -3.0, 1.0, 0.0, 8.0, 2.0, -1.0, 0.0]), sum()).unwrap();
    let ((result, info), _) = (end(first), end(second));
    assert_eq!((result[4], info.entries), (17.0, 2));
    let owed_to = |session: &pace::Session| {
        end(session.residual_save(filled(session, &[7.0; 8]), CallOptions::default()).unwrap()).0
    };
    let (owed_a, owed_b) = (owed_to(&a), owed_to(&b));
    let given: Vec<f32> = (0..8).map(|index| result[index] + owed_a[index] + owed_b[index]).collect();
    assert_eq!(given, [2.0, -8.0, 3.0, 3.0, 17.0, 6.0, -7.0, 0.0]);
    let twice: Vec<f32> = owed_a.iter().map(|number| 2.0 * number).collect();
    end(a.residual_load(owed_a, CallOptions::default()).unwrap());
    assert_eq!(owed_to(&a)[..], twice[..]);
}

#[test]
fn a_reduce_gives_the_sum_where_it_is_asked_for() {
    let (a, b) = reducing_pair();
    let sum = || ReduceOptions { op: Op::Sum, ..ReduceOptions::at(7) };
    let first = a.reduce(filled(&a, &[1.0]), sum()).unwrap();
    end(b.reduce(filled(&b, &[3.0]), sum()).unwrap());
    let (result, info) = end(first);
    assert_eq!((result[0], info.iteration, info.divisor), (4.0, 7, 1.0));
}
