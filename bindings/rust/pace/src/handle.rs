//! Handle: the library's session, freed when its `Session` is dropped and never while a call on it runs.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::ends::{End, EndRoom, Ends, Outcome};
use crate::error::{Error, ErrorRoom, Result};
use crate::keeper::Keeper;
use crate::status::Status;
use crate::watcher::Watcher;

/// What a `Session`, its buffers and its requests share.
pub(crate) struct Handle {
    pointer: *mut pace_sys::pace_session,
    pid: u32,
    /// What the requests of this session have in common; 0 before the first one.
    stamp: AtomicU64,
    use_of: Mutex<Use>,
    pub(crate) ends: Mutex<Ends>,
    /// An end has been put down, a call that collects others' requests has returned, or a request of a scope is settled.
    pub(crate) ends_changed: Condvar,
    /// What requests that are in flight and dropped have left.
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) watcher: Watcher,
}

// SAFETY: the library lets any thread use a session, and serializes calls inside.
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

#[derive(Default)]
struct Use {
    calls: usize,
    scopes: usize,
    is_closed: bool,
    is_freed: bool,
    has_left: bool,
}

/// A call that runs. The session is not freed before it is dropped.
pub(crate) struct Call<'a> {
    handle: &'a Handle,
    is_counted: bool,
}

impl Handle {
    /// Takes over a session that the library has opened.
    pub(crate) fn new(pointer: *mut pace_sys::pace_session) -> Handle {
        Handle {
            pointer,
            pid: process::id(),
            stamp: AtomicU64::new(0),
            use_of: Mutex::default(),
            ends: Mutex::default(),
            ends_changed: Condvar::new(),
            keeper: Arc::default(),
            watcher: Watcher::default(),
        }
    }

    /// Whether this is the process that opened the session, and not a forked child of it.
    pub(crate) fn is_ours(&self) -> bool {
        process::id() == self.pid
    }

    /// Tells of a request that has begun.
    pub(crate) fn learn_stamp(&self, request: pace_sys::pace_request) {
        self.stamp.store(request.session, Ordering::Relaxed);
    }

    /// The handle of a request of this session.
    pub(crate) fn raw_request(&self, id: u64) -> pace_sys::pace_request {
        pace_sys::pace_request { session: self.stamp.load(Ordering::Relaxed), id }
    }

