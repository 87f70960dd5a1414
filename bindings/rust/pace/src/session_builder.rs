//! SessionBuilder: how a worker joins a job.

use std::ffi::CString;
use std::os::raw::c_char;
use std::ptr;
use std::time::Duration;

use crate::error::{ErrorRoom, Result};
use crate::library::check_version;
use crate::option::{raw_options, JobOption, Value};
use crate::request::milliseconds;
use crate::session::Session;
use crate::text::text_for;

/// What a session is opened with. Made by [`Session::builder`](crate::Session::builder). All workers of a job give the same
/// world, policy, options and run.
#[derive(Clone, Debug)]
#[must_use = "open() joins the job"]
pub struct SessionBuilder {
    job: String,
    policy: String,
    rank: u32,
    world: u32,
    endpoint: Option<String>,
    run: Option<String>,
    connect_ms: Option<i64>,
    flags: u32,
    options: Vec<JobOption>,
}

impl SessionBuilder {
    pub(crate) fn new(job: &str, policy: &str) -> SessionBuilder {
        SessionBuilder {
            job: job.to_owned(),
            policy: policy.to_owned(),
            rank: 0,
            world: 0,
            endpoint: None,
            run: None,
            connect_ms: None,
            flags: 0,
            options: Vec::new(),
        }
    }

    /// This worker: 0, which is the default, to world - 1.
    pub fn rank(mut self, rank: u32) -> SessionBuilder {
        self.rank = rank;
        self
    }

    /// Workers of the job: 1 to 65536. Must be given.
    pub fn world(mut self, world: u32) -> SessionBuilder {
        self.world = world;
        self
    }

    /// Where the daemon is: `"unix:PATH"`, a daemon's socket; `"embedded:"` or `"embedded:FILE.toml"`, a daemon in this process.
    /// Without it, what the environment's `PACE_ENDPOINT` names, else the daemon of this node.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> SessionBuilder {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Which execution of the job this worker is of. Without it, what the environment's `PACE_RUN_ID` or a launcher says.
    pub fn run(mut self, run: impl Into<String>) -> SessionBuilder {
        self.run = Some(run.into());
        self
    }

    /// The longest wait for the daemon and its controller, now and whenever the session reconnects. None waits without limit.
    /// 10 seconds by default.
    pub fn connect_timeout(mut self, timeout: impl Into<Option<Duration>>) -> SessionBuilder {
        self.connect_ms = Some(timeout.into().map_or(i64::from(pace_sys::PACE_FOREVER), milliseconds));
        self
    }

    /// This worker goes on with the run of this identity though all its workers have died.
    pub fn resume(self, is_resuming: bool) -> SessionBuilder {
        self.flag(pace_sys::PACE_SESSION_RESUME, is_resuming)
    }

    /// `open`, and calls that reconnect, fail with `Interrupted` when a signal comes while they wait.
    pub fn interruptible(self, is_interruptible: bool) -> SessionBuilder {
        self.flag(pace_sys::PACE_SESSION_SIGNALS, is_interruptible)
    }

    /// An option of the job, `.option("group.size", 3)`. What is absent has its default. `pace::query("options", None)` lists
    /// them.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> SessionBuilder {
        self.options.push(JobOption { name: name.into(), value: value.into(), is_hint: false });
        self
    }

    /// As [`option`](SessionBuilder::option). A library, daemon or controller that does not know the name ignores it.
    pub fn hint(mut self, name: impl Into<String>, value: impl Into<Value>) -> SessionBuilder {
        self.options.push(JobOption { name: name.into(), value: value.into(), is_hint: true });
        self
    }

    /// Connects to the daemon and joins the job, creating it if this worker is the first.
    ///
    /// Blocks until the job is joined, at most for the connect timeout; it does not wait for the other workers. Fails with
    /// `Invalid` (an argument or option, named), `NotFound` or `DaemonGone` (no daemon), `Version`, `NoController`, `Taken` (the
    /// rank is held by a live worker, the job by another run), `Mismatch` (the job has other options), `Denied`, `Limit`,
    /// `Memory`, `Disk`, `Interrupted`.
    pub fn open(&self) -> Result<Session> {
        check_version()?;
        let job = text_for("job", &self.job)?;
        let policy = text_for("policy", &self.policy)?;
        let endpoint = optional_text("endpoint", &self.endpoint)?;
        let run = optional_text("run", &self.run)?;
        let raw = raw_options(&self.options)?;
        let options = pace_sys::pace_session_options {
            rank: self.rank,
            world: self.world,
            flags: self.flags,
            connect_ms: self.connect_ms.unwrap_or(pace_sys::PACE_SESSION_OPTIONS_INIT.connect_ms),
            endpoint: pointer_to(&endpoint),
            job: job.as_ptr(),
            policy: policy.as_ptr(),
            options: raw.options.as_ptr(),
            option_count: raw.options.len(),
            run: pointer_to(&run),
            ..pace_sys::PACE_SESSION_OPTIONS_INIT
        };
        let mut session = ptr::null_mut();
        let mut error = ErrorRoom::new();
        // SAFETY: what the options point to lives until the end of this function.
        let status = unsafe { pace_sys::pace_session_open(&options, &mut session, error.pointer()) };
        error.check(status)?;
        Ok(Session::new(session))
    }

    fn flag(mut self, flag: u32, is_set: bool) -> SessionBuilder {
        self.flags = if is_set { self.flags | flag } else { self.flags & !flag };
        self
    }
}

fn optional_text(argument: &str, text: &Option<String>) -> Result<Option<CString>> {
    text.as_deref().map(|text| text_for(argument, text)).transpose()
}

fn pointer_to(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}
