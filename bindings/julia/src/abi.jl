# What capi/pace.h declares, in the words of Julia. Written by generate.py: change the header, not this file.

"""
The names of pace.h, whose comments document them. A struct's constructor takes its fields as keywords; those that are left
out are zero, and `struct_size` is the struct's own size. `LAYOUT` has each struct's size and the offsets of its fields as C
sees them. `function_pointers` holds the addresses of `FUNCTIONS`; `loader` fills them when the first one is called.
"""
module ABI

function zeroed(::Type{T}) where {T}
    memory = Ref{T}()
    ccall(:memset, Ptr{Cvoid}, (Ref{T}, Cint, Csize_t), memory, 0, sizeof(T))
    return memory[]
end

const PACE_VERSION_MAJOR = 1
const PACE_VERSION_MINOR = 0
const PACE_VERSION_PATCH = 0
const PACE_POLICY_ALL_REDUCE = "all-reduce"
const PACE_POLICY_PARTIAL_REDUCE = "partial-reduce"
const PACE_POLICY_PRAGUE_RANDOM = "prague-random"
const PACE_POLICY_PRAGUE_SMART = "prague-smart"
const PACE_POLICY_AD_PSGD = "ad-psgd"
const PACE_POLICY_FULL = "full"
const PACE_POLICY_PRAGUE_STATIC = "prague-static"
const PACE_POLICY_AUTO = "auto"
const PACE_POLICY_BSP = "bsp"
const PACE_POLICY_SSP = "ssp"
const PACE_POLICY_ASP = "asp"
const PACE_OPT_WORKER_TIMEOUT_MS = "worker.timeout_ms"
const PACE_OPT_RUN_MIN_WORKERS = "run.min_workers"
const PACE_OPT_RUN_WAIT_MS = "run.wait_ms"
const PACE_OPT_GROUP_SIZE = "group.size"
const PACE_OPT_GROUP_MIN = "group.min"
const PACE_OPT_GROUP_WAIT_MS = "group.wait_ms"
const PACE_OPT_GROUP_WINDOW = "group.window"
const PACE_OPT_GROUP_PROGRESS_GAP = "group.progress_gap"
const PACE_OPT_GROUP_EDGES = "group.edges"
const PACE_OPT_AVERAGE_WEIGHTS = "average.weights"
const PACE_OPT_AVERAGE_ALPHA = "average.alpha"
const PACE_OPT_AVERAGE_MISSING = "average.missing"
const PACE_OPT_QUORUM = "quorum"
const PACE_OPT_QUORUM_COUNT = "quorum.count"
const PACE_OPT_QUORUM_LATE = "quorum.late"
const PACE_OPT_QUORUM_STALENESS_MAX = "quorum.staleness_max"
const PACE_OPT_QUORUM_DIVIDE_BY = "quorum.divide_by"
const PACE_OPT_REDUCE_RESYNC_EVERY = "reduce.resync_every"
const PACE_OPT_REDUCE_REJECT_NONFINITE = "reduce.reject_nonfinite"
const PACE_OPT_COMPRESSION = "compression"
const PACE_OPT_TOPK_DENSITY = "topk.density"
const PACE_OPT_TOPK_RESIDUALS = "topk.residuals"
const PACE_OPT_TOPK_TEAMS = "topk.teams"
const PACE_OPT_TOPK_TEAM_GATHER = "topk.team_gather"
const PACE_OPT_TOPK_INDICES = "topk.indices"
const PACE_OPT_TOPK_VALUES = "topk.values"
const PACE_OPT_TOPK_HIERARCHY = "topk.hierarchy"
const PACE_OPT_TOPK_DENSE_FALLBACK = "topk.dense_fallback"
const PACE_OPT_SERVER_ELEMENTS = "server.elements"
const PACE_OPT_SERVER_STALENESS = "server.staleness"
const PACE_OPT_SERVER_RATE = "server.rate"
const PACE_OPT_SERVER_CONSTANT_RATE = "server.constant_rate"
const PACE_OPT_SERVER_FILTER = "server.filter"
const PACE_OPT_SERVER_SHARDS = "server.shards"
const PACE_OPT_SERVER_CHECKPOINT_EVERY_MS = "server.checkpoint_every_ms"
const PACE_OPT_SERVER_CHECKPOINT_COPIES = "server.checkpoint_copies"
const PACE_OPT_SERVER_RESTORE = "server.restore"
const PACE_OPT_SERVER_UNSYNCHRONIZED = "server.unsynchronized"
const PACE_FOREVER = -1
const PACE_REST = typemax(UInt64)
const PACE_OK = 0
const PACE_TIMEOUT = 1
const PACE_ABORTED = 2
const PACE_CANCELED = 3
const PACE_STALE = 4
const PACE_PENDING = 5
const PACE_INTERRUPTED = 6
const PACE_E_INVALID = -1
const PACE_E_HANDLE = -2
const PACE_E_VERB = -3
const PACE_E_MISMATCH = -4
const PACE_E_NOT_FOUND = -5
const PACE_E_TAKEN = -6
const PACE_E_VERSION = -7
const PACE_E_DAEMON_GONE = -8
const PACE_E_NO_CONTROLLER = -9
const PACE_E_LIMIT = -10
const PACE_E_MEMORY = -11
const PACE_E_DISK = -12
const PACE_E_DENIED = -13
const PACE_E_CLOSED = -14
const PACE_E_INTERNAL = -15
const PACE_E_REFUSED = -16
const PACE_E_UNSUPPORTED = -17
const PACE_INT = 1
const PACE_REAL = 2
const PACE_TEXT = 3
const PACE_BYTES = 4
const PACE_OPTION_HINT = 1
const PACE_SESSION_RESUME = 1
const PACE_SESSION_SIGNALS = 2
const PACE_RUN_NEW = 0
const PACE_RUN_UNDER_WAY = 1
const PACE_RUN_RESUMED = 2
const PACE_PROGRESS_LOSS = 1
const PACE_PROGRESS_RATE = 2
const PACE_PROGRESS_STEPS = 4
const PACE_F32 = 1
const PACE_F64 = 2
const PACE_F16 = 3
const PACE_BF16 = 4
const PACE_U32 = 5
const PACE_DEVICE_CPU = 1
const PACE_DEVICE_CUDA = 2
const PACE_DEVICE_ROCM = 10
const PACE_DEVICE_ONEAPI = 14
const PACE_NEW = 0
const PACE_POINTER = 1
const PACE_FD = 2
const PACE_MAY_STAGE = 1
const PACE_BUFFER_RESTORED = 1
const PACE_BUFFER_STAGED = 2
const PACE_CONTENTS_AS_CALLED = 0
const PACE_CONTENTS_TORN = 1
const PACE_CONTENTS_RESULT = 2
const PACE_WAIT_SIGNALS = 1
const PACE_WAIT_QUEUED = 2
const PACE_ORDER_DEFAULT = 0
const PACE_ORDER_FORWARD = 1
const PACE_ORDER_BACKWARD = 2
const PACE_OP_MEAN = 0
const PACE_OP_SUM = 1

