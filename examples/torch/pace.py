"""The part of pace.h that a data-parallel trainer needs, through ctypes."""

import ctypes as c

F32 = 1
SESSION_SIGNALS = 2
CONNECT_MS = 10000
FOREVER = -1
REST = 2 ** 64 - 1
LEAVE_MS = 1000
STALE = 4
INTERRUPTED = 6
WAIT_SIGNALS = 1
CUDA = 2


class _SessionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("rank", c.c_uint32), ("world", c.c_uint32), ("flags", c.c_uint32),
                ("connect_ms", c.c_int64), ("endpoint", c.c_char_p), ("job", c.c_char_p), ("policy", c.c_char_p)]


class _Error(c.Structure):
    _fields_ = [("status", c.c_int32), ("reserved", c.c_uint32 * 7), ("argument", c.c_char * 32),
                ("message", c.c_char * 448)]


class _Buffer(c.Structure):
    _fields_ = [("session", c.c_uint64), ("index", c.c_uint32), ("generation", c.c_uint32)]


class _Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("id", c.c_int32)]


class _BufferOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("source", c.c_int32), ("device", _Device)]


class _Slice(c.Structure):
    _fields_ = [("buffer", _Buffer), ("first", c.c_uint64), ("count", c.c_uint64)]


class _Call(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("iteration", c.c_uint64), ("user_data", c.c_uint64),
                ("device", _Device), ("stream", c.c_void_p),
                ("results", c.c_void_p), ("result_count", c.c_size_t), ("reserved", c.c_uint64 * 2)]


class _BufferInfo(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("type", c.c_int32), ("count", c.c_uint64), ("data", c.c_void_p),
                ("device", _Device), ("dl_type_code", c.c_uint8), ("dl_type_bits", c.c_uint8),
                ("dl_type_lanes", c.c_uint16), ("typestr", c.c_char * 8)]


class _Request(c.Structure):
    _fields_ = [("session", c.c_uint64), ("id", c.c_uint64)]


class _WaitOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("device", _Device), ("stream", c.c_void_p)]


class _RequestInfo(c.Structure):
    # The first fields; struct_size says that there are no more.
    _fields_ = [("struct_size", c.c_uint32), ("status", c.c_int32), ("iteration", c.c_uint64)]


class _ReduceOptions(c.Structure):
    _fields_ = [("call", _Call), ("op", c.c_int32), ("reserved", c.c_uint32)]


class _BroadcastOptions(c.Structure):
    _fields_ = [("call", _Call), ("root", c.c_uint32), ("reserved", c.c_uint32)]


class PaceError(Exception):
    """What a call says of its failure."""


class Stale(PaceError):
    """The job went on without this worker: broadcast() gives it the current model."""


class Memory:
    """A buffer's memory, as NumPy, CuPy and PyTorch understand it."""

    def __init__(self, info):
        described = {"version": 3, "shape": (info.count,), "typestr": info.typestr.decode(), "strides": None,
                     "data": (info.data, False)}
        if info.device.type == CUDA:
            self.__cuda_array_interface__ = described
        else:
            self.__array_interface__ = described


class Session:
    """One worker of an all-reduce job."""

    def __init__(self, library, endpoint, job, rank, world):
        self._pace = c.CDLL(library)
        # Handles are passed by value, and a timeout has 64 bits.
        self._pace.pace_buffer_get_info.argtypes = [c.c_void_p, _Buffer, c.c_void_p, c.c_void_p]
        self._pace.pace_buffer_to_dlpack.argtypes = [c.c_void_p, _Buffer, c.c_uint32, c.c_void_p, c.c_void_p]
        self._pace.pace_request_wait.argtypes = [c.c_void_p, _Request, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p]
        self._pace.pace_session_leave.argtypes = [c.c_void_p, c.c_int64, c.c_void_p]
        self._error = _Error()
        self._stream = (_Device(), None)
        self._session = c.c_void_p()
        options = _SessionOptions(c.sizeof(_SessionOptions), rank, world, SESSION_SIGNALS, CONNECT_MS, endpoint.encode(),
                                  job.encode(), b"all-reduce")
        self._call(self._pace.pace_session_open, c.byref(options), c.byref(self._session))

    def buffer(self, count, cuda=None):
        """A handle, and the memory of `count` float32 on the CUDA device of that number, or on the host."""
        options = _BufferOptions(c.sizeof(_BufferOptions), 0, _Device() if cuda is None else _Device(CUDA, cuda))
        handle, data, info = _Buffer(), c.c_void_p(), _BufferInfo(struct_size=c.sizeof(_BufferInfo))
        self._call(self._pace.pace_buffer_create, self._session, F32, c.c_uint64(count), c.byref(options),
                   c.byref(handle), c.byref(data))
        self._call(self._pace.pace_buffer_get_info, self._session, handle, c.byref(info))
        return handle, Memory(info)

    def to_dlpack(self, handle):
        """The address of a DLManagedTensor of the buffer, which outlives it: for a capsule "dltensor"."""
        managed = c.c_void_p()
        self._call(self._pace.pace_buffer_to_dlpack, self._session, handle, c.c_uint32(0), c.byref(managed))
        return managed

    def broadcast(self, handle, root=0):
        """The root's model; in a job that is under way, that of a worker in it. wait() gives the step to go on with."""
        return self._begin(self._pace.pace_broadcast, handle, _BroadcastOptions(self._call_of(_BroadcastOptions), root))

    def reduce(self, handle, step):
        """The mean over all workers. A newcomer is told the step after the newest."""
        return self._begin(self._pace.pace_reduce, handle, _ReduceOptions(self._call_of(_ReduceOptions, step + 1)))

    def wait(self, request):
        return self._end(request, _Device())

    def use_stream(self, stream, cuda=0):
        """Calls follow what is on this stream (a cudaStream_t) of the CUDA device of that number by then."""
        self._stream = (_Device(CUDA, cuda), stream)

    def wait_on_stream(self, request, stream, cuda=0):
        """The stream of the CUDA device of that number waits for the result."""
        return self._end(request, _Device(CUDA, cuda), stream)

    def close(self):
        """Leaves the job in order. A session that is not closed ends as if its worker had died."""
        self._pace.pace_session_leave(self._session, LEAVE_MS, None)
        self._pace.pace_session_free(self._session)

    def _call_of(self, options, iteration=0):
        return _Call(c.sizeof(options), 0, iteration, 0, *self._stream)

    def _begin(self, verb, handle, options):
        request, whole = _Request(), _Slice(handle, 0, REST)
        self._call(verb, self._session, c.byref(whole), c.c_size_t(1), c.byref(options), c.byref(request))
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
