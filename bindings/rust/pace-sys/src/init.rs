//! The `_INIT` macros of `pace.h`: each struct with its size and its defaults.

use core::mem::size_of;
use core::ptr::{null, null_mut};

use crate::bindings::*;

const NO_DEVICE: pace_device = pace_device { type_: 0, id: 0 };

const fn call_of(struct_size: usize) -> pace_call {
    pace_call {
        struct_size: struct_size as u32,
        flags: 0,
        iteration: 0,
        user_data: 0,
        device: NO_DEVICE,
        stream: null_mut(),
        results: null(),
        result_count: 0,
        reserved: [0; 2],
    }
}

pub const PACE_SESSION_OPTIONS_INIT: pace_session_options = pace_session_options {
    struct_size: size_of::<pace_session_options>() as u32,
    rank: 0,
    world: 0,
    flags: 0,
    connect_ms: 10000,
    endpoint: null(),
    job: null(),
    policy: null(),
    options: null(),
    option_count: 0,
    run: null(),
};

pub const PACE_SESSION_INFO_INIT: pace_session_info = pace_session_info {
    struct_size: size_of::<pace_session_info>() as u32,
    rank: 0,
    world: 0,
    run_state: 0,
    generation: 0,
    job: [0; 64],
    node: [0; 64],
    run: [0; 64],
    run_began: 0,
};

pub const PACE_PROGRESS_INIT: pace_progress = pace_progress {
    struct_size: size_of::<pace_progress>() as u32,
    flags: 0,
    loss: 0.0,
    samples_per_s: 0.0,
    steps_done: 0,
    steps_total: 0,
};

pub const PACE_BUFFER_OPTIONS_INIT: pace_buffer_options = pace_buffer_options {
    struct_size: size_of::<pace_buffer_options>() as u32,
    source: PACE_NEW as i32,
    device: NO_DEVICE,
    pointer: null_mut(),
    fd: -1,
    flags: 0,
};

pub const PACE_BUFFER_INFO_INIT: pace_buffer_info = pace_buffer_info {
    struct_size: size_of::<pace_buffer_info>() as u32,
    type_: 0,
    count: 0,
    data: null_mut(),
    device: NO_DEVICE,
    dl_type_code: 0,
    dl_type_bits: 0,
    dl_type_lanes: 0,
    typestr: [0; 8],
    flags: 0,
    twin_bytes: 0,
};

pub const PACE_REQUEST_INFO_INIT: pace_request_info = pace_request_info {
    struct_size: size_of::<pace_request_info>() as u32,
    status: PACE_PENDING,
    iteration: 0,
    user_data: 0,
    group: 0,
    round: 0,
    version: 0,
    bytes_sent: 0,
    bytes_received: 0,
    queued_ns: 0,
    moving_ns: 0,
    initial_weight: 0.0,
    member_count: 0,
    node_count: 0,
    member_listed: 0,
    contents: 0,
    divisor: 0.0,
    rounds: 0,
    entries: 0,
    contributor_count: 0,
    late: 0,
    resync: 0,
    dense: 0,
    staleness: 0,
    slowest_clock: 0,
};

pub const PACE_WAIT_OPTIONS_INIT: pace_wait_options = pace_wait_options {
    struct_size: size_of::<pace_wait_options>() as u32,
    flags: 0,
    device: NO_DEVICE,
    stream: null_mut(),
    local_iteration: 0,
    members: null_mut(),
    member_capacity: 0,
};

pub const PACE_AVERAGE_OPTIONS_INIT: pace_average_options =
    pace_average_options { call: call_of(size_of::<pace_average_options>()), order: 0, keep_local: 0 };

pub const PACE_REDUCE_OPTIONS_INIT: pace_reduce_options =
    pace_reduce_options { call: call_of(size_of::<pace_reduce_options>()), op: 0, reserved: 0 };

pub const PACE_BROADCAST_OPTIONS_INIT: pace_broadcast_options =
    pace_broadcast_options { call: call_of(size_of::<pace_broadcast_options>()), root: 0, reserved: 0 };

pub const PACE_SYNC_OPTIONS_INIT: pace_sync_options =
    pace_sync_options { call: call_of(size_of::<pace_sync_options>()) };

pub const PACE_BARRIER_OPTIONS_INIT: pace_barrier_options =
    pace_barrier_options { call: call_of(size_of::<pace_barrier_options>()) };

pub const PACE_PUSH_OPTIONS_INIT: pace_push_options =
    pace_push_options { call: call_of(size_of::<pace_push_options>()), sparse: 0, reserved: 0, entries: 0, first: 0 };

pub const PACE_PULL_OPTIONS_INIT: pace_pull_options =
    pace_pull_options { call: call_of(size_of::<pace_pull_options>()), first: 0 };

pub const PACE_CHECKPOINT_OPTIONS_INIT: pace_checkpoint_options =
    pace_checkpoint_options { call: call_of(size_of::<pace_checkpoint_options>()) };

pub const PACE_RESIDUAL_OPTIONS_INIT: pace_residual_options =
    pace_residual_options { call: call_of(size_of::<pace_residual_options>()) };
