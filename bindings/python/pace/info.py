"""Info: what a request, a session and a buffer tell of themselves, by the names of pace.h."""

from dataclasses import dataclass
from typing import Any, Tuple

from pace import _abi
from pace.types import device_name, type_of_number

CONTENTS = {_abi.PACE_CONTENTS_AS_CALLED: "as-called", _abi.PACE_CONTENTS_TORN: "torn", _abi.PACE_CONTENTS_RESULT: "result"}
RUN_STATES = {0: "new", 1: "under-way", 2: "resumed"}


@dataclass(frozen=True)
class Member:
    """What one member of an exchange brought."""

    rank: int
    staleness: int
    weight: float


@dataclass(frozen=True)
class Info:
    """How a request ended: pace_request_info. Its comments in pace.h say which fields a verb sets.

    `contents` is "as-called", "torn" or "result". `members` is empty unless wait() was asked for them.
    """

    status: int
    iteration: int
    user_data: int
    group: int
    round: int
    version: int
    bytes_sent: int
    bytes_received: int
    queued_ns: int
    moving_ns: int
    initial_weight: float
    member_count: int
    node_count: int
    member_listed: int
    contents: str
    divisor: float
    rounds: int
    entries: int
    contributor_count: int
    late: bool
    resync: bool
    dense: bool
    staleness: int
    slowest_clock: int
    members: Tuple[Member, ...] = ()


@dataclass(frozen=True)
class SessionInfo:
    """What a session tells. `run_state` is "new", "under-way" or "resumed"."""

    rank: int
    world: int
    run_state: str
    generation: int
    job: str
    node: str
    run: str
    run_began: int


@dataclass(frozen=True)
class BufferInfo:
    """What a buffer tells. `data` is an address, on a GPU a device pointer."""

    type: str
    count: int
    data: int
    device: str
    dl_type: Tuple[int, int, int]
    typestr: str
    restored: bool
    staged: bool
    twin_bytes: int


_SWITCHES = ("late", "resync", "dense")


def info_of(raw: _abi.pace_request_info, members: Any = ()) -> Info:
    fields = {field[0]: getattr(raw, field[0]) for field in raw._fields_ if field[0] != "struct_size"}
    fields.update({name: bool(fields[name]) for name in _SWITCHES})
    fields["contents"] = CONTENTS.get(raw.contents, str(raw.contents))
    listed = tuple(Member(member.rank, member.staleness, member.weight) for member in list(members)[:raw.member_listed])
    return Info(members=listed, **fields)


def session_info_of(raw: _abi.pace_session_info) -> SessionInfo:
    return SessionInfo(raw.rank, raw.world, RUN_STATES.get(raw.run_state, str(raw.run_state)), raw.generation,
                       raw.job.decode(), raw.node.decode(), raw.run.decode(), raw.run_began)


def buffer_info_of(raw: _abi.pace_buffer_info) -> BufferInfo:
    return BufferInfo(type_of_number(raw.type).name, raw.count, raw.data or 0, device_name(raw.device),
                      (raw.dl_type_code, raw.dl_type_bits, raw.dl_type_lanes), raw.typestr.decode(),
                      bool(raw.flags & _abi.PACE_BUFFER_RESTORED), bool(raw.flags & _abi.PACE_BUFFER_STAGED), raw.twin_bytes)
