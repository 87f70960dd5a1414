//! What the tests share. Each session has the daemon of this process, in a job of its own.

#![allow(dead_code)]

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pace::{AverageOptions, Buffer, Failure, Info, Request, Session, SessionBuilder};

/// Longer than anything here takes; a test that hangs fails.
pub const SOON: Duration = Duration::from_secs(30);

static JOBS: AtomicU32 = AtomicU32::new(0);

/// A name that no other test has.
pub fn new_job() -> String {
    format!("test-{}-{}", process::id(), JOBS.fetch_add(1, Ordering::Relaxed))
}

pub fn builder(job: &str, policy: &str, rank: u32, world: u32) -> SessionBuilder {
    Session::builder(job, policy).endpoint("embedded:").rank(rank).world(world)
}

/// A session in a job of one worker.
pub fn alone(policy: &str) -> Session {
    builder(&new_job(), policy, 0, 1).open().unwrap()
}

/// Two workers of one job, whose gradients are reduced.
pub fn reducing_pair() -> (Session, Session) {
    let job = new_job();
    let open = |rank| builder(&job, "all-reduce", rank, 2).open().unwrap();
    (open(0), open(1))
}

/// Two workers of one job, whose parameters are averaged.
pub fn averaging_pair() -> (Session, Session) {
    let job = new_job();
    let open = |rank| builder(&job, "partial-reduce", rank, 2).option("group.size", 2).open().unwrap();
    (open(0), open(1))
}

/// A buffer with these elements.
pub fn filled(session: &Session, elements: &[f32]) -> Buffer<f32> {
    let mut buffer = session.buffer(elements.len()).unwrap();
    buffer.copy_from_slice(elements);
    buffer
}

/// Waits for a request, which should end well.
pub fn end<B: Send>(request: Request<B>) -> (B, Info) {
    match request.wait_timeout(SOON) {
        Ok(ended) => ended,
        Err(failure) => panic!("{failure:?}"),
    }
}

/// Why a request that should not end well did not.
pub fn failure<B: Send>(request: Request<B>) -> Failure<B> {
    match request.wait_timeout(SOON) {
        Ok(_) => panic!("the request has ended well"),
        Err(failure) => failure,
    }
}

pub fn at(iteration: u64) -> AverageOptions {
    AverageOptions::at(iteration)
}
