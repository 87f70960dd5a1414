"""Work: what torch.distributed waits for, and the thread that ends it when its requests have ended."""

import datetime
import queue
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch._C._distributed_c10d import Work as TorchWork

import pace
from pace.torch.group_job import leave

# Requests of a session that are on their way at most; pace.h allows 64.
IN_FLIGHT_MAX = 48
# Works that nobody has asked for yet. C++ finds the Python half of a work only while Python keeps it.
_KEPT_MAX = 4096
_NO_TIMEOUT = datetime.timedelta(0)


class Work(TorchWork):  # type: ignore[misc]
    """A collective that has begun. Threads: any. wait() blocks until it has ended, and raises its fault."""

    def __init__(self, tensors: Sequence[torch.Tensor], forget: Callable[["Work"], None]):
        super().__init__()
        self._tensors = list(tensors)
        self._forget = forget
        self._fault: Optional[BaseException] = None
        self._ended = threading.Event()
        self._end: torch.futures.Future[None] = torch.futures.Future()
        # An exception that is set is for Python alone. One that is raised on the way reaches torch's C++, too.
        self._future = self._end.then(self._result)

    def complete(self) -> None:
        self._end.set_result(None)
        self._ended.set()

    def fail(self, fault: BaseException) -> None:
        self._fault = fault
        self.complete()

    def wait(self, timeout: datetime.timedelta = _NO_TIMEOUT) -> bool:
        limit = timeout.total_seconds() if timeout > _NO_TIMEOUT else None
        if not self._ended.wait(limit):
            raise RuntimeError(f"the collective has not ended within {limit} seconds; it goes on")
        self._forget(self)
        if self._fault is not None:
            raise self._fault
        return True

    def get_future(self) -> "torch.futures.Future[Any]":
        self._forget(self)
        return self._future

    def _result(self, _: Any) -> List[torch.Tensor]:
        if self._fault is not None:
            raise self._fault
        return self._tensors

    def is_completed(self) -> bool:
        return self._ended.is_set()

    def is_success(self) -> bool:
        return self._ended.is_set() and self._fault is None

    def exception(self) -> Optional[BaseException]:
        return self._fault

    def result(self) -> List[torch.Tensor]:
        return self._tensors

    def synchronize(self) -> None:
        self.wait()


Item = Tuple[pace.Request, Work, Optional[Callable[[], None]]]


class Completion:
    """One thread that waits for a session's requests, in the order of their calls, and ends their works.

    A collective of torch.distributed is for all ranks. If one fails, or ends without some ranks,
    the group has ended, and every later collective fails with the same fault. So is one that lasts
    longer than `timeout_s`.
    """

    def __init__(self, size: int, timeout_s: float):
        self._size = size
        self._timeout_s = timeout_s
        self._items: "queue.SimpleQueue[Optional[Item]]" = queue.SimpleQueue()
        self._room = threading.BoundedSemaphore(IN_FLIGHT_MAX)
        self._lock = threading.Lock()
        self._kept: Dict[int, Work] = {}
        self.fault: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, name="pace-collectives", daemon=True)
        self._thread.start()

    def work(self, tensors: Sequence[torch.Tensor]) -> Work:
        work = Work(tensors, self._forget)
        with self._lock:
            self._kept[id(work)] = work
            if len(self._kept) > _KEPT_MAX:
                del self._kept[next(iter(self._kept))]
        return work

    def begin(self, call: Callable[[], pace.Request], work: Work, finish: Optional[Callable[[], None]]) -> None:
        """Begins one request of a work; `finish`, of its last one, is called when all have ended. Blocks while 48 are on their way."""
        self._room.acquire()
        try:
            self._check()
            request = call()
        except BaseException:
            self._room.release()
            raise
        self._items.put((request, work, finish))

    def close(self, session: pace.Session) -> None:
        leave(session, self._thread, lambda: self._items.put(None))

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault

    def _forget(self, work: Work) -> None:
        with self._lock:
            self._kept.pop(id(work), None)

    def _run(self) -> None:
        with torch.no_grad():  # which is each thread's own
            while (item := self._items.get()) is not None:
                self._end(*item)

    def _end(self, request: pace.Request, work: Work, finish: Optional[Callable[[], None]]) -> None:
        try:
            self._check()
            info = request.wait(self._timeout_s)
            if info.member_count != self._size:
                raise RuntimeError(f"{self._size - info.member_count} of the group's {self._size} ranks have died or left")
            if finish is not None:
                finish()
        except BaseException as error:
            if self.fault is None:
                self.fault = RuntimeError(f"a collective of the backend pace has failed, and the group with it: {error}; "
                                          "pace.torch.DataParallel goes on in such a case")
                self.fault.__cause__ = error
            if not work.is_completed():
                work.fail(self.fault)
        else:
            if finish is not None:
                work.complete()
        finally:
            self._room.release()
