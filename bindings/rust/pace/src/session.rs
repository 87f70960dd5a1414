//! Session: this process as one worker of a job.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::unix::io::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::buffer::Buffer;
use crate::element::Element;
use crate::ends::{EndRoom, Outcome};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::handle::{lock, Handle};
use crate::info::SessionInfo;
use crate::memory::Memory;
use crate::request::{milliseconds, RequestId};
use crate::scope::{self, Scope};
use crate::session_builder::SessionBuilder;
use crate::status::Status;
use crate::verbs::Verbs;
use crate::watcher::descriptor;

/// A worker's membership in a job. Its verbs are those of [`Verbs`]: `session.average(model, AverageOptions::at(step))`.
///
/// A session that is dropped is freed: its job goes on without it, as if the worker had died, and keeps what a worker that
/// returns would need. [`leave`](Session::leave) ends the membership in order. Buffers keep their elements after both; a
/// request in flight never ends then, and keeps its buffers.
///
/// Threads: any; calls on one session are serialized inside. A forked child must not use it, and is told so (`Invalid`).
pub struct Session {
    verbs: Verbs<'static>,
}

impl Session {
    pub(crate) fn new(pointer: *mut pace_sys::pace_session) -> Session {
        let handle = Arc::new(Handle::new(pointer));
        let keeper = handle.keeper.clone();
        Session { verbs: Verbs { handle, keeper, is_scope: false, is_over: false, lifetime: PhantomData } }
    }

    /// How to join a job of this name: letters, digits, '.', '_' and '-', 1 to 63 of them. `policy`: its word,
    /// `"partial-reduce"`.
    pub fn builder(job: &str, policy: &str) -> SessionBuilder {
        SessionBuilder::new(job, policy)
    }

    /// What the session tells of itself. Does not block.
    pub fn info(&self) -> Result<SessionInfo> {
        let mut raw = pace_sys::PACE_SESSION_INFO_INIT;
        self.verbs
            .handle
            .call(|session, error| unsafe { pace_sys::pace_session_get_info(session, &mut raw, error) })?;
        Ok(SessionInfo::from_raw(&raw))
    }

    /// Leaves the job: the others go on without this worker at once, and its rank is free. The session is over, whatever this
    /// gives: every other call fails with `Closed`.
    ///
    /// Blocks for the daemon's answer, at most for the timeout; None waits without limit. Fails with `Timeout` (the daemon has
    /// been told), `DaemonGone` (it cannot be told: the worker counts as one that died), `Closed` (it has left before), and
    /// `Invalid` while a scope is open, which alone changes nothing.
    pub fn leave(&self, timeout: impl Into<Option<Duration>>) -> Result<()> {
        let timeout_ms = timeout.into().map_or(i64::from(pace_sys::PACE_FOREVER), milliseconds);
        self.verbs.handle.leave(timeout_ms)
    }

    /// A buffer of `count` elements in memory that the daemon shares, zeroed. If an earlier process
    /// of this rank died on this node, the buffer has that process's contents:
    /// [`BufferInfo::is_restored`](crate::BufferInfo).
    ///
    /// Blocks for one exchange with the daemon; if the session lost it, until it has reconnected. Fails with `Invalid` (a count
    /// of 0), `Limit` (the daemon's quota), `Memory`, and, where it had to reconnect, as [`SessionBuilder::open`].
    pub fn buffer<T: Element>(&self, count: usize) -> Result<Buffer<T>> {
        let memory = Memory::new(&self.verbs.handle, T::TYPE, count, &pace_sys::PACE_BUFFER_OPTIONS_INIT)?;
        Ok(Buffer::new(memory))
    }

    /// A buffer in memory of this process, a `Vec` or a boxed slice, which is copied at calls and when a request is collected.
    /// [`Buffer::into_boxed_slice`] gives it back, and so does the failure.
    ///
    /// Blocks and fails as [`buffer`](Session::buffer).
    pub fn import<T: Element>(
        &self,
        elements: impl Into<Box<[T]>>,
    ) -> std::result::Result<Buffer<T>, Failure<Box<[T]>>> {
        match Memory::import(&self.verbs.handle, elements.into()) {
            Ok(memory) => Ok(Buffer::new(memory)),
            Err((error, elements)) => Err(Failure::refused(error, elements)),
        }
    }

