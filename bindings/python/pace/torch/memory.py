"""Memory: tensors that lie in the daemon's buffers, without copies."""

from typing import Any, Dict, List, Sequence, Tuple

import torch

import pace

_CUDA = 2  # in DLPack
_TYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}


def is_exchangeable(tensor: torch.Tensor) -> bool:
    """Whether its elements are of a type that Pace sums."""
    return tensor.dtype in _TYPES


def tensor_of(buffer: pace.Buffer, dtype: torch.dtype) -> torch.Tensor:
    """The buffer as a tensor of one dimension, which keeps its memory."""
    if not buffer.dtype == _TYPES[dtype]:
        raise pace.Invalid(f"the buffer holds {buffer.dtype}, not {dtype}", "dtype")
    if buffer.__dlpack_device__()[0] != 1:
        return torch.from_dlpack(buffer).reshape(-1)  # type: ignore
    array: Any = buffer.numpy().reshape(-1)
    if dtype is torch.bfloat16:  # NumPy has it as 16-bit numbers, of which torch has only the signed type
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def common_device(tensors: Sequence[torch.Tensor]) -> torch.device:
    """The device of all tensors: one call exchanges tensors of one device. Raises pace.Invalid if
    they are on several."""
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        names = " and ".join(sorted(map(str, devices)))
        raise pace.Invalid(f"the tensors of the model and its optimizer are on {names}; move them to one device, or make a job of each "
                           "part", "model")
    return devices.pop()


class DeviceSession(pace.Session):
    """A session whose calls follow PyTorch's current stream where their buffers are on a GPU."""

    def _stream_of(self, buffer: pace.Buffer) -> Any:
        kind, number = buffer.__dlpack_device__()
        return torch.cuda.current_stream(number) if kind == _CUDA else None


def new_buffer(session: pace.Session, count: int, dtype: torch.dtype, device: torch.device) -> Tuple[pace.Buffer, torch.Tensor]:
    """A zeroed buffer of the daemon's and its tensor. Blocks for one exchange with the daemon.

    If the daemon dies meanwhile, the call is repeated and waits for the daemon, at most for the
    session's connect_ms.
    """
    place = None if device.type == "cpu" else f"{device.type}:{device.index or 0}"
    for is_last in (False, False, True):
        try:
            buffer = session.buffer(_TYPES[dtype], max(count, 1), device=place)
            break
        except pace.DaemonGone:
            if is_last:
                raise
    return buffer, tensor_of(buffer, dtype)


def placed(flat: torch.Tensor, first: int, like: torch.Tensor) -> torch.Tensor:
    """The elements of `flat` from `first` on, in the shape and the memory format of `like`."""
    part = flat[first:first + like.numel()]
    if like.dim() == 4 and not like.is_contiguous() and like.is_contiguous(memory_format=torch.channels_last):
        return part.as_strided(like.size(), like.stride(), part.storage_offset())
    return part.view(like.shape)


class Arena:
    """Room for many tensors: one buffer for each type and device, in the order in which they first come."""

    def __init__(self, session: pace.Session, tensors: Sequence[torch.Tensor]):
        totals: Dict[Tuple[torch.dtype, torch.device], int] = {}
        for tensor in tensors:
            key = (tensor.dtype, tensor.device)
            totals[key] = totals.get(key, 0) + tensor.numel()
        self._flats: Dict[Tuple[torch.dtype, torch.device], torch.Tensor] = {}
        self.buffers: List[pace.Buffer] = []
        for (dtype, device), count in totals.items():
            buffer, flat = new_buffer(session, count, dtype, device)
            self.buffers.append(buffer)
            self._flats[(dtype, device)] = flat
        used = dict.fromkeys(totals, 0)
        self.views: List[torch.Tensor] = []
        for tensor in tensors:
            key = (tensor.dtype, tensor.device)
            self.views.append(placed(self._flats[key], used[key], tensor))
            used[key] += tensor.numel()

    @property
    def flats(self) -> List[torch.Tensor]:
        """Each buffer as one vector."""
        return list(self._flats.values())
