//! How verbs do what they do. Each options struct has a `Default`.

use crate::writable::Order;

/// What a reduce makes of the gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Op {
    /// The sum divided by the number of members, or of those who contributed, as the option quorum.divide_by says.
    #[default]
    Mean,
    /// The sum.
    Sum,
}

/// How to average.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AverageOptions {
    /// The worker's own step count.
    pub iteration: u64,
    /// Anything; the info tells it.
    pub user_data: u64,
    /// Which elements are ready at the call. All workers give the same.
    pub order: Order,
    /// The trainer goes on with its steps while a copy is averaged: see [`Request::elements_mut`](crate::Request::elements_mut).
    /// What it changes meanwhile is kept. Not together with an order, nor with results elsewhere.
    pub keep_local: bool,
}

impl AverageOptions {
    /// Of the worker's step `iteration`; the rest by default.
    pub fn at(iteration: u64) -> AverageOptions {
        AverageOptions { iteration, ..AverageOptions::default() }
    }
}

/// How to reduce.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReduceOptions {
    /// The worker's step, for status displays and for newcomers.
    pub iteration: u64,
    /// Anything; the info tells it.
    pub user_data: u64,
    /// All workers give the same.
    pub op: Op,
}

impl ReduceOptions {
    /// Of the worker's step `iteration`: the mean.
    pub fn at(iteration: u64) -> ReduceOptions {
        ReduceOptions { iteration, ..ReduceOptions::default() }
    }
}

/// How to broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BroadcastOptions {
    /// The worker whose buffers everyone gets: 0 to world - 1.
    pub root: u32,
    /// Anything; the info tells it.
    pub user_data: u64,
}

/// How to push an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushOptions {
    /// The worker's step, its clock.
    pub iteration: u64,
    /// Anything; the info tells it.
    pub user_data: u64,
    /// The element of the model at which a dense update begins.
    pub first: u64,
    /// The update is sparse: the buffers are two, indices (`u32`) that rise strictly, and values (`f32`), and so many of each
    /// count. None: it is dense.
    pub entries: Option<u64>,
}

impl PushOptions {
    /// Of the worker's step `iteration`: dense, from the model's first element on.
    pub fn at(iteration: u64) -> PushOptions {
        PushOptions { iteration, ..PushOptions::default() }
    }
}

/// How to pull the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullOptions {
    /// The worker's step, its clock.
    pub iteration: u64,
    /// Anything; the info tells it.
    pub user_data: u64,
    /// The element of the model at which the buffers begin.
    pub first: u64,
}

impl PullOptions {
    /// For the worker's step `iteration`: from the model's first element on.
    pub fn at(iteration: u64) -> PullOptions {
        PullOptions { iteration, ..PullOptions::default() }
    }
}

/// What the other verbs take: sync, barrier, checkpoint, residual_save and residual_load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Anything; the info tells it.
    pub user_data: u64,
}