Base.@kwdef struct pace_error
    status::Int32 = 0
    reserved::NTuple{7, UInt32} = zeroed(NTuple{7, UInt32})
    argument::NTuple{32, UInt8} = zeroed(NTuple{32, UInt8})
    message::NTuple{448, UInt8} = zeroed(NTuple{448, UInt8})
end
Base.@kwdef struct pace_option
    name::Ptr{UInt8} = C_NULL
    kind::Int32 = 0
    flags::UInt32 = 0
    value::UInt64 = 0
    bytes::UInt64 = 0
end
Base.@kwdef struct pace_session_options
    struct_size::UInt32 = sizeof(pace_session_options)
    rank::UInt32 = 0
    world::UInt32 = 0
    flags::UInt32 = 0
    connect_ms::Int64 = 0
    endpoint::Ptr{UInt8} = C_NULL
    job::Ptr{UInt8} = C_NULL
    policy::Ptr{UInt8} = C_NULL
    options::Ptr{pace_option} = C_NULL
    option_count::UInt64 = 0
    run::Ptr{UInt8} = C_NULL
end
Base.@kwdef struct pace_session_info
    struct_size::UInt32 = sizeof(pace_session_info)
    rank::UInt32 = 0
    world::UInt32 = 0
    run_state::UInt32 = 0
    generation::UInt64 = 0
    job::NTuple{64, UInt8} = zeroed(NTuple{64, UInt8})
    node::NTuple{64, UInt8} = zeroed(NTuple{64, UInt8})
    run::NTuple{64, UInt8} = zeroed(NTuple{64, UInt8})
    run_began::UInt64 = 0
end
Base.@kwdef struct pace_progress
    struct_size::UInt32 = sizeof(pace_progress)
    flags::UInt32 = 0
    loss::Float64 = 0
    samples_per_s::Float64 = 0
    steps_done::UInt64 = 0
    steps_total::UInt64 = 0
