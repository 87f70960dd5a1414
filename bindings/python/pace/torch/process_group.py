"""ProcessGroup: torch.distributed's collectives over a job of Pace, by init_process_group("pace")."""

import functools
import weakref
from typing import Any, Callable, List, NoReturn, Optional, Sequence

import torch
from torch._C._distributed_c10d import ProcessGroup as TorchProcessGroup

import pace
from pace.torch.exchange import Exchange, Plan
from pace.torch.group_job import new_identity, open_session, this_machine
from pace.torch.operators import combine_of, name_of, verb_of
from pace.place import of_group
from pace.torch.staging import put_bytes
from pace.torch.work import Work


# torch's declaration of it differs from release to release.
_Base: Any = TorchProcessGroup


class ProcessGroup(_Base):  # type: ignore[misc]
    """All ranks of a group as the workers of one job, in torch.distributed's terms.

    Each collective takes tensors of the host, copies them to the daemon's memory before it returns, and gives a Work whose wait()
    blocks for the results. Every rank calls the same collectives in the same order. Sums and means of floating-point numbers are
    Pace's, bit-identical on all ranks; all else is gathered and computed by each rank, exact for integers and booleans.
    Threads: any. Raises NotImplementedError for a collective for which Pace has no verb, and
    ValueError for shapes that do not fit. wait() raises RuntimeError when a rank has died or the
    group's timeout has passed: then every later collective fails, too.
    """

    def __init__(self, session: pace.Session, rank: int, size: int, timeout_s: float):
        super().__init__(rank, size)
        self._exchange = Exchange(session, rank, size, timeout_s)
        self._name = self._description = ""
        self._works: Optional[List[Work]] = None  # of a block of coalesced collectives
        weakref.finalize(self, self._exchange.close)

    def getBackendName(self) -> str:
        return "pace"

    # Newer releases ask for these, in Python and in C++. A group written in Python lacks torch's
    # own.
    def _set_group_name(self, name: str) -> None:
        self._name = name

    def _set_group_desc(self, text: str) -> None:
        self._description = text

    def getGroupName(self) -> str:
        return self._name

    def getGroupDesc(self) -> str:
        return self._description

    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)

    def broadcast(self, tensors: Sequence[torch.Tensor], opts: Any) -> Work:
        tensor = _one(tensors)
        lengths = [0] * self._exchange.size
        lengths[opts.rootRank] = _bytes(tensor)
        own = tensor if self._exchange.rank == opts.rootRank else None
        return self._run([self._exchange.gather(own, lengths, lambda parts: put_bytes(tensor, parts[opts.rootRank]))], [tensor])

    def allreduce(self, tensors: Sequence[torch.Tensor], opts: Any = None) -> Work:
        """Tensors of one type that Pace sums are summed together."""
        verb = verb_of("SUM" if opts is None else name_of(opts.reduceOp), tensors[0].dtype)
        if len(tensors) > 1 and verb is not None and len({tensor.dtype for tensor in tensors}) == 1:
            plans = [self._exchange.sum([_checked(tensor) for tensor in tensors], verb,
                                        lambda sums: _put_all(tensors, sums))]
        else:
            plans = [self._reduce(tensor, opts, functools.partial(_put, tensor)) for tensor in tensors]
        return self._run(plans, tensors)

    def allreduce_coalesced(self, tensors: Sequence[torch.Tensor], opts: Any = None) -> Work:
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: Sequence[torch.Tensor], opts: Any) -> Work:
        tensor = _one(tensors)
        is_root = self._exchange.rank == opts.rootRank
        return self._run([self._reduce(tensor, opts, lambda total: _put(tensor, total) if is_root else None)], [tensor])

    def allgather(self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], opts: Any = None) -> Work:
        return self.allgather_coalesced(outputs, inputs, opts)

    def allgather_coalesced(self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor],
                            _: Any = None) -> Work:
        """The output of a rank has the shape of that rank's input: these may differ from rank to rank."""
        plans = [self._gather(tensor, output) for output, tensor in zip(outputs, inputs)]
        return self._run(plans, [part for output in outputs for part in output])

    def _allgather_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        return self.allgather_into_tensor_coalesced([output], [tensor], opts)

    def allgather_into_tensor_coalesced(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
                                        _: Any = None) -> Work:
        plans = [self._gather(tensor, _slots(output, tensor, self._exchange.size)) for output, tensor in zip(outputs, inputs)]
        return self._run(plans, outputs)

    def reduce_scatter(self, outputs: Sequence[torch.Tensor], inputs: Sequence[Sequence[torch.Tensor]], opts: Any) -> Work:
        return self._run([self._reduce_scatter(output, _of_all(parts, output, self._exchange.size), opts)
                          for output, parts in zip(outputs, inputs)], outputs)

    def _reduce_scatter_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any) -> Work:
        return self.reduce_scatter_tensor_coalesced([output], [tensor], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], opts: Any) -> Work:
        return self._run([self._reduce_scatter(output, _slots(tensor, output, self._exchange.size), opts)
                          for output, tensor in zip(outputs, inputs)], outputs)

    def gather(self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], opts: Any) -> Work:
        output = outputs[0] if self._exchange.rank == opts.rootRank else []
        return self._run([self._gather(_one(inputs), output)], output)

    def gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any) -> Work:
        parts = _slots(output, tensor, self._exchange.size) if self._exchange.rank == opts.rootRank else []
        return self._run([self._gather(tensor, parts)], [output])

    def scatter(self, outputs: Sequence[torch.Tensor], inputs: Sequence[Sequence[torch.Tensor]], opts: Any) -> Work:
        output, root = _one(outputs), opts.rootRank
        own = torch.stack(_of_all(inputs[0], output, self._exchange.size)) if self._exchange.rank == root else None
        lengths = [0] * self._exchange.size
        lengths[root] = _bytes(output) * self._exchange.size

        def give(parts: List[torch.Tensor]) -> None:
            first = _bytes(output) * self._exchange.rank
            put_bytes(output, parts[root][first:first + _bytes(output)].clone())
        return self._run([self._exchange.gather(own, lengths, give)], [output])

    def barrier(self, opts: Any = None) -> Work:
        return self._run([self._exchange.barrier()], [])

    def send(self, *_: Any) -> NoReturn:
        _refuse("send and recv")

    def recv(self, *_: Any) -> NoReturn:
        _refuse("send and recv")

    def recv_anysource(self, *_: Any) -> NoReturn:
        _refuse("recv")

    def alltoall(self, *_: Any) -> NoReturn:
        _refuse("all_to_all")

    def alltoall_base(self, *_: Any) -> NoReturn:
        _refuse("all_to_all")

    # The names of newer releases.
    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    gather_into_tensor = gather_single
    all_to_all_single = alltoall_base

    def _start_coalescing(self, *_: Any) -> None:
        self._works = []

    def _end_coalescing(self, *_: Any) -> Optional[Work]:
        """Works end in their order, and a fault ends every later one: it is enough to wait for the
        last."""
        works, self._works = self._works, None
        return works[-1] if works else None

    def _run(self, plans: Sequence[Plan], results: Sequence[torch.Tensor]) -> Work:
        work = self._exchange.run(plans, results)
        if self._works is not None:
            self._works.append(work)
        return work

    def _reduce(self, tensor: torch.Tensor, opts: Any, give: Callable[[torch.Tensor], None]) -> Plan:
        """The sum, or what else `opts` asks for, of everyone's tensors; `give` gets it as a vector, which is void after it."""
        _checked(tensor)
        name = "SUM" if opts is None else name_of(opts.reduceOp)
        if tensor.is_complex() and name in ("SUM", "AVG"):
            return self._reduce(torch.view_as_real(tensor), opts, lambda pairs: give(torch.view_as_complex(pairs.view(-1, 2))))
        verb = verb_of(name, tensor.dtype)
        if verb is not None:
            return self._exchange.sum([tensor], verb, lambda sums: give(sums[0]))
        combine = combine_of(name, tensor.dtype)
        lengths = [_bytes(tensor)] * self._exchange.size
        return self._exchange.gather(tensor, lengths, lambda parts: give(combine([part.view(tensor.dtype) for part in parts])))

    def _reduce_scatter(self, output: torch.Tensor, slots: Sequence[torch.Tensor], opts: Any) -> Plan:
        first = output.numel() * self._exchange.rank
        return self._reduce(torch.stack(list(slots)), opts, lambda total: _put(output, total[first:first + output.numel()]))

    def _gather(self, tensor: torch.Tensor, outputs: Sequence[torch.Tensor]) -> Plan:
        """Everyone's tensors, to `outputs`, by rank. Without outputs the tensors are skipped: all
        ranks then give as much as this one."""
        size, own = self._exchange.size, _bytes(tensor)
        if not outputs:
            return self._exchange.gather(tensor, [own] * size, lambda _: None)
        lengths = [_bytes(output) for output in outputs]
        if len(lengths) != size or lengths[self._exchange.rank] != own:
            raise ValueError(f"{len(outputs)} outputs, with {lengths[self._exchange.rank:self._exchange.rank + 1]} bytes for this "
                             f"rank's {own}; give one for each of {size} ranks, in the shape of its tensor")

        def give(parts: List[torch.Tensor]) -> None:
            for output, part in zip(outputs, parts):
                put_bytes(output, part)
        return self._exchange.gather(tensor, lengths, give)


