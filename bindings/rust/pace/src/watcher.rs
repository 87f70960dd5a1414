//! Watcher: one thread a session that wakes tasks, by the session's descriptor. It is started by the first task that waits.

use std::collections::HashMap;
use std::os::raw::c_int;
use std::os::unix::io::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::task::Waker;
use std::thread;

use crate::error::{Error, Result};
use crate::handle::{lock, Handle};
use crate::poll::wait_readable;
use crate::status::Status;

/// The time between looks at the requests while the descriptor is readable for one that no task waits
/// for.
const AGAIN_MS: c_int = 5;
const FOREVER: c_int = -1;

/// The tasks that wait for requests of one session.
#[derive(Default)]
pub(crate) struct Watcher {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    tasks: HashMap<u64, Waker>,
    /// Requests that tasks have collected.
    collected: u64,
    /// Hung up when the watcher stops. None: the thread is not started yet.
    alarm: Option<UnixStream>,
    is_stopped: bool,
}

impl Watcher {
    /// Has the task woken when this request may have ended. Fails with `Closed` when the session has been dropped.
    pub(crate) fn add(&self, handle: &Handle, id: u64, task: &Waker) -> Result<()> {
        let task = task.clone();
        // Dropped last: the end of a call may free the session, and with it the buffers of dropped
        // requests.
        let _call = handle.enter()?;
        let mut state = lock(&self.shared.state);
        if state.is_stopped {
            return Err(Error::closed());
        }
        if state.alarm.is_none() {
            state.alarm = Some(self.start(handle)?);
        }
        let is_first = state.tasks.is_empty();
        let replaced = state.tasks.insert(id, task);
        drop(state);
        drop(replaced);
        if is_first {
            self.shared.changed.notify_one();
        }
        Ok(())
    }

    /// A task has collected this request, or has given it up.
    pub(crate) fn remove(&self, id: u64) {
        let mut state = lock(&self.shared.state);
        state.collected += 1;
        let task = state.tasks.remove(&id);
        drop(state);
        drop(task);
    }

    /// Wakes the task that waits for this request, if there is one.
    pub(crate) fn wake(&self, id: u64) {
        let task = lock(&self.shared.state).tasks.remove(&id);
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Wakes all tasks, and ends the thread.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.shared.state);
        state.is_stopped = true;
        state.alarm = None;
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        self.shared.changed.notify_one();
        tasks.into_values().for_each(Waker::wake);
    }

    fn start(&self, handle: &Handle) -> Result<UnixStream> {
        let session = duplicate_of_descriptor(handle)?;
        let (ours, theirs) = UnixStream::pair().map_err(no_thread)?;
        let shared = self.shared.clone();
        thread::Builder::new()
            .name("pace-watcher".to_owned())
            .spawn(move || shared.watch(&session, &theirs))
            .map_err(no_thread)?;
        Ok(ours)
    }
}

impl Shared {
    fn watch(&self, session: &OwnedFd, alarm: &UnixStream) {
        let mut collected_before = None;
        while let Some(collected) = self.await_tasks() {
            // No request was collected since the last round: the descriptor would be readable again
            // at once.
            if collected_before == Some(collected) && wait_readable(&[alarm.as_raw_fd()], AGAIN_MS) {
                return;
            }
            collected_before = Some(collected);
            wait_readable(&[session.as_raw_fd(), alarm.as_raw_fd()], FOREVER);
            let tasks = std::mem::take(&mut lock(&self.state).tasks);
            tasks.into_values().for_each(Waker::wake);
        }
    }

    /// Waits until there is a task, and tells how many requests have been collected. None: the watcher has stopped.
    fn await_tasks(&self) -> Option<u64> {
        let mut state = lock(&self.state);
        while state.tasks.is_empty() && !state.is_stopped {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        (!state.is_stopped).then_some(state.collected)
    }
}

/// A descriptor of its own: the session may be freed while the thread still polls.
fn duplicate_of_descriptor(handle: &Handle) -> Result<OwnedFd> {
    let call = handle.enter()?;
    let fd = descriptor(handle)?;
    // SAFETY: the descriptor is open until the session is freed, which waits for `call`.
    let duplicate = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().map_err(no_thread);
    drop(call);
    duplicate
}

/// The session's descriptor.
pub(crate) fn descriptor(handle: &Handle) -> Result<c_int> {
    let mut fd = -1;
    handle.call(|session, error| unsafe { pace_sys::pace_session_get_fd(session, &mut fd, error) })?;
    Ok(fd)
}

fn no_thread(error: std::io::Error) -> Error {
    let message =
        format!("the thread that wakes tasks cannot be started: {error}; wait for the request without a task");
    Error::new(Status::Limit, "", message)
}