end
Base.@kwdef struct pace_buffer
    session::UInt64 = 0
    index::UInt32 = 0
    generation::UInt32 = 0
end
Base.@kwdef struct pace_device
    type::Int32 = 0
    id::Int32 = 0
end
Base.@kwdef struct pace_buffer_options
    struct_size::UInt32 = sizeof(pace_buffer_options)
    source::Int32 = 0
    device::pace_device = pace_device()
    pointer::Ptr{Cvoid} = C_NULL
    fd::Int32 = 0
    flags::UInt32 = 0
end
Base.@kwdef struct pace_buffer_info
    struct_size::UInt32 = sizeof(pace_buffer_info)
    type::Int32 = 0
    count::UInt64 = 0
    data::Ptr{Cvoid} = C_NULL
    device::pace_device = pace_device()
    dl_type_code::UInt8 = 0
    dl_type_bits::UInt8 = 0
    dl_type_lanes::UInt16 = 0
    typestr::NTuple{8, UInt8} = zeroed(NTuple{8, UInt8})
    flags::UInt32 = 0
    twin_bytes::UInt64 = 0
end
Base.@kwdef struct pace_request
    session::UInt64 = 0
    id::UInt64 = 0
end
Base.@kwdef struct pace_member
    rank::UInt32 = 0
    reserved::UInt32 = 0
    staleness::UInt64 = 0
    weight::Float64 = 0
end
Base.@kwdef struct pace_request_info
    struct_size::UInt32 = sizeof(pace_request_info)
    status::Int32 = 0
    iteration::UInt64 = 0
    user_data::UInt64 = 0
    group::UInt64 = 0
    round::UInt64 = 0
    version::UInt64 = 0
    bytes_sent::UInt64 = 0
    bytes_received::UInt64 = 0
    queued_ns::UInt64 = 0
    moving_ns::UInt64 = 0
    initial_weight::Float64 = 0
    member_count::UInt32 = 0
    node_count::UInt32 = 0
    member_listed::UInt32 = 0
    contents::Int32 = 0
    divisor::Float64 = 0
    rounds::UInt64 = 0
    entries::UInt64 = 0
    contributor_count::UInt32 = 0
    late::UInt32 = 0
    resync::UInt32 = 0
    dense::UInt32 = 0
    staleness::UInt64 = 0
    slowest_clock::UInt64 = 0
end
Base.@kwdef struct pace_wait_options
    struct_size::UInt32 = sizeof(pace_wait_options)
    flags::UInt32 = 0
    device::pace_device = pace_device()
    stream::Ptr{Cvoid} = C_NULL
    local_iteration::UInt64 = 0
    members::Ptr{pace_member} = C_NULL
    member_capacity::UInt64 = 0
end
Base.@kwdef struct pace_slice
    buffer::pace_buffer = pace_buffer()
    first::UInt64 = 0
    count::UInt64 = 0
end
Base.@kwdef struct pace_call
    struct_size::UInt32 = sizeof(pace_call)
    flags::UInt32 = 0
    iteration::UInt64 = 0
    user_data::UInt64 = 0
    device::pace_device = pace_device()
    stream::Ptr{Cvoid} = C_NULL
    results::Ptr{pace_slice} = C_NULL
    result_count::UInt64 = 0
    reserved::NTuple{2, UInt64} = zeroed(NTuple{2, UInt64})
end
Base.@kwdef struct pace_average_options
    call::pace_call = pace_call()
    order::Int32 = 0
    keep_local::UInt32 = 0
end
Base.@kwdef struct pace_reduce_options
    call::pace_call = pace_call()
    op::Int32 = 0
    reserved::UInt32 = 0
end
Base.@kwdef struct pace_broadcast_options
    call::pace_call = pace_call()
    root::UInt32 = 0
    reserved::UInt32 = 0
end
Base.@kwdef struct pace_sync_options
    call::pace_call = pace_call()
end
Base.@kwdef struct pace_barrier_options
    call::pace_call = pace_call()
end
Base.@kwdef struct pace_push_options
    call::pace_call = pace_call()
    sparse::UInt32 = 0
    reserved::UInt32 = 0
    entries::UInt64 = 0
    first::UInt64 = 0
end
Base.@kwdef struct pace_pull_options
    call::pace_call = pace_call()
    first::UInt64 = 0
end
Base.@kwdef struct pace_checkpoint_options
    call::pace_call = pace_call()
end
Base.@kwdef struct pace_residual_options
    call::pace_call = pace_call()
end

