//! Verbs: what a worker does with its buffers.

use std::marker::PhantomData;
use std::sync::Arc;

use pace_sys::pace_slice;

use crate::begin::{call_of, slices_of, Begin};
use crate::buffers::Buffers;
use crate::error::Result;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::keeper::Keeper;
use crate::request::Request;
use crate::verb_options::{AverageOptions, BroadcastOptions, CallOptions, Op, PullOptions, PushOptions, ReduceOptions};
use crate::writable::Order;

/// A verb in flight, or the buffers back with why it was refused.
pub type Begun<B> = std::result::Result<Request<B>, Failure<B>>;

/// The verbs of a [`Session`](crate::Session), whose buffers are owned, and of a [`Scope`](crate::Scope), whose buffers may be
/// borrowed.
///
/// Each takes its buffers and gives a [`Request`], which gives them back. They count as one vector in the order given; all
/// workers give the same types and lengths, 1 to 256 parts.
///
/// Threads: any. No verb blocks, unless the session has lost its daemon: then until it has reconnected, at most `connect_ms`.
/// All fail with `Invalid`, `Handle` (a buffer of another session), `Verb` (it does not fit the policy), `Limit` (64 requests
/// are in flight or not collected), `Closed` (the session has left), and, where it had to reconnect, as
/// [`SessionBuilder::open`](crate::SessionBuilder::open). The failure gives the buffers back.
pub struct Verbs<'a> {
    pub(crate) handle: Arc<Handle>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) is_scope: bool,
    /// The session has left before the scope was opened.
    pub(crate) is_over: bool,
    /// Neither longer nor shorter: what a request takes must live for `'a`.
    pub(crate) lifetime: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl<'a> Verbs<'a> {
    /// Averages parameters over a group of workers that are ready (averaging family). Source: Miao et al., SIGMOD 2021,
    /// Algorithm 2.
    pub fn average<B: Buffers + 'a>(&self, buffers: B, options: AverageOptions) -> Begun<B> {
        let slices = slices_of(&buffers);
        self.begin_average(buffers, &slices, None, &options)
    }

    /// As [`average`](Verbs::average). The result goes to `results`, of the same types and lengths; `buffers` are only read.
    /// When the request does not end well, the results are undefined.
    pub fn average_into<B, R>(&self, buffers: B, results: R, options: AverageOptions) -> Begun<(B, R)>
    where
        B: Buffers + 'a,
        R: Buffers + 'a,
    {
        let (slices, results_at) = (slices_of(&buffers), slices_of(&results));
        self.begin_average((buffers, results), &slices, Some(&results_at), &options)
    }

    fn begin_average<B: Buffers + 'a>(
        &self,
        buffers: B,
        slices: &[pace_slice],
        results: Option<&[pace_slice]>,
        how: &AverageOptions,
    ) -> Begun<B> {
        let mut options = pace_sys::PACE_AVERAGE_OPTIONS_INIT;
        call_of(&mut options.call, how.iteration, how.user_data, results);
        options.keep_local = u32::from(how.keep_local);
        options.order = match how.order {
            Order::AtOnce => pace_sys::PACE_ORDER_DEFAULT,
            Order::Forward => pace_sys::PACE_ORDER_FORWARD,
            Order::Backward => pace_sys::PACE_ORDER_BACKWARD,
        } as i32;
        let is_writable = how.keep_local || how.order != Order::AtOnce;
        let begin = Begin { verbs: self, buffers, writable: is_writable.then_some(how.order) };
        begin.with(slices, pace_sys::pace_average, &options)
    }

    /// Reduces gradients over all workers (collective family): the mean or the sum. All get bit-identical results.
    pub fn reduce<B: Buffers + 'a>(&self, buffers: B, options: ReduceOptions) -> Begun<B> {
        let slices = slices_of(&buffers);
        self.begin_reduce(buffers, &slices, None, &options)
    }

    /// As [`reduce`](Verbs::reduce). The result goes to `results`, as for [`average_into`](Verbs::average_into).
    pub fn reduce_into<B, R>(&self, buffers: B, results: R, options: ReduceOptions) -> Begun<(B, R)>
    where
        B: Buffers + 'a,
        R: Buffers + 'a,
    {
        let (slices, results_at) = (slices_of(&buffers), slices_of(&results));
        self.begin_reduce((buffers, results), &slices, Some(&results_at), &options)
    }

    fn begin_reduce<B: Buffers + 'a>(
        &self,
        buffers: B,
        slices: &[pace_slice],
        results: Option<&[pace_slice]>,
        how: &ReduceOptions,
    ) -> Begun<B> {
        let mut options = pace_sys::PACE_REDUCE_OPTIONS_INIT;
        call_of(&mut options.call, how.iteration, how.user_data, results);
        options.op = match how.op {
            Op::Mean => pace_sys::PACE_OP_MEAN,
            Op::Sum => pace_sys::PACE_OP_SUM,
        } as i32;
        self.begin(buffers).with(slices, pace_sys::pace_reduce, &options)
    }

    /// Averages over all workers with equal weights, whatever the family.
    pub fn sync<B: Buffers + 'a>(&self, buffers: B, options: CallOptions) -> Begun<B> {
        let slices = slices_of(&buffers);
        self.begin_sync(buffers, &slices, None, &options)
    }

    /// As [`sync`](Verbs::sync). The result goes to `results`, as for [`average_into`](Verbs::average_into).
    pub fn sync_into<B, R>(&self, buffers: B, results: R, options: CallOptions) -> Begun<(B, R)>
    where
        B: Buffers + 'a,
        R: Buffers + 'a,
    {
        let (slices, results_at) = (slices_of(&buffers), slices_of(&results));
        self.begin_sync((buffers, results), &slices, Some(&results_at), &options)
    }

    fn begin_sync<B: Buffers + 'a>(
        &self,
        buffers: B,
        slices: &[pace_slice],
        results: Option<&[pace_slice]>,
        how: &CallOptions,
    ) -> Begun<B> {
        let mut options = pace_sys::PACE_SYNC_OPTIONS_INIT;
        call_of(&mut options.call, 0, how.user_data, results);
        self.begin(buffers).with(slices, pace_sys::pace_sync, &options)
    }

    /// Gives everyone the buffers of worker `root`. A newcomer gets those of a healthy worker, and
    /// its info's iteration says at which step.
    pub fn broadcast<B: Buffers + 'a>(&self, buffers: B, options: BroadcastOptions) -> Begun<B> {
        let mut raw = pace_sys::PACE_BROADCAST_OPTIONS_INIT;
        raw.call.user_data = options.user_data;
        raw.root = options.root;
        let slices = slices_of(&buffers);
        self.begin(buffers).with(&slices, pace_sys::pace_broadcast, &raw)
    }

    /// Ends when every worker has called it.
    pub fn barrier(&self, options: CallOptions) -> Begun<()> {
        let mut raw = pace_sys::PACE_BARRIER_OPTIONS_INIT;
        raw.call.user_data = options.user_data;
        self.begin(()).without_buffers(pace_sys::pace_barrier, &raw)
    }

    /// Adds an update of this worker to the served model (server family). The buffers are only read. A push of a step whose
    /// update has been taken before changes nothing, and its info's contributor count is 0.
    pub fn push<B: Buffers + 'a>(&self, buffers: B, options: PushOptions) -> Begun<B> {
        let mut raw = pace_sys::PACE_PUSH_OPTIONS_INIT;
        raw.call.iteration = options.iteration;
        raw.call.user_data = options.user_data;
        raw.sparse = u32::from(options.entries.is_some());
        raw.entries = options.entries.unwrap_or(0);
        raw.first = options.first;
        let slices = slices_of(&buffers);
        self.begin(buffers).with(&slices, pace_sys::pace_push, &raw)
    }

    /// Fills the buffers with the served model, or a range of it, for this worker's step (server family).
    pub fn pull<B: Buffers + 'a>(&self, buffers: B, options: PullOptions) -> Begun<B> {
        let mut raw = pace_sys::PACE_PULL_OPTIONS_INIT;
        raw.call.iteration = options.iteration;
        raw.call.user_data = options.user_data;
        raw.first = options.first;
        let slices = slices_of(&buffers);
        self.begin(buffers).with(&slices, pace_sys::pace_pull, &raw)
    }

    /// Has the daemons save the served model to their disks; ends when that is durable. Ends as `Disk` where a node has no
    /// folder for it, or no room.
    pub fn checkpoint(&self, options: CallOptions) -> Begun<()> {
        let mut raw = pace_sys::PACE_CHECKPOINT_OPTIONS_INIT;
        raw.call.user_data = options.user_data;
        self.begin(()).without_buffers(pace_sys::pace_checkpoint, &raw)
    }

    /// Writes what a top-k compression still owes to later rounds into `f32` buffers, one for each
    /// buffer of the reduce, of the same lengths.
    pub fn residual_save<B: Buffers + 'a>(&self, buffers: B, options: CallOptions) -> Begun<B> {
        let mut raw = pace_sys::PACE_RESIDUAL_OPTIONS_INIT;
        raw.call.user_data = options.user_data;
        let slices = slices_of(&buffers);
        self.begin(buffers).with(&slices, pace_sys::pace_residual_save, &raw)
    }

    /// Adds what [`residual_save`](Verbs::residual_save) wrote to what is owed.
    pub fn residual_load<B: Buffers + 'a>(&self, buffers: B, options: CallOptions) -> Begun<B> {
        let mut raw = pace_sys::PACE_RESIDUAL_OPTIONS_INIT;
        raw.call.user_data = options.user_data;
        let slices = slices_of(&buffers);
        self.begin(buffers).with(&slices, pace_sys::pace_residual_load, &raw)
    }

    /// Says at the start of a step that `average` with this iteration comes next, so that its group forms meanwhile. Only a
    /// hint. Does not block. Fails with `Verb`.
    pub fn announce(&self, iteration: u64) -> Result<()> {
        self.handle.call(|session, error| unsafe { pace_sys::pace_announce(session, iteration, error) })
    }

    /// Takes the announcement back. Without one, does nothing. Does not block. Fails with `Verb`.
    pub fn withdraw(&self) -> Result<()> {
        self.handle.call(|session, error| unsafe { pace_sys::pace_withdraw(session, error) })
    }

    fn begin<B: Buffers + 'a>(&self, buffers: B) -> Begin<'_, 'a, B> {
        Begin { verbs: self, buffers, writable: None }
    }
}
