"""Retry: what a trainer does about requests that end in another way than OK, so that its user need not."""

from typing import Callable, Optional, Sequence

import pace
from pace.place import Place


# As many calls as a session may have on their way.
MISMATCHES_MAX = 64


class ModelChanged(Exception):
    """The model is another one now, of a worker that went on: what was computed with the old one is void."""


def complete(place: Place, begin: Callable[[], pace.Request], *, begun: Optional[pace.Request] = None,
             is_repeated: bool = False) -> pace.Info:
    """Waits for the end of a verb, and calls it again as often as pace.h says that this is right.

    After ABORTED, and after a daemon's death that has left the buffers as they were. A daemon that is gone is waited for as long as
    the session's connect_ms. `is_repeated`: this verb has been called before, and did not end well. Raises pace.Stale where the model
    lacks what the job has done, where a daemon's death has torn the buffers, or where a call that is repeated meets a broadcast of
    a worker that was told so; and all faults.
    """
    request = begun
    while True:
        try:
            if request is None:
                request = begin()
            return request.wait()
        except pace.Mismatch as error:
            if not is_repeated:
                raise
            raise pace.Stale(error.message) from error
        except pace.Aborted:
            request, is_repeated = None, True
        except pace.DaemonGone as gone:
            if request is None:
                raise  # It could not be reached again.
            if gone.info is not None and gone.info.contents == "result":
                return gone.info
            if gone.info is not None and gone.info.contents == "torn":
                raise pace.Stale(gone.message) from gone
            place.ensure_daemon()
            request, is_repeated = None, True


def abandon(requests: Sequence[pace.Request]) -> None:
    """Ends requests whose results nobody wants any more: each is canceled, and waited for. Blocks for those that are under way."""
    for request in requests:
        try:
            request.cancel()
            request.wait()
        except pace.PaceError:
            pass  # However it has ended, its buffers are free.


def broadcast_again(place: Place, begin: Callable[[], pace.Request]) -> pace.Info:
    """A broadcast in the midst of a training: others may have calls on their way that do not fit, and broadcast after them."""
    for _ in range(MISMATCHES_MAX):
        try:
            return complete(place, begin)
        except pace.Mismatch:
            pass
    return complete(place, begin)