    /// A buffer in the memory of a descriptor, without copies: one of [`memfd`](crate::memfd()). The descriptor is duplicated.
    ///
    /// Blocks and fails as [`buffer`](Session::buffer); also with `Invalid` when the descriptor cannot be shared, or has another
    /// size.
    ///
    /// # Safety
    /// Nobody maps, reads or writes the memory of the descriptor otherwise, while the buffer or a request that has it is there.
    pub unsafe fn import_fd<T: Element>(&self, fd: BorrowedFd<'_>, count: usize) -> Result<Buffer<T>> {
        let options = pace_sys::pace_buffer_options {
            source: pace_sys::PACE_FD as i32,
            fd: fd.as_raw_fd(),
            ..pace_sys::PACE_BUFFER_OPTIONS_INIT
        };
        Ok(Buffer::new(Memory::new(&self.verbs.handle, T::TYPE, count, &options)?))
    }

    /// Runs `function` with verbs that take borrowed buffers, `scope.average(&mut model, ...)`. A request gives its borrow back
    /// when it has ended. Requests that are still in flight at the end, also leaked ones, are canceled and waited for. An average
    /// in a scope has neither an order nor `keep_local`.
    ///
    /// Blocks as `function` does, and at the end until all of its requests have ended. While a scope is open, the session cannot
    /// leave.
    pub fn scope<'env, F, R>(&'env self, function: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        scope::run(&self.verbs.handle, function)
    }

    /// Tells those who watch (`pacectl status`, its metrics) how the training goes. Nothing that
    /// Pace does depends on it. It may be called at each step. If there are several calls within a
    /// tenth of a second, only the first is told.
    ///
    /// Does not block. Fails with `Invalid` when nothing is given, or a rate or a total that is not above 0.
    pub fn report(&self, progress: &Progress) -> Result<()> {
        let given = |is_given: bool, flag: u32| if is_given { flag } else { 0 };
        let raw = pace_sys::pace_progress {
            flags: given(progress.loss.is_some(), pace_sys::PACE_PROGRESS_LOSS)
                | given(progress.samples_per_s.is_some(), pace_sys::PACE_PROGRESS_RATE)
                | given(progress.steps.is_some(), pace_sys::PACE_PROGRESS_STEPS),
            loss: progress.loss.unwrap_or(0.0),
            samples_per_s: progress.samples_per_s.unwrap_or(0.0),
            steps_done: progress.steps.unwrap_or((0, 0)).0,
            steps_total: progress.steps.unwrap_or((0, 0)).1,
            ..pace_sys::PACE_PROGRESS_INIT
        };
        self.verbs.handle.call(|session, error| unsafe { pace_sys::pace_session_report(session, &raw, error) })
    }

    /// Waits for the session's request that ends first, and tells which one it is: `wait` and
    /// `test` of that request give its end at once. None waits without limit.
    ///
    /// Blocks at most for the timeout. Fails with `Timeout`, with `NotFound`, at once, when no request is in flight or waits to
    /// be collected, with `Closed` when the session has left, and with `Invalid` while an average with an order or with
    /// `keep_local` is there: its trainer may touch what this would write.
    pub fn next(&self, timeout: impl Into<Option<Duration>>) -> Result<RequestId> {
        self.first_of(None, timeout.into())
    }

    /// As [`next`](Session::next), of these requests alone: 1 to 64 of this session that are in flight, or whose end an earlier
    /// call has found. Others stay as they are.
    ///
    /// Fails also with `Handle` when one of them has been waited for, and with `Invalid` when there are none, or too many.
    pub fn wait_any(&self, requests: &[RequestId], timeout: impl Into<Option<Duration>>) -> Result<RequestId> {
        if let Some(found) = requests.iter().find(|request| lock(&self.verbs.handle.ends).has(request.0)) {
            return Ok(*found);
        }
        self.first_of(Some(requests), timeout.into())
    }

    fn first_of(&self, wanted: Option<&[RequestId]>, timeout: Option<Duration>) -> Result<RequestId> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let handle = &self.verbs.handle;
        let _next = Next::begin(handle)?;
        loop {
            let timeout_ms = match end {
                Some(end) => milliseconds(end.saturating_duration_since(Instant::now())),
                None => i64::from(pace_sys::PACE_FOREVER),
            };
            match next_once(handle, wanted, timeout_ms) {
                // One that was dropped: nobody asks for its end.
                Ok(request) if handle.keeper.is_dropped(request.0) => {
                    lock(&handle.ends).take(request.0);
                    handle.keeper.forget(request.0);
                }
                Err(error) if error.status == Status::Interrupted && timeout_ms != 0 => {}
                Err(mut error) if error.status == Status::Interrupted => {
                    error.status = Status::Timeout;
                    return Err(error);
                }
                other => return other,
            }
        }
    }
}

