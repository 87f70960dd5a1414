"""Buffer and Slice: memory that this process and the daemon share, and ranges of it."""

import builtins
import ctypes
import importlib
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, cast

from pace import _abi
from pace._library import library
from pace.errors import Handle as HandleError
from pace.errors import Invalid, Unsupported
from pace.info import BufferInfo, buffer_info_of
from pace.memory import Imported, Memory, capsule_of
from pace.types import Type, device_name, type_of_number

if TYPE_CHECKING:
    from pace.handle import Handle


class Buffer:
    """Elements that verbs work on. Made by Session.buffer(), import_array() and import_fd().

    The arrays of numpy(), memoryview() and DLPack own the memory together with the Buffer: it stays
    until the Buffer and the last array are gone, also after free() and after the session's end.
    A buffer's elements must not be touched while a request that names them is in flight. A buffer
    without references is freed by the next call that makes or frees a buffer. Threads: any.
    """

    def __init__(self, handle: "Handle", raw: _abi.pace_buffer, shape: Tuple[int, ...], imported: Optional[Imported] = None):
        self._handle = handle
        self._raw = raw
        self._imported = imported
        self._memory: Optional[Memory] = None
        self._finalizer = weakref.finalize(self, _end_of(handle, imported), raw)
        self._finalizer.atexit = False
        described = self._describe()
        self._kind: Type = type_of_number(described.type)
        self._count = int(described.count)
        self._device = _abi.pace_device(described.device.type, described.device.id)
        self.shape = shape

    def __repr__(self) -> str:
        return f"<pace.Buffer {self.dtype} {self.shape} on {device_name(self._device)}>"

    def __len__(self) -> int:
        """How many elements it has, counted over all dimensions."""
        return self._count

    def __getitem__(self, key: slice) -> "Slice":
        """The elements of a range without steps, counted over all dimensions."""
        return Slice(self, 0, self._count)[key]

    @property
    def dtype(self) -> str:
        """"f32", "f64", "f16", "bf16" or "u32"."""
        return self._kind.name

    @property
    def info(self) -> BufferInfo:
        """What libpace tells of it. Raises Handle when it is freed."""
        return buffer_info_of(self._describe())

    def free(self) -> None:
        """Gives the buffer back to the daemon. Arrays over it stay good. Freeing it twice does nothing.

        Blocks for one exchange with the daemon. Raises Invalid while a request in flight names it.
        """
        if self._finalizer.alive:
            self._handle.call(library().pace_buffer_free, self._raw)
            self._finalizer.detach()

    def numpy(self) -> Any:
        """The elements as a NumPy array of this shape, without a copy. bf16, which NumPy lacks, is shown as uint16.

        The array keeps the memory. Raises ImportError without NumPy, Handle when the buffer is freed, and Unsupported on a GPU.
        """
        numpy: Any = importlib.import_module("numpy")
        if not self._is_on_host():
            raise Unsupported("numpy(): the buffer is on a GPU; use torch.from_dlpack(buffer) or cupy.asarray(buffer)", "buffer")
        array = numpy.asarray(self._shared())
        return (array.view(self._kind.numpy_name) if self._kind.numpy_name else array).reshape(self.shape)

    def memoryview(self) -> "builtins.memoryview":
        """The elements as a memoryview of one dimension; those of f16 and bf16 as 16-bit numbers. As numpy(), without NumPy."""
        if not self._is_on_host():
            raise Unsupported("memoryview(): the buffer is on a GPU", "buffer")
        # cast: the formats of ctypes name a byte order, which memoryview does not index.
        view: Any = memoryview(self._shared().ctypes_array(self._kind)).cast("B")
        return cast("builtins.memoryview", view.cast(self._kind.array_code))

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        return self._interface("__array_interface__")

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return self._interface("__cuda_array_interface__")

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (self._device.type or _abi.PACE_DEVICE_CPU, self._device.id)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        """A capsule with a tensor that holds the memory by itself. Says nothing of streams: wait for requests first."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("Pace gives its memory where it is, without a copy")
        if self._imported is not None and hasattr(self._imported.owner[0], "__dlpack__"):
            return self._imported.owner[0].__dlpack__()
        if self._imported is not None:
            return self.numpy().__dlpack__()
        major = 1 if max_version is not None and max_version[0] >= 1 else 0
        return capsule_of(self._new_tensor(major), major, self.shape)

    def _interface(self, name: str) -> Dict[str, Any]:
        # Consumers ask by hasattr, so the attribute must be absent for the other kind of device and
        # for bf16.
        if (name == "__array_interface__") != self._is_on_host() or self.dtype == "bf16":
            raise AttributeError(name)
        described: Dict[str, Any] = getattr(self._shared(), name)
        return {**described, "shape": self.shape}

    def _is_on_host(self) -> bool:
        return self._device.type in (0, _abi.PACE_DEVICE_CPU)

    def _describe(self) -> _abi.pace_buffer_info:
        described = _abi.pace_buffer_info(struct_size=ctypes.sizeof(_abi.pace_buffer_info))
        self._handle.call(library().pace_buffer_get_info, self._raw, ctypes.byref(described))
        return described

    def _shared(self) -> Memory:
        if not self._finalizer.alive:
            raise HandleError("buffer: it has been freed; make another one", "buffer")
        if self._memory is None:
            self._memory = self._new_memory()
        return self._memory

    def _new_memory(self) -> Memory:
        address = self._describe().data or 0
        if self._imported is not None:
            return Memory(self._kind, self._count, self._device, address, owner=self._imported.owner)
        try:
            return Memory(self._kind, self._count, self._device, address, self._new_tensor(0))
        except Unsupported:  # on a GPU whose memory goes with its daemon: then the buffer keeps it
            return Memory(self._kind, self._count, self._device, address)

    def _new_tensor(self, major: int) -> int:
        tensor = ctypes.c_void_p()
        self._handle.call(library().pace_buffer_to_dlpack, self._raw, major, ctypes.byref(tensor))
        return tensor.value or 0


def _end_of(handle: "Handle", imported: Optional[Imported]) -> Callable[[_abi.pace_buffer], None]:
    """Gives the function that ends a buffer without references. If the buffer is the trainer's own
    memory on a GPU, the daemon must let go of it before it is freed."""
    is_on_gpu = imported is not None and imported.device.type not in (0, _abi.PACE_DEVICE_CPU)
    return handle.free_buffer if is_on_gpu else handle.release_buffer


class Slice:
    """`count` elements of a buffer from element `first` on; None: to its end. Verbs check the bounds."""

    def __init__(self, buffer: Buffer, first: int, count: Optional[int] = None):
        self.buffer = buffer
        self.first = first
        self.count = count

    def __repr__(self) -> str:
        return f"<pace.Slice {self.first}:{self.first + len(self)} of {self.buffer!r}>"

    def __len__(self) -> int:
        return max(len(self.buffer) - self.first, 0) if self.count is None else self.count

    def __getitem__(self, key: slice) -> "Slice":
        if not isinstance(key, slice):
            raise TypeError(f"a buffer is cut by a range, buffer[10:20], not by {key!r}; numpy() gives its elements")
        first, end, step = key.indices(len(self))
        if step != 1:
            raise Invalid(f"slices: the step {step} is none that Pace knows; give a range without one", "slices")
        return Slice(self.buffer, self.first + first, max(end - first, 0))

    def numpy(self) -> Any:
        """These elements as a NumPy array of one dimension, as Buffer.numpy()."""
        return self.buffer.numpy().reshape(-1)[self.first:self.first + len(self)]


# What a verb works on: a Buffer, a Slice, or several of them, which count as one vector in the order given.
Operand = Union[Buffer, Slice, Sequence[Union[Buffer, Slice]]]


def slices_of(operand: Operand, argument: str) -> "Tuple[Any, int, List[Slice]]":
    """An array of pace_slice, its length, and the slices, which keep their buffers. Raises Invalid."""
    listed: Sequence[Any] = [operand] if isinstance(operand, (Buffer, Slice)) else operand
    try:
        slices = [part if isinstance(part, Slice) else Slice(_buffer(part, argument), 0) for part in listed]
    except TypeError:
        raise _no_buffer(operand, argument) from None
    array = (_abi.pace_slice * max(len(slices), 1))()
    for raw, part in zip(array, slices):
        raw.buffer = part.buffer._raw
        raw.first = _unsigned(part.first, argument)
        raw.count = _abi.PACE_REST if part.count is None else _unsigned(part.count, argument)
    return array, len(slices), slices


def _unsigned(number: int, argument: str) -> int:
    if not 0 <= number < 2 ** 64:
        raise Invalid(f"{argument}: {number} is no count of elements; give a range within the buffer", argument)
    return number


def _buffer(part: Any, argument: str) -> Buffer:
    if not isinstance(part, Buffer):
        raise _no_buffer(part, argument)
    return part


def _no_buffer(part: Any, argument: str) -> Invalid:
    return Invalid(f"{argument}: a {type(part).__name__} is no buffer; session.buffer() makes one, "
                   "and session.import_array(array) makes one of an array", argument)
