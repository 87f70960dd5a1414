"""What capi/pace.h declares, in the words of ctypes. Written by generate.py: change the header, not this file.

The names are those of pace.h, whose comments document them. `declare` gives the functions of a loaded library
their argument and result types.
"""

import ctypes as c
from typing import Any, List, Tuple

PACE_VERSION_MAJOR = 1
PACE_VERSION_MINOR = 0
PACE_VERSION_PATCH = 0
PACE_POLICY_ALL_REDUCE = "all-reduce"
PACE_POLICY_PARTIAL_REDUCE = "partial-reduce"
PACE_POLICY_PRAGUE_RANDOM = "prague-random"
PACE_POLICY_PRAGUE_SMART = "prague-smart"
PACE_POLICY_AD_PSGD = "ad-psgd"
PACE_POLICY_FULL = "full"
PACE_POLICY_PRAGUE_STATIC = "prague-static"
PACE_POLICY_AUTO = "auto"
PACE_POLICY_BSP = "bsp"
PACE_POLICY_SSP = "ssp"
PACE_POLICY_ASP = "asp"
PACE_OPT_WORKER_TIMEOUT_MS = "worker.timeout_ms"
PACE_OPT_RUN_MIN_WORKERS = "run.min_workers"
PACE_OPT_RUN_WAIT_MS = "run.wait_ms"
PACE_OPT_GROUP_SIZE = "group.size"
PACE_OPT_GROUP_MIN = "group.min"
PACE_OPT_GROUP_WAIT_MS = "group.wait_ms"
PACE_OPT_GROUP_WINDOW = "group.window"
PACE_OPT_GROUP_PROGRESS_GAP = "group.progress_gap"
PACE_OPT_GROUP_EDGES = "group.edges"
PACE_OPT_AVERAGE_WEIGHTS = "average.weights"
PACE_OPT_AVERAGE_ALPHA = "average.alpha"
PACE_OPT_AVERAGE_MISSING = "average.missing"
PACE_OPT_QUORUM = "quorum"
PACE_OPT_QUORUM_COUNT = "quorum.count"
PACE_OPT_QUORUM_LATE = "quorum.late"
PACE_OPT_QUORUM_STALENESS_MAX = "quorum.staleness_max"
PACE_OPT_QUORUM_DIVIDE_BY = "quorum.divide_by"
PACE_OPT_REDUCE_RESYNC_EVERY = "reduce.resync_every"
PACE_OPT_REDUCE_REJECT_NONFINITE = "reduce.reject_nonfinite"
PACE_OPT_COMPRESSION = "compression"
PACE_OPT_TOPK_DENSITY = "topk.density"
PACE_OPT_TOPK_RESIDUALS = "topk.residuals"
PACE_OPT_TOPK_TEAMS = "topk.teams"
PACE_OPT_TOPK_TEAM_GATHER = "topk.team_gather"
PACE_OPT_TOPK_INDICES = "topk.indices"
PACE_OPT_TOPK_VALUES = "topk.values"
PACE_OPT_TOPK_HIERARCHY = "topk.hierarchy"
PACE_OPT_TOPK_DENSE_FALLBACK = "topk.dense_fallback"
PACE_OPT_SERVER_ELEMENTS = "server.elements"
PACE_OPT_SERVER_STALENESS = "server.staleness"
PACE_OPT_SERVER_RATE = "server.rate"
PACE_OPT_SERVER_CONSTANT_RATE = "server.constant_rate"
PACE_OPT_SERVER_FILTER = "server.filter"
PACE_OPT_SERVER_SHARDS = "server.shards"
PACE_OPT_SERVER_CHECKPOINT_EVERY_MS = "server.checkpoint_every_ms"
PACE_OPT_SERVER_CHECKPOINT_COPIES = "server.checkpoint_copies"
PACE_OPT_SERVER_RESTORE = "server.restore"
PACE_OPT_SERVER_UNSYNCHRONIZED = "server.unsynchronized"
PACE_FOREVER = -1
PACE_REST = 18446744073709551615
PACE_OK = 0
PACE_TIMEOUT = 1
PACE_ABORTED = 2
PACE_CANCELED = 3
PACE_STALE = 4
PACE_PENDING = 5
PACE_INTERRUPTED = 6
PACE_E_INVALID = -1
PACE_E_HANDLE = -2
PACE_E_VERB = -3
PACE_E_MISMATCH = -4
PACE_E_NOT_FOUND = -5
PACE_E_TAKEN = -6
PACE_E_VERSION = -7
PACE_E_DAEMON_GONE = -8
PACE_E_NO_CONTROLLER = -9
PACE_E_LIMIT = -10
PACE_E_MEMORY = -11
PACE_E_DISK = -12
PACE_E_DENIED = -13
PACE_E_CLOSED = -14
PACE_E_INTERNAL = -15
PACE_E_REFUSED = -16
PACE_E_UNSUPPORTED = -17
PACE_INT = 1
PACE_REAL = 2
PACE_TEXT = 3
PACE_BYTES = 4
PACE_OPTION_HINT = 1
PACE_SESSION_RESUME = 1
PACE_SESSION_SIGNALS = 2
PACE_RUN_NEW = 0
PACE_RUN_UNDER_WAY = 1
PACE_RUN_RESUMED = 2
PACE_PROGRESS_LOSS = 1
PACE_PROGRESS_RATE = 2
PACE_PROGRESS_STEPS = 4
PACE_F32 = 1
PACE_F64 = 2
PACE_F16 = 3
PACE_BF16 = 4
PACE_U32 = 5
PACE_DEVICE_CPU = 1
PACE_DEVICE_CUDA = 2
PACE_DEVICE_ROCM = 10
PACE_DEVICE_ONEAPI = 14
PACE_NEW = 0
PACE_POINTER = 1
PACE_FD = 2
PACE_MAY_STAGE = 1
PACE_BUFFER_RESTORED = 1
PACE_BUFFER_STAGED = 2
PACE_CONTENTS_AS_CALLED = 0
PACE_CONTENTS_TORN = 1
PACE_CONTENTS_RESULT = 2
PACE_WAIT_SIGNALS = 1
PACE_WAIT_QUEUED = 2
PACE_ORDER_DEFAULT = 0
PACE_ORDER_FORWARD = 1
PACE_ORDER_BACKWARD = 2
PACE_OP_MEAN = 0
PACE_OP_SUM = 1


