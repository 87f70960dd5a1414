//! Request: a verb in flight, with its buffers.

use std::fmt;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::buffers::Part;
use crate::element::Element;
use crate::ends::{End, Outcome};
use crate::error::{Error, Result};
use crate::failure::{Failure, Left};
use crate::handle::Handle;
use crate::info::Info;
use crate::keeper::Keeper;
use crate::status::Status;
use crate::writable::Writable;

/// Which request it is, among those of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) u64);

/// A verb in flight. It has its buffers, and gives them back when it has ended.
///
/// Every request ends once, also when the daemon dies. [`wait`](Request::wait) blocks until then; `request.await` does not.
/// A request that is dropped goes on: the session keeps its buffers until it has ended. So does one that is leaked, with
/// buffers that nobody can reach.
///
/// Threads: any.
#[must_use = "a request has its buffers until it is waited for"]
pub struct Request<B: Send> {
    /// None: it has ended, and its buffers are given back.
    pub(crate) flight: Option<Box<Flight<B>>>,
}

pub(crate) struct Flight<B> {
    pub(crate) handle: Arc<Handle>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) raw: pace_sys::pace_request,
    pub(crate) buffers: B,
    pub(crate) parts: Vec<Part>,
    pub(crate) writable: Option<Writable>,
    pub(crate) local_iteration: u64,
}

/// The end of a request that ended well, or why it did not.
pub(crate) type Ended<B> = std::result::Result<(B, Info), Failure<B>>;

impl<B: Send> Request<B> {
    /// Waits until the request has ended. Gives the buffers back, with what the exchange was.
    ///
    /// Fails as the request ended: `Stale`, `Aborted`, `Canceled`, `DaemonGone`, `Refused`, `Mismatch`, or another fault; the
    /// failure has the buffers. Fails also with `Closed` when the session is dropped, or leaves its job, meanwhile; the failure
    /// has the request then, which keeps its buffers for ever.
    ///
    /// Blocks until the request has ended.
    pub fn wait(self) -> std::result::Result<(B, Info), Failure<B>> {
        self.wait_until(None)
    }

    /// As [`wait`](Request::wait), and fails with `Timeout` when the time has passed. The failure has the request, which is in
    /// flight. A time of zero looks once.
    pub fn wait_timeout(self, timeout: Duration) -> std::result::Result<(B, Info), Failure<B>> {
        self.wait_until(Instant::now().checked_add(timeout))
    }

    /// As [`wait`](Request::wait), and fails with `Interrupted` when this thread has handled a signal, and twice a second
    /// besides, so that the caller can look. With a time, also as [`wait_timeout`](Request::wait_timeout).
    pub fn wait_interruptible(self, timeout: Option<Duration>) -> std::result::Result<(B, Info), Failure<B>> {
        let timeout_ms = timeout.map_or(i64::from(pace_sys::PACE_FOREVER), milliseconds);
        let outcome = self.collect(timeout_ms);
        self.settle(outcome)
    }

    /// Looks whether the request has ended. Fails with `Pending` when it has not. Does not block, but for adding an average with
    /// `keep_local`, or copying imported memory.
    pub fn test(self) -> std::result::Result<(B, Info), Failure<B>> {
        match self.collect(0) {
            Outcome::InFlight(mut error) if is_unended(error.status) => {
                error.status = Status::Pending;
                self.settle(Outcome::InFlight(error))
            }
            outcome => self.settle(outcome),
        }
    }

    /// Which request it is: what [`Session::next`](crate::Session::next) gives.
    pub fn id(&self) -> RequestId {
        RequestId(self.flight().raw.id)
    }

    /// Asks that the request end as `Canceled`. A request that is in an exchange already ends in
    /// the ordinary way: wait for it in either case. Does not block. Fails with `DaemonGone`, and
    /// with `Limit` when the daemon does not read: try again.
    pub fn cancel(&self) -> Result<()> {
        self.canceler().cancel()
    }

    /// What cancels this request from elsewhere, while it is waited for.
    pub fn canceler(&self) -> Canceler {
        let flight = self.flight();
        Canceler { handle: flight.handle.clone(), raw: flight.raw }
    }

    /// For an average with an order: the first, or last, `elements` of its buffers are ready. They cannot be written any more.
    /// Their exchange begins at once. Fewer than were said before change nothing.
    ///
    /// Does not block. Fails with `Invalid` (more elements than there are; the call had no order), and with `Limit` when the
    /// daemon has not taken the last 64 calls: say it again.
    pub fn ready(&mut self, elements: u64) -> Result<()> {
        let flight = self.flight_mut();
        let raw = flight.raw;
        flight.handle.call(|session, error| unsafe { pace_sys::pace_request_ready(session, raw, elements, error) })?;
        if let Some(writable) = &mut flight.writable {
            writable.ready(elements);
        }
        Ok(())
    }

    /// For an average with `keep_local`: the iteration that the worker has come to. The wait that collects the request tells it.
    pub fn set_local_iteration(&mut self, iteration: u64) {
        self.flight_mut().local_iteration = iteration;
    }

