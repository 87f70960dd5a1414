"""The part of pace.h that a data-parallel trainer needs, through ctypes."""

import ctypes as c

F32 = 1
ALL_REDUCE = 1
FOREVER = -1
LEAVE_MS = 1000
STALE = 4
INTERRUPTED = 6
WAIT_SIGNALS = 1
CUDA = 2


class _JobOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("rank", c.c_uint32), ("world", c.c_uint32), ("policy", c.c_int32),
                ("name", c.c_char_p), ("group_size", c.c_uint32), ("group_min", c.c_uint32), ("weights", c.c_int32),
                ("missing", c.c_int32), ("alpha", c.c_double), ("has_alpha", c.c_uint32),
                ("group_wait_ms", c.c_uint32), ("history_window", c.c_uint32), ("worker_timeout_ms", c.c_uint32),
                ("connect_ms", c.c_uint32), ("reserved", c.c_uint32), ("quorum", c.c_int32),
                ("quorum_count", c.c_uint32), ("late", c.c_int32), ("staleness_max", c.c_uint32),
                ("divide_by", c.c_int32), ("resync_every", c.c_uint32), ("compression", c.c_int32),
                ("residuals", c.c_int32), ("density", c.c_double), ("teams", c.c_uint32), ("team_gather", c.c_int32),
                ("indices", c.c_int32), ("values", c.c_int32), ("hierarchy", c.c_int32),
                ("dense_fallback", c.c_int32), ("reject_nonfinite", c.c_uint32), ("progress_gap", c.c_uint32),
                ("edge_count", c.c_uint32), ("edges", c.POINTER(c.c_uint32)), ("elements", c.c_uint64),
                ("rate", c.c_int32), ("has_filter", c.c_uint32), ("constant_rate", c.c_double), ("filter", c.c_double),
                ("shards", c.c_uint32), ("checkpoint_every_ms", c.c_uint32), ("checkpoint_copies", c.c_uint32),
                ("restore", c.c_uint32), ("unsynchronized", c.c_uint32), ("run_id", c.c_char_p),
                ("resume", c.c_uint32), ("interruptible", c.c_uint32)]


class _Error(c.Structure):
    _fields_ = [("status", c.c_int32), ("message", c.c_char * 512)]


class _Buffer(c.Structure):
    _fields_ = [("session", c.c_uint64), ("index", c.c_uint32), ("generation", c.c_uint32)]


class _BufferOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("device", c.c_uint32)]


class _BufferInfo(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("type", c.c_int32), ("count", c.c_uint64), ("data", c.c_void_p),
                ("device", c.c_uint32), ("dl_device_type", c.c_int32), ("dl_device_id", c.c_int32),
                ("dl_type_code", c.c_uint8), ("dl_type_bits", c.c_uint8), ("dl_type_lanes", c.c_uint16),
                ("typestr", c.c_char * 8)]


class _Request(c.Structure):
    _fields_ = [("session", c.c_uint64), ("id", c.c_uint64)]


class _Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("id", c.c_int32)]


class _WaitOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("device", _Device), ("stream", c.c_void_p)]


class _RequestInfo(c.Structure):
    # The first fields; struct_size says that there are no more.
    _fields_ = [("struct_size", c.c_uint32), ("status", c.c_int32), ("iteration", c.c_uint64)]


class _ReduceOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("op", c.c_int32), ("iteration", c.c_uint64)]


class PaceError(Exception):
    """What a call says of its failure."""


class Stale(PaceError):
    """The job went on without this worker: broadcast() gives it the current model."""


class Memory:
    """A buffer's memory, as NumPy, CuPy and PyTorch understand it."""

    def __init__(self, info):
        described = {"version": 3, "shape": (info.count,), "typestr": info.typestr.decode(), "strides": None,
                     "data": (info.data, False)}
        if info.device:
            self.__cuda_array_interface__ = described
        else:
            self.__array_interface__ = described


class Session:
    """One worker of an all-reduce job."""

    def __init__(self, library, endpoint, job, rank, world):
        self._pace = c.CDLL(library)
        # Handles are passed by value, and a timeout has 64 bits.
        self._pace.pace_buffer_get_info.argtypes = [c.c_void_p, _Buffer, c.c_void_p, c.c_void_p]
        self._pace.pace_request_wait.argtypes = [c.c_void_p, _Request, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p]
        self._pace.pace_session_leave.argtypes = [c.c_void_p, c.c_int64, c.c_void_p]
        self._error = _Error()
        self._session = c.c_void_p()
        options = _JobOptions(c.sizeof(_JobOptions), rank, world, ALL_REDUCE, job.encode(), interruptible=1)
        self._call(self._pace.pace_session_open, endpoint.encode(), c.byref(options), c.byref(self._session))

    def buffer(self, count, cuda=None):
        """A handle, and the memory of `count` float32 on the CUDA device of that number, or on the host."""
        options = _BufferOptions(c.sizeof(_BufferOptions), 0 if cuda is None else cuda + 1)
        handle, data, info = _Buffer(), c.c_void_p(), _BufferInfo(struct_size=c.sizeof(_BufferInfo))
        self._call(self._pace.pace_buffer_create, self._session, F32, c.c_uint64(count), c.byref(options),
                   c.byref(handle), c.byref(data))
        self._call(self._pace.pace_buffer_get_info, self._session, handle, c.byref(info))
        return handle, Memory(info)

    def broadcast(self, handle, root=0):
        """The root's model; in a job that is under way, that of a worker in it. wait() gives the step to go on with."""
        return self._begin(self._pace.pace_broadcast, handle, c.c_uint32(root))

    def reduce(self, handle, step):
        """The mean over all workers. A newcomer is told the step after the newest."""
        options = _ReduceOptions(c.sizeof(_ReduceOptions), 0, step + 1)
        return self._begin(self._pace.pace_reduce, handle, c.byref(options))

    def wait(self, request):
        return self._end(request, _Device())

    def use_stream(self, stream):
        """Calls follow what is on this stream (a cudaStream_t) by then."""
        self._call(self._pace.pace_session_set_stream, self._session, c.c_void_p(stream))

    def wait_on_stream(self, request, stream, cuda=0):
        """The stream of the CUDA device of that number waits for the result."""
        return self._end(request, _Device(CUDA, cuda), stream)

    def close(self):
        """Leaves the job in order. A session that is not closed ends as if its worker had died."""
        self._pace.pace_session_leave(self._session, LEAVE_MS, None)
        self._pace.pace_session_free(self._session)

    def _begin(self, verb, handle, argument):
        request = _Request()
        self._call(verb, self._session, c.byref(handle), c.c_size_t(1), argument, c.byref(request))
        return request

    def _end(self, request, device, stream=None):
        how = _WaitOptions(c.sizeof(_WaitOptions), WAIT_SIGNALS, device, stream)
        info = _RequestInfo(struct_size=c.sizeof(_RequestInfo))
        self._call(self._pace.pace_request_wait, self._session, request, FOREVER, c.byref(how), c.byref(info))
        return info.iteration

    def _call(self, function, *arguments):
        # Python handles signals between two calls: Ctrl-C ends a wait by KeyboardInterrupt, also one to open, or to reconnect.
        while (status := function(*arguments, c.byref(self._error))) == INTERRUPTED:
            pass
        if status != 0:
            raise (Stale if status == STALE else PaceError)(f"{function.__name__}: {self._error.message.decode()}")
