"""Memory: the memory of a buffer's elements, kept for as long as an array refers to it, as NumPy
and DLPack describe it.

The tensor that libpace makes of a buffer holds its memory by itself. A Memory owns one, and every
array over the buffer refers to its Memory. The memory therefore stays after the buffer and the
session are gone, until the last array is gone.
"""

import ctypes as c
import os
import weakref
from typing import Any, Dict, Optional, Tuple

from pace import _abi
from pace.errors import Invalid
from pace.types import Type


class _DLDataType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class _DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", _abi.pace_device), ("ndim", c.c_int32), ("dtype", _DLDataType),
                ("shape", c.c_void_p), ("strides", c.c_void_p), ("byte_offset", c.c_uint64)]


class _DLManagedTensor(c.Structure):
    _fields_ = [("dl_tensor", _DLTensor), ("manager_ctx", c.c_void_p), ("deleter", c.c_void_p)]


class _DLManagedTensorVersioned(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("manager_ctx", c.c_void_p), ("deleter", c.c_void_p),
                ("flags", c.c_uint64), ("dl_tensor", _DLTensor)]


_Deleter = c.CFUNCTYPE(None, c.c_void_p)
_CapsuleDestructor = c.PYFUNCTYPE(None, c.c_void_p)

# The capsule by its address: within the capsule's destructor nothing may count references to it.
_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(("PyCapsule_IsValid", c.pythonapi))
_get_pointer = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", c.pythonapi))
_get_pointer_of = c.PYFUNCTYPE(c.c_void_p, c.py_object, c.c_char_p)(("PyCapsule_GetPointer", c.pythonapi))
_new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(("PyCapsule_New", c.pythonapi))

# Names of capsules; these bytes must live as long as the capsules.
_NAMES = (b"dltensor", b"dltensor_versioned")
_STRUCTURES = (_DLManagedTensor, _DLManagedTensorVersioned)


def _delete(address: int, major: int) -> None:
    deleter = _STRUCTURES[major].from_address(address).deleter
    if deleter:
        _Deleter(deleter)(address)


def _delete_here(address: int, pid: int) -> None:
    """In a forked child the memory is the parent's alone."""
    if os.getpid() == pid:
        _delete(address, 0)


def _end_capsule(capsule: int) -> None:
    """Ends a tensor that no consumer has taken. Whoever takes one renames its capsule."""
    for major, name in enumerate(_NAMES):
        if _is_valid(capsule, name):
            _delete(_get_pointer(capsule, name), major)


_destroy_capsule = _CapsuleDestructor(_end_capsule)
# Capsules may outlive this module, at the end of the process: the function stays for ever.
c.pythonapi.Py_IncRef(c.py_object(_destroy_capsule))

_shapes: Dict[Tuple[int, ...], Any] = {}


def capsule_of(tensor: int, major: int, shape: Tuple[int, ...]) -> Any:
    """A capsule that owns the tensor of that address, which libpace made, with a shape."""
    managed = _STRUCTURES[major].from_address(tensor)
    if len(shape) != 1:
        # A consumer may keep the tensor for ever, so its shape and strides are kept too, once for
        # each shape in use.
        if shape not in _shapes:
            _shapes[shape] = ((c.c_int64 * len(shape))(*shape), (c.c_int64 * len(shape))(*_strides(shape)))
        shapes, strides = _shapes[shape]
        managed.dl_tensor.ndim = len(shape)
        managed.dl_tensor.shape = c.addressof(shapes)
        managed.dl_tensor.strides = c.addressof(strides)
    return _new_capsule(tensor, _NAMES[major], c.cast(_destroy_capsule, c.c_void_p))


def _strides(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


class Memory:
    """`count` elements at an address. Owns the tensor, if one is given, and ends it with itself; keeps `owner` alive."""

    def __init__(self, kind: Type, count: int, device: _abi.pace_device, address: int, tensor: Optional[int] = None,
                 owner: Any = None):
        self.address = address
        self.nbytes = count * kind.bytes
        self._owner = owner
        described = {"version": 3, "shape": (count,), "strides": None, "data": (address, False),
                     "typestr": "<" + {"f16": "f2", "f32": "f4", "f64": "f8", "u32": "u4", "bf16": "u2"}[kind.name]}
        if device.type in (0, _abi.PACE_DEVICE_CPU):
            self.__array_interface__ = described
        else:
            self.__cuda_array_interface__ = described
        if tensor is not None:
            weakref.finalize(self, _delete_here, tensor, os.getpid()).atexit = False

    def ctypes_array(self, kind: Type) -> Any:
        """The elements, of memory of the host, as an array of ctypes, which keeps this alive."""
        codes: Dict[str, Any] = {"f": c.c_float, "d": c.c_double, "H": c.c_uint16, "I": c.c_uint32}
        array = (codes[kind.array_code] * (self.nbytes // kind.bytes)).from_address(self.address)
        array._memory = self
        return array


class Imported:
    """The memory of an array of another library: where it is, and what keeps it alive (`owner`)."""

    def __init__(self, array: Any):
        if hasattr(array, "__dlpack__"):
            self._read_dlpack(array)
        else:
            self._read_buffer(array)

    def _read_dlpack(self, array: Any) -> None:
        capsule = array.__dlpack__()
        tensor = _DLManagedTensor.from_address(_get_pointer_of(capsule, _NAMES[0])).dl_tensor
        self.shape = tuple((c.c_int64 * tensor.ndim).from_address(tensor.shape)) if tensor.ndim else (1,)
        if tensor.ndim and tensor.strides:
            strides = tuple((c.c_int64 * tensor.ndim).from_address(tensor.strides))
            if any(length > 1 and own != compact for length, own, compact in zip(self.shape, strides, _strides(self.shape))):
                raise Invalid("array: its elements do not lie one after another; copy it to a contiguous one", "pointer")
        self.dlpack_type: Optional[Tuple[int, int, int]] = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        self.format = ""
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.nbytes = c.sizeof(c.c_char) * tensor.dtype.bits // 8
        for length in self.shape:
            self.nbytes *= length
        self.device = _abi.pace_device(tensor.device.type, tensor.device.id)
        self.owner = (array, capsule)

    def _read_buffer(self, array: Any) -> None:
        try:
            view = memoryview(array)
        except TypeError:
            raise Invalid(f"array: a {type(array).__name__} shows no memory; give one with __dlpack__ or the buffer protocol",
                          "pointer") from None
        if view.readonly or not view.c_contiguous:
            raise Invalid("array: it cannot be written, or its elements do not lie one after another; copy it", "pointer")
        flat = view.cast("B") if view.nbytes else view
        self.shape = tuple(view.shape or (1,))
        self.dlpack_type = None
        self.format = view.format
        self.nbytes = view.nbytes
        self.address = c.addressof((c.c_char * view.nbytes).from_buffer(flat)) if view.nbytes else 0
        self.device = _abi.pace_device()
        self.owner = (array, flat)
