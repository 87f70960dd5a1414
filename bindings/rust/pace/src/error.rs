//! What a call fails with.

use std::fmt;

use crate::status::Status;
use crate::text::text_of;

/// What a call that can fail gives.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed, or how a request ended that did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of failure it is. A trainer matches on it.
    pub status: Status,
    /// The argument, field or option that is wrong: `"topk.density"`. Empty where none is.
    pub argument: String,
    /// What was wrong, with which value, and what to do.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.status, self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(status: Status, argument: &str, message: impl Into<String>) -> Error {
        Error { status, argument: argument.to_owned(), message: message.into() }
    }

    pub(crate) fn invalid(argument: &str, message: impl Into<String>) -> Error {
        Error::new(Status::Invalid, argument, message)
    }

    pub(crate) fn closed() -> Error {
        let message = "session: it has been dropped; open another one";
        Error::new(Status::Closed, "session", message)
    }
}

/// Room for what a call of the library says of its failure.
pub(crate) struct ErrorRoom(pace_sys::pace_error);

impl ErrorRoom {
    pub(crate) fn new() -> ErrorRoom {
        ErrorRoom(pace_sys::pace_error { status: 0, reserved: [0; 7], argument: [0; 32], message: [0; 448] })
    }

    pub(crate) fn pointer(&mut self) -> *mut pace_sys::pace_error {
        &mut self.0
    }

    /// What a call that was given this room, and returned `status`, failed with.
    pub(crate) fn error(&self, status: i32) -> Error {
        Error {
            status: Status::from_number(status),
            argument: text_of(&self.0.argument),
            message: text_of(&self.0.message),
        }
    }

    /// The result of a call that was given this room and returned `status`.
    pub(crate) fn check(&self, status: i32) -> Result<()> {
        match status {
            pace_sys::PACE_OK => Ok(()),
            _ => Err(self.error(status)),
        }
    }
}
