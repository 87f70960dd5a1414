"""Element types and devices: their names here, in pace.h, in NumPy and in DLPack."""

import re
from typing import Any, Dict, NamedTuple, Optional, Tuple

from pace import _abi
from pace.errors import Invalid


class Type(NamedTuple):
    """An element type. `array_code` is the code of the modules array and struct, and "H", the bits, where those have none."""

    name: str
    number: int
    bytes: int
    array_code: str
    numpy_name: Optional[str]
    dlpack: Tuple[int, int]


TYPES: Dict[str, Type] = {kind.name: kind for kind in (
    Type("f32", _abi.PACE_F32, 4, "f", "float32", (2, 32)),
    Type("f64", _abi.PACE_F64, 8, "d", "float64", (2, 64)),
    Type("f16", _abi.PACE_F16, 2, "H", "float16", (2, 16)),
    Type("bf16", _abi.PACE_BF16, 2, "H", None, (4, 16)),
    Type("u32", _abi.PACE_U32, 4, "I", "uint32", (1, 32)),
)}
_OTHER_NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "uint32": "u32",
                "float": "f64", "half": "f16", "double": "f64"}


def type_of(dtype: Any) -> Type:
    """The type of a name ("f32", "float32"), a dtype of NumPy or of PyTorch. Raises Invalid."""
    if isinstance(dtype, Type):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = name.rpartition(".")[2]
    name = _OTHER_NAMES.get(name, name)
    if name not in TYPES:
        raise Invalid(f"dtype: {dtype!r} is no element type of Pace; give one of {', '.join(TYPES)}", "type")
    return TYPES[name]


def type_of_dlpack(code: int, bits: int, lanes: int) -> Type:
    for kind in TYPES.values():
        if kind.dlpack == (code, bits) and lanes == 1:
            return kind
    raise Invalid(f"array: elements of DLPack's type {code}/{bits}/{lanes} are none of Pace's; convert the array to one of "
                  f"{', '.join(TYPES)}", "type")


def type_of_number(number: int) -> Type:
    return next(kind for kind in TYPES.values() if kind.number == number)


_DEVICES = {"cpu": _abi.PACE_DEVICE_CPU, "cuda": _abi.PACE_DEVICE_CUDA, "rocm": _abi.PACE_DEVICE_ROCM,
            "oneapi": _abi.PACE_DEVICE_ONEAPI}


def device_of(device: Any) -> _abi.pace_device:
    """The device of "cpu", "cuda:0", a device of PyTorch, or None, which is the host. Raises Invalid."""
    if device is None:
        return _abi.pace_device()
    if isinstance(device, _abi.pace_device):
        return device
    match = re.fullmatch(r"([a-z]+)(?::(\d{1,9}))?", str(device))
    if match is None or match.group(1) not in _DEVICES:
        raise Invalid(f"device: {device!r} is none; give \"cpu\" or \"cuda:0\"", "device")
    return _abi.pace_device(_DEVICES[match.group(1)], int(match.group(2) or 0))


def device_name(device: _abi.pace_device) -> str:
    if device.type in (0, _abi.PACE_DEVICE_CPU):
        return "cpu"
    name = next((name for name, number in _DEVICES.items() if number == device.type), str(device.type))
    return f"{name}:{device.id}"


def stream_address(stream: Any) -> Optional[int]:
    """The cudaStream_t of a number, or of a stream of PyTorch or CuPy. None is the default stream."""
    for attribute in ("cuda_stream", "ptr"):
        stream = getattr(stream, attribute, stream)
    if stream is None or isinstance(stream, int):
        return stream
    raise Invalid(f"stream: {stream!r} is none; give a cudaStream_t as a number, or a stream of PyTorch or CuPy", "stream")