const LAYOUT = [
    (pace_error, 512, [0, 4, 32, 64]),
    (pace_option, 32, [0, 8, 12, 16, 24]),
    (pace_session_options, 72, [0, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64]),
    (pace_session_info, 224, [0, 4, 8, 12, 16, 24, 88, 152, 216]),
    (pace_progress, 40, [0, 4, 8, 16, 24, 32]),
    (pace_buffer, 16, [0, 8, 12]),
    (pace_device, 8, [0, 4]),
    (pace_buffer_options, 32, [0, 4, 8, 16, 24, 28]),
    (pace_buffer_info, 56, [0, 4, 8, 16, 24, 32, 33, 34, 36, 44, 48]),
    (pace_request, 16, [0, 8]),
    (pace_member, 24, [0, 4, 8, 16]),
    (pace_request_info, 160, [0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 92, 96, 100, 104, 112, 120, 128, 132, 136, 140, 144, 152]),
    (pace_wait_options, 48, [0, 4, 8, 16, 24, 32, 40]),
    (pace_slice, 32, [0, 16, 24]),
    (pace_call, 72, [0, 4, 8, 16, 24, 32, 40, 48, 56]),
    (pace_average_options, 80, [0, 72, 76]),
    (pace_reduce_options, 80, [0, 72, 76]),
    (pace_broadcast_options, 80, [0, 72, 76]),
    (pace_sync_options, 72, [0]),
    (pace_barrier_options, 72, [0]),
    (pace_push_options, 96, [0, 72, 76, 80, 88]),
    (pace_pull_options, 80, [0, 72]),
    (pace_checkpoint_options, 72, [0]),
    (pace_residual_options, 72, [0]),
]

const FUNCTIONS = [
    :pace_status_name, :pace_library_version, :pace_query, :pace_text_free, :pace_session_open, :pace_session_leave,
    :pace_session_free, :pace_session_get_info, :pace_session_get_fd, :pace_session_report, :pace_buffer_create,
    :pace_buffer_free, :pace_buffer_release, :pace_buffer_get_info, :pace_buffer_to_dlpack, :pace_request_wait,
    :pace_request_test, :pace_request_wait_any, :pace_session_next, :pace_request_cancel, :pace_average, :pace_announce,
    :pace_request_ready, :pace_withdraw, :pace_reduce, :pace_broadcast, :pace_sync, :pace_barrier, :pace_push,
    :pace_pull, :pace_checkpoint, :pace_residual_save, :pace_residual_load
]

pace_status_name(status) =
    ccall(address(1), Cstring, (Int32,), status)
pace_library_version() =
    ccall(address(2), UInt32, ())
pace_query(endpoint, what, ret_json, error) =
    ccall(address(3), Int32, (Cstring, Cstring, Ptr{Ptr{UInt8}}, Ptr{pace_error}), endpoint, what, ret_json, error)
pace_text_free(text) =
    ccall(address(4), Cvoid, (Ptr{UInt8},), text)
pace_session_open(options, ret_session, error) =
    ccall(address(5), Int32, (Ptr{pace_session_options}, Ptr{Ptr{Cvoid}}, Ptr{pace_error}), options, ret_session, error)
pace_session_leave(session, timeout_ms, error) =
    ccall(address(6), Int32, (Ptr{Cvoid}, Int64, Ptr{pace_error}), session, timeout_ms, error)
pace_session_free(session) =
    ccall(address(7), Cvoid, (Ptr{Cvoid},), session)
pace_session_get_info(session, info, error) =
    ccall(address(8), Int32, (Ptr{Cvoid}, Ptr{pace_session_info}, Ptr{pace_error}), session, info, error)
pace_session_get_fd(session, ret_fd, error) =
    ccall(address(9), Int32, (Ptr{Cvoid}, Ptr{Int32}, Ptr{pace_error}), session, ret_fd, error)
pace_session_report(session, progress, error) =
    ccall(address(10), Int32, (Ptr{Cvoid}, Ptr{pace_progress}, Ptr{pace_error}), session, progress, error)
pace_buffer_create(session, type, count, options, ret_buffer, ret_data, error) =
    ccall(address(11), Int32, (Ptr{Cvoid}, Int32, UInt64, Ptr{pace_buffer_options}, Ptr{pace_buffer}, Ptr{Ptr{Cvoid}}, Ptr{pace_error}), session, type, count, options, ret_buffer, ret_data, error)
pace_buffer_free(session, buffer, error) =
    ccall(address(12), Int32, (Ptr{Cvoid}, pace_buffer, Ptr{pace_error}), session, buffer, error)
