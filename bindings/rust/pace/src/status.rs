//! The statuses of `pace.h`.

use std::ffi::CStr;
use std::fmt;

macro_rules! statuses {
    ($($(#[$text:meta])* $name:ident = $constant:ident,)*) => {
        /// How a call or a request has ended. Later releases add statuses: [`Status::is_fault`] says of which kind one is.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Status {
            $($(#[$text])* $name,)*
            /// A status that this release of the crate does not know.
            Other(i32),
        }

        impl Status {
            /// The status that has this number in `pace.h`.
            pub fn from_number(number: i32) -> Status {
                match number {
                    $(pace_sys::$constant => Status::$name,)*
                    _ => Status::Other(number),
                }
            }

            /// Its number in `pace.h`: 0 is done, above 0 an outcome to handle, below 0 a fault.
            pub fn number(self) -> i32 {
                match self {
                    $(Status::$name => pace_sys::$constant,)*
                    Status::Other(number) => number,
                }
            }
        }
    };
}

statuses! {
    /// Done.
    Ok = PACE_OK,
    /// The time given has passed. The request is in flight.
    Timeout = PACE_TIMEOUT,
    /// A failure elsewhere ended the request. The buffers are as they were: call again.
    Aborted = PACE_ABORTED,
    /// The request ended because `cancel` asked for it.
    Canceled = PACE_CANCELED,
    /// The job went on without this worker, whose model lacks what the others have done: `broadcast` gives the current one.
    Stale = PACE_STALE,
    /// The request is in flight.
    Pending = PACE_PENDING,
    /// A signal may have come. The request is in flight.
    Interrupted = PACE_INTERRUPTED,
    /// An argument or option is wrong, and named.
    Invalid = PACE_E_INVALID,
    /// A buffer or request is freed, collected, or of another session.
    Handle = PACE_E_HANDLE,
    /// The verb does not fit the job's policy.
    Verb = PACE_E_VERB,
    /// The workers disagree about options, buffers, or the order of verbs.
    Mismatch = PACE_E_MISMATCH,
    /// There is no such daemon, job or file; for `next`: there is no request.
    NotFound = PACE_E_NOT_FOUND,
    /// The rank or name is in use.
    Taken = PACE_E_TAKEN,
    /// The daemon or the library is of another version.
    Version = PACE_E_VERSION,
    /// The daemon ended or cannot be reached. The next call reconnects.
    DaemonGone = PACE_E_DAEMON_GONE,
    /// The daemon cannot reach its controller.
    NoController = PACE_E_NO_CONTROLLER,
    /// A quota of the daemon, or of this process, is used up.
    Limit = PACE_E_LIMIT,
    /// There is too little memory.
    Memory = PACE_E_MEMORY,
    /// There is no room on a disk that must record this.
    Disk = PACE_E_DISK,
    /// This user is not permitted to do this.
    Denied = PACE_E_DENIED,
    /// The session is over. Open another one.
    Closed = PACE_E_CLOSED,
    /// A defect of Pace.
    Internal = PACE_E_INTERNAL,
    /// The contents were refused: a gradient with a NaN, an index outside of the model. The buffers are as they were.
    Refused = PACE_E_REFUSED,
    /// The library or the daemon is built without that device or feature.
    Unsupported = PACE_E_UNSUPPORTED,
}

impl Status {
    /// Whether this is a fault, and not an outcome that a trainer handles.
    pub fn is_fault(self) -> bool {
        self.number() < 0
    }

    /// Its name in `pace.h`, `"PACE_E_TAKEN"`; `"PACE_?"` for a number that the library does not know.
    pub fn name(self) -> &'static str {
        status_name(self.number())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The name of a status in `pace.h`, by its number; `"PACE_?"` for a number that is none.
pub fn status_name(number: i32) -> &'static str {
    // SAFETY: the library's names are constants, zero-terminated.
    let name = unsafe { CStr::from_ptr(pace_sys::pace_status_name(number)) };
    name.to_str().unwrap_or("PACE_?")
}
