//! A request as a future. It needs no runtime: the session's watcher wakes its task.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::ends::Outcome;
use crate::failure::Failure;
use crate::info::Info;
use crate::request::Request;
use crate::status::Status;

impl<B: Send> Unpin for Request<B> {}

/// Gives what [`Request::wait`] gives, without blocking. A future that is dropped is a request that is dropped: it goes on.
impl<B: Send> Future for Request<B> {
    type Output = Result<(B, Info), Failure<B>>;

    /// Panics when it is called again after the request has ended.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut outcome = this.collect(0);
        if is_unended(&outcome) {
            let flight = this.flight();
            outcome = match flight.handle.watcher.add(&flight.handle, flight.raw.id, context.waker()) {
                // `next` may have collected it in between, and then the descriptor does not tell of it.
                Ok(()) => this.collect(0),
                Err(error) => Outcome::InFlight(error),
            };
        }
        if is_unended(&outcome) {
            return Poll::Pending;
        }
        let flight = this.flight();
        flight.handle.watcher.remove(flight.raw.id);
        let request = Request { flight: this.flight.take() };
        Poll::Ready(request.settle(outcome))
    }
}

fn is_unended(outcome: &Outcome) -> bool {
    outcome.has_status(Status::Timeout) || outcome.has_status(Status::Interrupted)
}