pace_buffer_release(session, buffer, error) =
    ccall(address(13), Int32, (Ptr{Cvoid}, pace_buffer, Ptr{pace_error}), session, buffer, error)
pace_buffer_get_info(session, buffer, info, error) =
    ccall(address(14), Int32, (Ptr{Cvoid}, pace_buffer, Ptr{pace_buffer_info}, Ptr{pace_error}), session, buffer, info, error)
pace_buffer_to_dlpack(session, buffer, major, ret_managed_tensor, error) =
    ccall(address(15), Int32, (Ptr{Cvoid}, pace_buffer, UInt32, Ptr{Ptr{Cvoid}}, Ptr{pace_error}), session, buffer, major, ret_managed_tensor, error)
pace_request_wait(session, request, timeout_ms, options, ret_info, error) =
    ccall(address(16), Int32, (Ptr{Cvoid}, pace_request, Int64, Ptr{pace_wait_options}, Ptr{pace_request_info}, Ptr{pace_error}), session, request, timeout_ms, options, ret_info, error)
pace_request_test(session, request, options, ret_info, error) =
    ccall(address(17), Int32, (Ptr{Cvoid}, pace_request, Ptr{pace_wait_options}, Ptr{pace_request_info}, Ptr{pace_error}), session, request, options, ret_info, error)
pace_request_wait_any(session, requests, count, timeout_ms, options, ret_request, ret_info, error) =
    ccall(address(18), Int32, (Ptr{Cvoid}, Ptr{pace_request}, UInt64, Int64, Ptr{pace_wait_options}, Ptr{pace_request}, Ptr{pace_request_info}, Ptr{pace_error}), session, requests, count, timeout_ms, options, ret_request, ret_info, error)
pace_session_next(session, timeout_ms, options, ret_request, ret_info, error) =
    ccall(address(19), Int32, (Ptr{Cvoid}, Int64, Ptr{pace_wait_options}, Ptr{pace_request}, Ptr{pace_request_info}, Ptr{pace_error}), session, timeout_ms, options, ret_request, ret_info, error)
pace_request_cancel(session, request, error) =
    ccall(address(20), Int32, (Ptr{Cvoid}, pace_request, Ptr{pace_error}), session, request, error)
pace_average(session, slices, count, options, ret_request, error) =
    ccall(address(21), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_average_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_announce(session, iteration, error) =
    ccall(address(22), Int32, (Ptr{Cvoid}, UInt64, Ptr{pace_error}), session, iteration, error)
pace_request_ready(session, request, elements, error) =
    ccall(address(23), Int32, (Ptr{Cvoid}, pace_request, UInt64, Ptr{pace_error}), session, request, elements, error)
pace_withdraw(session, error) =
    ccall(address(24), Int32, (Ptr{Cvoid}, Ptr{pace_error}), session, error)
pace_reduce(session, slices, count, options, ret_request, error) =
    ccall(address(25), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_reduce_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_broadcast(session, slices, count, options, ret_request, error) =
    ccall(address(26), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_broadcast_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_sync(session, slices, count, options, ret_request, error) =
    ccall(address(27), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_sync_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_barrier(session, options, ret_request, error) =
    ccall(address(28), Int32, (Ptr{Cvoid}, Ptr{pace_barrier_options}, Ptr{pace_request}, Ptr{pace_error}), session, options, ret_request, error)
pace_push(session, slices, count, options, ret_request, error) =
    ccall(address(29), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_push_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_pull(session, slices, count, options, ret_request, error) =
    ccall(address(30), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_pull_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_checkpoint(session, options, ret_request, error) =
    ccall(address(31), Int32, (Ptr{Cvoid}, Ptr{pace_checkpoint_options}, Ptr{pace_request}, Ptr{pace_error}), session, options, ret_request, error)
pace_residual_save(session, slices, count, options, ret_request, error) =
    ccall(address(32), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_residual_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)
pace_residual_load(session, slices, count, options, ret_request, error) =
    ccall(address(33), Int32, (Ptr{Cvoid}, Ptr{pace_slice}, UInt64, Ptr{pace_residual_options}, Ptr{pace_request}, Ptr{pace_error}), session, slices, count, options, ret_request, error)

const function_pointers = fill(C_NULL, length(FUNCTIONS))
const loader = Ref{Function}(() -> error("no loader has been set"))

function address(index)
    function_pointers[index] == C_NULL && loader[]()
    return function_pointers[index]
end
end