fn next_once(handle: &Handle, wanted: Option<&[RequestId]>, timeout_ms: i64) -> Result<RequestId> {
    let call = handle.enter()?;
    let mut room = EndRoom::new();
    let options = room.options(0);
    let mut request = pace_sys::pace_request { session: 0, id: 0 };
    let (info, error) = (&mut room.info as *mut _, room.error.pointer());
    let session = call.pointer();
    // SAFETY: what the arguments point to is in `room` and here, which outlive the call.
    let status = match wanted {
        None => unsafe { pace_sys::pace_session_next(session, timeout_ms, &options, &mut request, info, error) },
        Some(wanted) => {
            let raw: Vec<_> = wanted.iter().map(|request| handle.raw_request(request.0)).collect();
            let (first, count) = (raw.as_ptr(), raw.len());
            unsafe {
                pace_sys::pace_request_wait_any(session, first, count, timeout_ms, &options, &mut request, info, error)
            }
        }
    };
    match room.outcome(status) {
        Outcome::InFlight(error) => Err(error),
        Outcome::Ended(end) => {
            handle.put_end(request.id, end);
            Ok(RequestId(request.id))
        }
    }
}

/// How the training goes, as its trainer sees it. What is `None` is not told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Of the latest step, or a mean over some.
    pub loss: Option<f64>,
    /// How many samples this worker trains on in a second. Above 0.
    pub samples_per_s: Option<f64>,
    /// How many steps the training has made, and is to make in all. The total is above 0.
    pub steps: Option<(u64, u64)>,
}

/// A call of `next` that runs. No average whose buffers may be written can be begun meanwhile.
struct Next<'a> {
    handle: &'a Handle,
}

impl Next<'_> {
    fn begin(handle: &Handle) -> Result<Next<'_>> {
        let mut ends = lock(&handle.ends);
        if ends.writable > 0 {
            let message =
                "next: an average with an order or keep_local is there, whose buffers its trainer may touch; wait for \
                           each request instead";
            return Err(Error::invalid("session", message));
        }
        ends.nexts += 1;
        drop(ends);
        Ok(Next { handle })
    }
}

impl Drop for Next<'_> {
    fn drop(&mut self) {
        lock(&self.handle.ends).nexts -= 1;
        self.handle.ends_changed.notify_all();
    }
}

impl Deref for Session {
    type Target = Verbs<'static>;

    fn deref(&self) -> &Verbs<'static> {
        &self.verbs
    }
}

/// A descriptor that polls readable while ended requests wait to be collected, or the daemon is gone. The session's own: do not
/// read, write or close it. It is -1 when this process has none left.
impl AsRawFd for Session {
    fn as_raw_fd(&self) -> RawFd {
        descriptor(&self.verbs.handle).unwrap_or(-1)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.verbs.handle.close();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("info", &self.info()).finish()
    }
}
