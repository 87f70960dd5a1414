//! Keeper: the buffers of requests that were dropped in flight, until those requests have ended.

use std::collections::HashMap;
use std::mem;
use std::sync::Mutex;

use crate::ends::{Ends, Outcome};
use crate::handle::{lock, Handle};
use crate::status::Status;

/// Anything that a request owns. It is only ever dropped.
pub(crate) trait Kept: Send {}
impl<T: Send> Kept for T {}

struct Begun {
    request: pace_sys::pace_request,
    /// What a dropped request has left; None while the request is there, or is leaked.
    left: Option<Box<dyn Kept>>,
}

/// The requests that were begun through a session or a scope and are not collected.
#[derive(Default)]
pub(crate) struct Keeper {
    begun: Mutex<HashMap<u64, Begun>>,
}

impl Keeper {
    pub(crate) fn begin(&self, request: pace_sys::pace_request) {
        lock(&self.begun).insert(request.id, Begun { request, left: None });
    }

    /// The request has been collected: nothing need be kept for it. True: it had been dropped before.
    pub(crate) fn forget(&self, id: u64) -> bool {
        let forgotten = lock(&self.begun).remove(&id);
        forgotten.map_or(false, |begun| begun.left.is_some())
    }

    /// Keeps what a request owns, which is dropped in flight.
    ///
    /// # Safety
    /// What `left` borrows lives until `forget`, `end_all` or `release_all` has let go of it.
    pub(crate) unsafe fn keep<'a>(&self, id: u64, left: Box<dyn Kept + 'a>) {
        // SAFETY: the two types differ in the lifetime alone, which the caller answers for.
        let left: Box<dyn Kept + 'static> = unsafe { mem::transmute(left) };
        if let Some(begun) = lock(&self.begun).get_mut(&id) {
            begun.left = Some(left);
        }
    }

    /// Collects requests that were dropped and have ended meanwhile. Does not block.
    pub(crate) fn sweep(&self, handle: &Handle) {
        // A thread of the parent, which a forked child has not, may hold the lock for ever.
        if !handle.is_ours() {
            return;
        }
        for request in self.dropped() {
            if let Outcome::Ended(_) = handle.collect(request, 0, 0) {
                self.forget(request.id);
            }
        }
    }

    /// Cancels all requests and waits until they have ended. Blocks until then.
    pub(crate) fn end_all(&self, handle: &Handle) {
        let begun: Vec<_> = lock(&self.begun).values().map(|begun| begun.request).collect();
        if begun.is_empty() {
            return;
        }
        for &request in &begun {
            // Whichever cannot be canceled ends by itself.
            let _ = handle.call(|session, error| unsafe { pace_sys::pace_request_cancel(session, request, error) });
        }
        let _ending = Ending::begin(handle);
        for &request in &begun {
            let outcome = self.end_of(handle, request);
            if self.forget(request.id) {
                continue;
            }
            if let Outcome::Ended(end) = outcome {
                // The request was leaked; or it owns its buffers and was carried out of the scope,
                // where a wait may follow.
                handle.put_end(request.id, end);
            }
        }
    }

    /// Lets go of everything. The session is freed, so that nothing touches the buffers any more.
    pub(crate) fn release_all(&self) {
        let released = mem::take(&mut *lock(&self.begun));
        drop(released);
    }

    /// Whether this request was dropped in flight, and is not collected.
    pub(crate) fn is_dropped(&self, id: u64) -> bool {
        lock(&self.begun).get(&id).map_or(false, |begun| begun.left.is_some())
    }

    /// Waits until nothing touches the request's buffers any more.
    fn end_of(&self, handle: &Handle, request: pace_sys::pace_request) -> Outcome {
        // `next` may have collected it and still copy its result. Whoever has carried it out of the scope has settled it before.
        let is_awaited = |ends: &Ends| ends.nexts > 0 && lock(&self.begun).contains_key(&request.id);
        loop {
            let outcome = handle.collect_while(request, i64::from(pace_sys::PACE_FOREVER), 0, &is_awaited);
            let is_over = match &outcome {
                Outcome::Ended(_) => true,
                // It is collected; or this is a forked child, which may not wait.
                Outcome::InFlight(error) => matches!(error.status, Status::Handle | Status::Invalid | Status::Closed),
            };
            if is_over {
                return outcome;
            }
        }
    }

    fn dropped(&self) -> Vec<pace_sys::pace_request> {
        let begun = lock(&self.begun);
        begun.values().filter(|begun| begun.left.is_some()).map(|begun| begun.request).collect()
    }
}

/// A scope that ends its requests. A wait for one of them elsewhere gets the end.
struct Ending<'a> {
    handle: &'a Handle,
}

impl Ending<'_> {
    fn begin(handle: &Handle) -> Ending<'_> {
        lock(&handle.ends).scope_ends += 1;
        Ending { handle }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        lock(&self.handle.ends).scope_ends -= 1;
        self.handle.ends_changed.notify_all();
    }
}