def create(how: Any) -> ProcessGroup:
    """The group that `how`, torch's DistributedBackendOptions, describes. Blocks until its job is joined. Raises what pace.Session
    raises."""
    store, rank, size = how.store, how.group_rank, how.group_size
    if rank == 0:
        store.set("pace.identity", new_identity())
    identity = store.get("pace.identity").decode()
    store.set(f"pace.machine.{rank}", this_machine())

    def is_one_machine() -> bool:
        return all(store.get(f"pace.machine.{other}").decode() == this_machine() for other in range(size))
    place = of_group(rank, size, identity, is_one_machine)
    return ProcessGroup(open_session(place, str(how.group_id), identity, rank, size, {}), rank, size, how.timeout.total_seconds())


def _put(tensor: torch.Tensor, flat: torch.Tensor) -> None:
    tensor.copy_(flat.view(tensor.shape))


def _put_all(tensors: Sequence[torch.Tensor], flats: Sequence[torch.Tensor]) -> None:
    for tensor, flat in zip(tensors, flats):
        _put(tensor, flat)


def _checked(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise NotImplementedError(f"the backend pace takes dense tensors of the host, and this is one of {tensor.layout} on "
                                  f"{tensor.device}; use pace.torch.comm_hook over the device's own backend, or copy it to the host")
    return tensor


def _bytes(tensor: torch.Tensor) -> int:
    _checked(tensor)
    return tensor.numel() * tensor.element_size()


def _one(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    if len(tensors) != 1:
        raise ValueError(f"{len(tensors)} tensors; give one")
    return tensors[0]


def _of_all(slots: Sequence[torch.Tensor], like: torch.Tensor, size: int) -> List[torch.Tensor]:
    if len(slots) != size or any(slot.numel() != like.numel() or slot.dtype != like.dtype for slot in slots):
        raise ValueError(f"{len(slots)} tensors, which must be one for each of {size} ranks, of {tuple(like.shape)} and {like.dtype}")
    return [slot.reshape(like.shape) for slot in slots]


def _slots(whole: torch.Tensor, part: torch.Tensor, size: int) -> List[torch.Tensor]:
    """Views of a tensor that holds one part for each rank, one after another."""
    if whole.numel() != part.numel() * size or whole.dtype != part.dtype or not whole.is_contiguous():
        raise ValueError(f"a tensor of {tuple(whole.shape)} and {whole.dtype} does not hold, one after another, {size} of "
                         f"{tuple(part.shape)} and {part.dtype}")
    return [slot.view(part.shape) for slot in whole.view(size, -1)] if part.numel() else [part] * size


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"the backend pace has no {what}: Pace's verbs are for all members of a group; make a group for it, "
                              "torch.distributed.new_group(backend=\"gloo\")")