    /// The elements of the buffer at `index`, of those that the verb was given, which the trainer may touch while the request is
    /// in flight: all for an average with `keep_local`, with an order those that are not ready, else none.
    ///
    /// None: there is no such buffer, or it is of another type.
    pub fn elements_mut<T: Element>(&mut self, index: usize) -> Option<&mut [T]> {
        let flight = self.flight_mut();
        let before: u64 = flight.parts.iter().take(index).map(|part| part.slice.count).sum();
        let part = flight.parts.get(index).filter(|part| part.kind == T::TYPE)?;
        let range = match &flight.writable {
            Some(writable) => writable.within(before, part.slice.count),
            None => 0..0,
        };
        debug_assert!(range.end <= part.count());
        // SAFETY: the request has the buffers. The daemon reads a copy of these elements, or does
        // not touch them until they are ready. Both `ready` and the collection of the request need
        // it as mutable, since `next` refuses to collect such a request.
        Some(unsafe { slice::from_raw_parts_mut(part.pointer.cast::<T>().add(range.start), range.len()) })
    }

    fn wait_until(self, end: Option<Instant>) -> Ended<B> {
        loop {
            let timeout_ms = match end {
                Some(end) => milliseconds(end.saturating_duration_since(Instant::now())),
                None => i64::from(pace_sys::PACE_FOREVER),
            };
            match self.collect(timeout_ms) {
                // Twice a second the library lets the wait look whether the session is there.
                Outcome::InFlight(error) if is_unended(error.status) && timeout_ms != 0 => {}
                Outcome::InFlight(mut error) if is_unended(error.status) => {
                    error.status = Status::Timeout;
                    return self.settle(Outcome::InFlight(error));
                }
                outcome => return self.settle(outcome),
            }
        }
    }

    pub(crate) fn collect(&self, timeout_ms: i64) -> Outcome {
        let flight = self.flight();
        flight.handle.collect(flight.raw, timeout_ms, flight.local_iteration)
    }

    /// Gives the buffers back, when the request has ended.
    pub(crate) fn settle(mut self, outcome: Outcome) -> Ended<B> {
        let End { info, error } = match outcome {
            Outcome::Ended(end) => end,
            Outcome::InFlight(error) => return Err(Failure { error, info: None, left: Left::InFlight(self) }),
        };
        let flight = self.flight.take().expect(GONE);
        flight.keeper.forget(flight.raw.id);
        if !Arc::ptr_eq(&flight.keeper, &flight.handle.keeper) {
            // The end of its scope may wait until it is settled.
            flight.handle.tell_settled();
        }
        match error {
            None => Ok((flight.buffers, info)),
            Some(error) => Err(Failure { error, info: Some(Box::new(info)), left: Left::Buffers(flight.buffers) }),
        }
    }

    pub(crate) fn flight(&self) -> &Flight<B> {
        self.flight.as_ref().expect(GONE)
    }

    fn flight_mut(&mut self) -> &mut Flight<B> {
        self.flight.as_mut().expect(GONE)
    }
}

const GONE: &str = "the request has ended and given its buffers back; a future is not polled again after that";

impl<B: Send> Drop for Request<B> {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            let Flight { handle, keeper, raw, buffers, writable, .. } = *flight;
            drop(writable);
            handle.watcher.remove(raw.id);
            // SAFETY: what the buffers borrow lives as long as the scope that the request was begun in, which ends all of its
            // requests, and then lets go of the buffers. A session takes only buffers that borrow nothing.
            unsafe { keeper.keep(raw.id, Box::new(buffers)) };
        }
    }
}

impl<B: Send> fmt::Debug for Request<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.flight {
            Some(flight) => write!(formatter, "Request({} in flight)", flight.raw.id),
            None => write!(formatter, "Request(ended)"),
        }
    }
}

/// Cancels a request that another thread or task waits for. Threads: any.
#[derive(Clone)]
pub struct Canceler {
    handle: Arc<Handle>,
    raw: pace_sys::pace_request,
}

impl Canceler {
    /// As [`Request::cancel`]. Does nothing to a request that has been collected.
    pub fn cancel(&self) -> Result<()> {
        let raw = self.raw;
        let canceled = self.handle.call(|session, error| unsafe { pace_sys::pace_request_cancel(session, raw, error) });
        match canceled {
            Err(Error { status: Status::Handle, .. }) => Ok(()),
            other => other,
        }
    }
}

impl fmt::Debug for Canceler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Canceler({})", self.raw.id)
    }
}

/// A time in the words of the library: whole milliseconds, rounded up.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    let rounded_up = time.as_nanos().saturating_add(999_999) / 1_000_000;
    // Some 146 million years: the library adds it to now.
    i64::try_from(rounded_up).unwrap_or(i64::MAX).min(1 << 52)
}

fn is_unended(status: Status) -> bool {
    matches!(status, Status::Timeout | Status::Interrupted | Status::Pending)
}
