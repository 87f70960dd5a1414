//! Failure: why a verb or a wait failed, with the buffers that it was given.

use std::fmt;

use crate::error::Error;
use crate::info::Info;
use crate::request::Request;
use crate::status::Status;

/// Why a verb was refused, or a request did not end well, or not yet. It has what the call took.
///
/// The operator `?` makes an [`Error`] of it, where the function's error is one, and drops the rest.
pub struct Failure<B: Send> {
    /// What went wrong.
    pub error: Error,
    /// What the library tells of a request that has ended. None: it has not, or never was one.
    pub info: Option<Box<Info>>,
    /// What the call took.
    pub left: Left<B>,
}

/// What a failed call has left of what it took.
pub enum Left<B: Send> {
    /// The buffers. No request has them: it was refused, or it has ended.
    Buffers(B),
    /// The request. It is in flight and has its buffers: the time has passed, or a signal has come, or the session is over.
    InFlight(Request<B>),
}

impl<B: Send> Failure<B> {
    pub(crate) fn refused(error: Error, buffers: B) -> Failure<B> {
        Failure { error, info: None, left: Left::Buffers(buffers) }
    }

    /// What kind of failure it is.
    pub fn status(&self) -> Status {
        self.error.status
    }

    /// The buffers; or the request that still has them.
    pub fn into_buffers(self) -> Result<B, Request<B>> {
        match self.left {
            Left::Buffers(buffers) => Ok(buffers),
            Left::InFlight(request) => Err(request),
        }
    }
}

impl<B: Send> From<Failure<B>> for Error {
    fn from(failure: Failure<B>) -> Error {
        failure.error
    }
}

impl<B: Send> fmt::Display for Failure<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl<B: Send> fmt::Debug for Failure<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = match self.left {
            Left::Buffers(_) => "Buffers",
            Left::InFlight(_) => "InFlight",
        };
        formatter.debug_struct("Failure").field("error", &self.error).field("left", &left).finish()
    }
}

impl<B: Send> std::error::Error for Failure<B> {}
