//! The ends of requests: how they are collected, and those that `Session::next` has collected for others.

use std::collections::HashMap;

use crate::error::{Error, ErrorRoom};
use crate::info::Info;
use crate::status::Status;

/// The daemon lists at most so many members.
const LISTED_MAX: usize = 128;

const NO_MEMBER: pace_sys::pace_member = pace_sys::pace_member { rank: 0, reserved: 0, staleness: 0, weight: 0.0 };

/// How a request ended.
pub(crate) struct End {
    pub(crate) info: Info,
    /// None: it ended well.
    pub(crate) error: Option<Error>,
}

/// What a wait learned.
pub(crate) enum Outcome {
    /// The request has ended, and is collected.
    Ended(End),
    /// The request is not collected, for this reason.
    InFlight(Error),
}

/// Room for what a wait tells.
pub(crate) struct EndRoom {
    pub(crate) info: pace_sys::pace_request_info,
    pub(crate) error: ErrorRoom,
    members: [pace_sys::pace_member; LISTED_MAX],
}

impl EndRoom {
    pub(crate) fn new() -> EndRoom {
        EndRoom { info: pace_sys::PACE_REQUEST_INFO_INIT, error: ErrorRoom::new(), members: [NO_MEMBER; LISTED_MAX] }
    }

    /// Options of a wait that fills this room, which stays where it is until the wait has returned.
    pub(crate) fn options(&mut self, local_iteration: u64) -> pace_sys::pace_wait_options {
        pace_sys::pace_wait_options {
            // The wait looks twice a second whether its session has been dropped.
            flags: pace_sys::PACE_WAIT_SIGNALS,
            local_iteration,
            members: self.members.as_mut_ptr(),
            member_capacity: LISTED_MAX,
            ..pace_sys::PACE_WAIT_OPTIONS_INIT
        }
    }

    /// What a wait that filled this room, and returned `status`, has learned.
    pub(crate) fn outcome(&self, status: i32) -> Outcome {
        if self.info.status == pace_sys::PACE_PENDING {
            return Outcome::InFlight(self.error.error(status));
        }
        let listed = self.info.member_listed as usize;
        Outcome::Ended(End {
            info: Info::from_raw(&self.info, &self.members[..listed.min(LISTED_MAX)]),
            error: self.error.check(status).err(),
        })
    }
}

impl Outcome {
    pub(crate) fn has_status(&self, status: Status) -> bool {
        matches!(self, Outcome::InFlight(error) if error.status == status)
    }
}

/// Ends that `Session::next`, or a scope at its end, has collected, until their requests ask for them.
#[derive(Default)]
pub(crate) struct Ends {
    by_request: HashMap<u64, End>,
    /// Calls of `Session::next` that run: each may have collected an end that is not here yet.
    pub(crate) nexts: usize,
    /// Scopes that end their requests: as for `nexts`.
    pub(crate) scope_ends: usize,
    /// Requests in flight whose buffers a trainer may write.
    pub(crate) writable: usize,
}

impl Ends {
    pub(crate) fn put(&mut self, id: u64, end: End) {
        self.by_request.insert(id, end);
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.by_request.contains_key(&id)
    }

    pub(crate) fn take(&mut self, id: u64) -> Option<End> {
        self.by_request.remove(&id)
    }
}