class pace_error(c.Structure):
    _fields_ = [
        ("status", c.c_int32),
        ("reserved", c.c_uint32 * 7),
        ("argument", c.c_char * 32),
        ("message", c.c_char * 448),
    ]


class pace_option_value(c.Union):
    _fields_ = [
        ("i", c.c_int64),
        ("r", c.c_double),
        ("text", c.c_char_p),
        ("data", c.c_void_p),
    ]


class pace_option(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("kind", c.c_int32),
        ("flags", c.c_uint32),
        ("value", pace_option_value),
        ("bytes", c.c_uint64),
    ]


class pace_session_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("rank", c.c_uint32),
        ("world", c.c_uint32),
        ("flags", c.c_uint32),
        ("connect_ms", c.c_int64),
        ("endpoint", c.c_char_p),
        ("job", c.c_char_p),
        ("policy", c.c_char_p),
        ("options", c.POINTER(pace_option)),
        ("option_count", c.c_uint64),
        ("run", c.c_char_p),
    ]


class pace_session_info(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("rank", c.c_uint32),
        ("world", c.c_uint32),
        ("run_state", c.c_uint32),
        ("generation", c.c_uint64),
        ("job", c.c_char * 64),
        ("node", c.c_char * 64),
        ("run", c.c_char * 64),
        ("run_began", c.c_uint64),
    ]


class pace_progress(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("flags", c.c_uint32),
        ("loss", c.c_double),
        ("samples_per_s", c.c_double),
        ("steps_done", c.c_uint64),
        ("steps_total", c.c_uint64),
    ]


class pace_buffer(c.Structure):
    _fields_ = [
        ("session", c.c_uint64),
        ("index", c.c_uint32),
        ("generation", c.c_uint32),
    ]


class pace_device(c.Structure):
    _fields_ = [
        ("type", c.c_int32),
        ("id", c.c_int32),
    ]


class pace_buffer_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("source", c.c_int32),
        ("device", pace_device),
        ("pointer", c.c_void_p),
        ("fd", c.c_int32),
        ("flags", c.c_uint32),
    ]


class pace_buffer_info(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("type", c.c_int32),
        ("count", c.c_uint64),
        ("data", c.c_void_p),
        ("device", pace_device),
        ("dl_type_code", c.c_uint8),
        ("dl_type_bits", c.c_uint8),
        ("dl_type_lanes", c.c_uint16),
        ("typestr", c.c_char * 8),
        ("flags", c.c_uint32),
        ("twin_bytes", c.c_uint64),
    ]


class pace_request(c.Structure):
    _fields_ = [
        ("session", c.c_uint64),
        ("id", c.c_uint64),
    ]


class pace_member(c.Structure):
    _fields_ = [
        ("rank", c.c_uint32),
        ("reserved", c.c_uint32),
        ("staleness", c.c_uint64),
        ("weight", c.c_double),
    ]