    /// Begins a call. Fails with `Closed` when the session has been dropped.
    pub(crate) fn enter(&self) -> Result<Call<'_>> {
        // In a forked child the library refuses by itself. The lock is not taken: a thread of the
        // parent may have held it at the fork.
        let is_counted = self.is_ours();
        if is_counted {
            let mut in_use = lock(&self.use_of);
            if in_use.is_closed {
                return Err(Error::closed());
            }
            in_use.calls += 1;
        }
        Ok(Call { handle: self, is_counted })
    }

    /// Makes a call of the library that returns a status.
    pub(crate) fn call(
        &self,
        function: impl FnOnce(*mut pace_sys::pace_session, *mut pace_sys::pace_error) -> i32,
    ) -> Result<()> {
        let call = self.enter()?;
        let mut error = ErrorRoom::new();
        let status = function(call.pointer(), error.pointer());
        error.check(status)
    }

    /// Frees the session, when the last call on it that runs has returned.
    pub(crate) fn close(&self) {
        if !self.is_ours() {
            return;
        }
        lock(&self.use_of).is_closed = true;
        self.watcher.stop();
        self.free_if_unused();
    }

    fn free_if_unused(&self) {
        let mut in_use = lock(&self.use_of);
        if !in_use.is_closed || in_use.calls > 0 || in_use.is_freed {
            return;
        }
        in_use.is_freed = true;
        drop(in_use);
        // SAFETY: no call runs, none can begin, and nobody else has come here.
        unsafe { pace_sys::pace_session_free(self.pointer) };
        self.keeper.release_all();
    }

    /// Leaves the job. The session is over afterwards, unless a scope is open.
    pub(crate) fn leave(&self, timeout_ms: i64) -> Result<()> {
        if self.is_ours() {
            let mut in_use = lock(&self.use_of);
            if in_use.scopes > 0 {
                let message = "session: a scope is open, whose requests must end first; leave after it";
                return Err(Error::invalid("session", message));
            }
            in_use.has_left = true;
        }
        self.call(|session, error| unsafe { pace_sys::pace_session_leave(session, timeout_ms, error) })
    }

    /// Begins a scope, in which the session cannot leave. False: it has left.
    pub(crate) fn open_scope(&self) -> bool {
        let mut in_use = lock(&self.use_of);
        in_use.scopes += usize::from(!in_use.has_left);
        !in_use.has_left
    }

    pub(crate) fn close_scope(&self) {
        lock(&self.use_of).scopes -= 1;
    }

    /// Waits for a request, at most about half a second where there is no limit, and collects it if it has ended.
    ///
    /// `next`, or the end of a scope, may collect it in between, and tells its end.
    pub(crate) fn collect(&self, request: pace_sys::pace_request, timeout_ms: i64, local_iteration: u64) -> Outcome {
        let is_awaited = |ends: &Ends| ends.nexts + ends.scope_ends > 0;
        self.collect_while(request, timeout_ms, local_iteration, &is_awaited)
    }

    /// As `collect`. Where another call has collected the request, waits for its end while `is_awaited`, which may change
    /// whenever `ends_changed` is notified.
    pub(crate) fn collect_while(
        &self,
        request: pace_sys::pace_request,
        timeout_ms: i64,
        local_iteration: u64,
        is_awaited: &dyn Fn(&Ends) -> bool,
    ) -> Outcome {
        if self.is_ours() {
            if let Some(end) = lock(&self.ends).take(request.id) {
                return Outcome::Ended(end);
            }
        }
        let outcome = self.wait_once(request, timeout_ms, local_iteration);
        if !outcome.has_status(Status::Handle) {
            return outcome;
        }
        match self.end_by_other(request.id, is_awaited) {
            Some(end) => Outcome::Ended(end),
            None => outcome,
        }
    }

    fn wait_once(&self, request: pace_sys::pace_request, timeout_ms: i64, local_iteration: u64) -> Outcome {
        let call = match self.enter() {
            Ok(call) => call,
            Err(error) => return Outcome::InFlight(error),
        };
        let mut room = EndRoom::new();
        let options = room.options(local_iteration);
        let (info, error) = (&mut room.info as *mut _, room.error.pointer());
        // SAFETY: what the options and the other arguments point to is in `room`, which outlives the call.
        let status = unsafe { pace_sys::pace_request_wait(call.pointer(), request, timeout_ms, &options, info, error) };
        room.outcome(status)
    }

    /// Puts an end down for its request, and wakes whoever waits for it.
    pub(crate) fn put_end(&self, id: u64, end: End) {
        lock(&self.ends).put(id, end);
        self.ends_changed.notify_all();
        self.watcher.wake(id);
    }

    /// A request of a scope has been settled.
    pub(crate) fn tell_settled(&self) {
        // Locked once: whoever has looked and found it unsettled waits by now.
        drop(lock(&self.ends));
        self.ends_changed.notify_all();
    }

    /// The end that another call has collected for this request, or is about to tell.
    fn end_by_other(&self, id: u64, is_awaited: &dyn Fn(&Ends) -> bool) -> Option<End> {
        let mut ends = lock(&self.ends);
        loop {
            let end = ends.take(id);
            if end.is_some() || !is_awaited(&ends) {
                return end;
            }
            ends = self.ends_changed.wait(ends).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Call<'_> {
    pub(crate) fn pointer(&self) -> *mut pace_sys::pace_session {
        self.handle.pointer
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            lock(&self.handle.use_of).calls -= 1;
            self.handle.free_if_unused();
        }
    }
}

/// Locks. A thread that panicked under one of the locks has left whole data behind: no update is more than one assignment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
