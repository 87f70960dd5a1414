//! What the library tells of requests and sessions.

use std::time::Duration;

use crate::text::text_of;

/// What the buffers hold after a request that ended as [`DaemonGone`](crate::Status::DaemonGone).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// What they held at the call.
    AsCalled,
    /// Part of the result: make their contents anew, or take the model by `broadcast`.
    Torn,
    /// The whole result. Do not give the same gradient again.
    Result,
}

/// What one member of an exchange brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its rank in the job.
    pub rank: u32,
    /// Iterations behind the newest member; for a reduce, the rounds that its oldest gradient has waited.
    pub staleness: u64,
    /// The weight of its buffer in the result; 0 when it gave none.
    pub weight: f64,
}

/// How a request ended, and what the exchange was. Fields that do not belong to the verb are 0.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The worker's iteration now: the group's newest (average), the one given (reduce), the donor's (broadcast to a newcomer).
    pub iteration: u64,
    /// As the call had it.
    pub user_data: u64,
    /// For an average: the group's number.
    pub group: u64,
    /// For a verb of all members: the round's number.
    pub round: u64,
    /// For a pull and a checkpoint: the model's version, which grows.
    pub version: u64,
    /// Bytes that this node has sent over the network for this exchange.
    pub bytes_sent: u64,
    /// Bytes that this node has received over the network for this exchange.
    pub bytes_received: u64,
    /// The time from the call to the start of the exchange.
    pub queued: Duration,
    /// The time from the start of the exchange to the result.
    pub moving: Duration,
    /// The weight of the initial model (option average.missing initial).
    pub initial_weight: f64,
    /// Members of the exchange.
    pub member_count: u32,
    /// Nodes that the members are on.
    pub node_count: u32,
    /// The members by rank; at most 128, the daemon's list.
    pub members: Vec<Member>,
    /// What the buffers hold. It tells something of a request that ended as `DaemonGone` only.
    pub contents: Contents,
    /// What the sum of a reduce was divided by; 0 where nothing was summed.
    pub divisor: f64,
    /// Rounds whose results the buffers of a reduce hold together: 1 as a rule.
    pub rounds: u64,
    /// Elements of the result that top-k chose; 0 for dense.
    pub entries: u64,
    /// Members whose gradients are in the result; for a push 1, or 0 when its step had been taken before.
    pub contributor_count: u32,
    /// This worker's gradient came after its round had begun.
    pub is_late: bool,
    /// The job asks for a sync now (option reduce.resync_every).
    pub needs_sync: bool,
    /// Compression was asked for, but all elements are in the result.
    pub is_dense: bool,
    /// For an average with `keep_local`: steps that the worker has made since the call, which the average lacks.
    pub staleness: u64,
    /// For a push, a pull, and a broadcast of the server family: steps that the slowest worker has pushed.
    pub slowest_clock: u64,
}

impl Info {
    pub(crate) fn from_raw(raw: &pace_sys::pace_request_info, members: &[pace_sys::pace_member]) -> Info {
        Info {
            iteration: raw.iteration,
            user_data: raw.user_data,
            group: raw.group,
            round: raw.round,
            version: raw.version,
            bytes_sent: raw.bytes_sent,
            bytes_received: raw.bytes_received,
            queued: Duration::from_nanos(raw.queued_ns),
            moving: Duration::from_nanos(raw.moving_ns),
            initial_weight: raw.initial_weight,
            member_count: raw.member_count,
            node_count: raw.node_count,
            members: members.iter().map(Member::from_raw).collect(),
            contents: Contents::from_number(raw.contents),
            divisor: raw.divisor,
            rounds: raw.rounds,
            entries: raw.entries,
            contributor_count: raw.contributor_count,
            is_late: raw.late != 0,
            needs_sync: raw.resync != 0,
            is_dense: raw.dense != 0,
            staleness: raw.staleness,
            slowest_clock: raw.slowest_clock,
        }
    }
}

impl Member {
    fn from_raw(raw: &pace_sys::pace_member) -> Member {
        Member { rank: raw.rank, staleness: raw.staleness, weight: raw.weight }
    }
}

impl Contents {
    fn from_number(number: i32) -> Contents {
        match number as u32 {
            pace_sys::PACE_CONTENTS_AS_CALLED => Contents::AsCalled,
            pace_sys::PACE_CONTENTS_RESULT => Contents::Result,
            // A number of a later release: the contents are not what they were, and not known to be whole.
            _ => Contents::Torn,
        }
    }
}

/// What a worker found when it joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// A run that begins when all workers have joined.
    New,
    /// A run that others take part in: `broadcast` gives the current model.
    UnderWay,
    /// A run that has begun and whose workers were all gone: this worker goes on from a checkpoint, or from what it has.
    Resumed,
}

/// What a session tells of itself.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// This worker: 0 to world - 1.
    pub rank: u32,
    /// Workers of the job.
    pub world: u32,
    /// What the worker found when it opened the session.
    pub run_state: RunState,
    /// The daemon's; it changes when the session has reconnected to a restarted one.
    pub generation: u64,
    /// The job's name.
    pub job: String,
    /// The daemon's name.
    pub node: String,
    /// The identity of the run; empty where none was given.
    pub run: String,
    /// When the run's first worker opened its session, in nanoseconds since 1970.
    pub run_began_ns: u64,
}

impl SessionInfo {
    pub(crate) fn from_raw(raw: &pace_sys::pace_session_info) -> SessionInfo {
        SessionInfo {
            rank: raw.rank,
            world: raw.world,
            run_state: match raw.run_state {
                pace_sys::PACE_RUN_UNDER_WAY => RunState::UnderWay,
                pace_sys::PACE_RUN_RESUMED => RunState::Resumed,
                _ => RunState::New,
            },
            generation: raw.generation,
            job: text_of(&raw.job),
            node: text_of(&raw.node),
            run: text_of(&raw.run),
            run_began_ns: raw.run_began,
        }
    }
}