class pace_request_info(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("status", c.c_int32),
        ("iteration", c.c_uint64),
        ("user_data", c.c_uint64),
        ("group", c.c_uint64),
        ("round", c.c_uint64),
        ("version", c.c_uint64),
        ("bytes_sent", c.c_uint64),
        ("bytes_received", c.c_uint64),
        ("queued_ns", c.c_uint64),
        ("moving_ns", c.c_uint64),
        ("initial_weight", c.c_double),
        ("member_count", c.c_uint32),
        ("node_count", c.c_uint32),
        ("member_listed", c.c_uint32),
        ("contents", c.c_int32),
        ("divisor", c.c_double),
        ("rounds", c.c_uint64),
        ("entries", c.c_uint64),
        ("contributor_count", c.c_uint32),
        ("late", c.c_uint32),
        ("resync", c.c_uint32),
        ("dense", c.c_uint32),
        ("staleness", c.c_uint64),
        ("slowest_clock", c.c_uint64),
    ]


class pace_wait_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("flags", c.c_uint32),
        ("device", pace_device),
        ("stream", c.c_void_p),
        ("local_iteration", c.c_uint64),
        ("members", c.POINTER(pace_member)),
        ("member_capacity", c.c_uint64),
    ]


class pace_slice(c.Structure):
    _fields_ = [
        ("buffer", pace_buffer),
        ("first", c.c_uint64),
        ("count", c.c_uint64),
    ]


class pace_call(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("flags", c.c_uint32),
        ("iteration", c.c_uint64),
        ("user_data", c.c_uint64),
        ("device", pace_device),
        ("stream", c.c_void_p),
        ("results", c.POINTER(pace_slice)),
        ("result_count", c.c_uint64),
        ("reserved", c.c_uint64 * 2),
    ]


class pace_average_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
        ("order", c.c_int32),
        ("keep_local", c.c_uint32),
    ]


class pace_reduce_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
        ("op", c.c_int32),
        ("reserved", c.c_uint32),
    ]


class pace_broadcast_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
        ("root", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class pace_sync_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
    ]


class pace_barrier_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
    ]


class pace_push_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
        ("sparse", c.c_uint32),
        ("reserved", c.c_uint32),
        ("entries", c.c_uint64),
        ("first", c.c_uint64),
    ]


class pace_pull_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
        ("first", c.c_uint64),
    ]


class pace_checkpoint_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
    ]


class pace_residual_options(c.Structure):
    _fields_ = [
        ("call", pace_call),
    ]


FUNCTIONS: List[Tuple[str, Any, List[Any]]] = [
    ("pace_status_name", c.c_char_p,
     [c.c_int32]),
    ("pace_library_version", c.c_uint32,
     []),
    ("pace_query", c.c_int32,
     [c.c_char_p, c.c_char_p, c.c_void_p, c.c_void_p]),
    ("pace_text_free", None,
     [c.c_void_p]),
    ("pace_session_open", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_session_leave", c.c_int32,
     [c.c_void_p, c.c_int64, c.c_void_p]),
    ("pace_session_free", None,
     [c.c_void_p]),
    ("pace_session_get_info", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_session_get_fd", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_session_report", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_buffer_create", c.c_int32,
     [c.c_void_p, c.c_int32, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_buffer_free", c.c_int32,
     [c.c_void_p, pace_buffer, c.c_void_p]),
    ("pace_buffer_release", c.c_int32,
     [c.c_void_p, pace_buffer, c.c_void_p]),
    ("pace_buffer_get_info", c.c_int32,
     [c.c_void_p, pace_buffer, c.c_void_p, c.c_void_p]),
    ("pace_buffer_to_dlpack", c.c_int32,
     [c.c_void_p, pace_buffer, c.c_uint32, c.c_void_p, c.c_void_p]),
    ("pace_request_wait", c.c_int32,
     [c.c_void_p, pace_request, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_request_test", c.c_int32,
     [c.c_void_p, pace_request, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_request_wait_any", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_session_next", c.c_int32,
     [c.c_void_p, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_request_cancel", c.c_int32,
     [c.c_void_p, pace_request, c.c_void_p]),
    ("pace_average", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_announce", c.c_int32,
     [c.c_void_p, c.c_uint64, c.c_void_p]),
    ("pace_request_ready", c.c_int32,
     [c.c_void_p, pace_request, c.c_uint64, c.c_void_p]),
    ("pace_withdraw", c.c_int32,
     [c.c_void_p, c.c_void_p]),
    ("pace_reduce", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_broadcast", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_sync", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_barrier", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_push", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_pull", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_checkpoint", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_residual_save", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("pace_residual_load", c.c_int32,
     [c.c_void_p, c.c_void_p, c.c_uint64, c.c_void_p, c.c_void_p, c.c_void_p]),
]


def declare(library: c.CDLL) -> None:
    """Gives the functions of libpace their types. Raises AttributeError when one is missing."""
    for name, result, arguments in FUNCTIONS:
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
