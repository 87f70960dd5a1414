//! Requests as futures, without a runtime.

mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use pace::{CallOptions, ReduceOptions, Session, Status};
use support::*;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs one task on this thread. Fails when nothing wakes it for long.
fn block_on<F: Future>(task: F) -> F::Output {
    let mut task = Box::pin(task);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let before = std::time::Instant::now();
        thread::park_timeout(SOON);
        assert!(before.elapsed() < SOON, "nothing has woken the task");
    }
}

/// Two tasks, one beside the other.
struct Both<A: Future, B: Future> {
    first: Result<A::Output, Pin<Box<A>>>,
    second: Result<B::Output, Pin<Box<B>>>,
}

impl<A: Future, B: Future> Unpin for Both<A, B> {}

impl<A: Future, B: Future> Future for Both<A, B>
where
    A::Output: Clone,
    B::Output: Clone,
{
    type Output = (A::Output, B::Output);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        advance(&mut self.first, context);
        advance(&mut self.second, context);
        match (&self.first, &self.second) {
            (Ok(first), Ok(second)) => Poll::Ready((first.clone(), second.clone())),
            _ => Poll::Pending,
        }
    }
}

fn advance<F: Future>(task: &mut Result<F::Output, Pin<Box<F>>>, context: &mut Context<'_>) {
    if let Err(future) = task {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            *task = Ok(output);
        }
    }
}

async fn steps(session: &Session, number: f32) -> Result<f32, pace::Error> {
    let mut gradient = filled(session, &[number]);
    for step in 0..20 {
        (gradient, _) = session.reduce(gradient, ReduceOptions::at(step)).unwrap().await?;
        gradient[0] += number;
    }
    Ok(gradient[0])
}

#[test]
fn two_tasks_of_one_thread_reduce_with_each_other() {
    let (a, b) = reducing_pair();
    let (first, second) =
        block_on(Both { first: Err(Box::pin(steps(&a, 1.0))), second: Err(Box::pin(steps(&b, 3.0))) });
    assert_eq!(first.unwrap() + 2.0, second.unwrap());
}

#[test]
fn a_task_is_woken_beside_a_request_that_nobody_collects() {
    let (a, b) = reducing_pair();
    let uncollected = a.barrier(CallOptions::default()).unwrap();
    end(b.barrier(CallOptions::default()).unwrap());
    let request = a.barrier(CallOptions { user_data: 5 }).unwrap();
    let other = thread::spawn(move || end(b.barrier(CallOptions::default()).unwrap()).1);
    assert_eq!(block_on(request).unwrap().1.user_data, 5);
    other.join().unwrap();
    end(uncollected);
}

#[test]
fn a_task_is_told_how_its_request_ended() {
    let (a, _b) = averaging_pair();
    let request = a.average(filled(&a, &[1.0]), at(1)).unwrap();
    let canceler = request.canceler();
    let waiting = thread::spawn(move || block_on(request).unwrap_err());
    canceler.cancel().unwrap();
    let failure = waiting.join().unwrap();
    assert_eq!(failure.status(), Status::Canceled);
    assert_eq!(failure.into_buffers().unwrap()[..], [1.0]);
}

#[test]
fn a_task_is_woken_when_its_session_is_dropped() {
    let (a, _b) = averaging_pair();
    let request = a.average(filled(&a, &[1.0]), at(1)).unwrap();
    let waiting = thread::spawn(move || block_on(request).unwrap_err().status());
    drop(a);
    assert_eq!(waiting.join().unwrap(), Status::Closed);
}

#[test]
fn a_task_is_woken_by_an_end_that_next_has_collected() {
    let (a, b) = reducing_pair();
    for _ in 0..20 {
        let request = a.barrier(CallOptions::default()).unwrap();
        thread::scope(|threads| {
            let waiting = threads.spawn(|| block_on(request).unwrap().1.member_count);
            end(b.barrier(CallOptions::default()).unwrap());
            let found = a.next(SOON);
            assert!(found.is_ok() || found.unwrap_err().status == Status::NotFound);
            assert_eq!(waiting.join().unwrap(), 2);
        });
    }
}
