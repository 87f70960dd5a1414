"""Retry: repeats requests that end in another way than OK, so that a training's code need not."""

from typing import Callable, Optional, Sequence

import pace
from pace.place import Place


# As many calls as a session may have on their way.
MISMATCHES_MAX = 64


class ModelChanged(Exception):
    """The model is now that of a worker that went on: results computed with the old one are
    dropped."""


def complete(place: Place, begin: Callable[[], pace.Request], *, begun: Optional[pace.Request] = None,
             is_repeated: bool = False) -> pace.Info:
    """Waits for the end of a verb, and calls it again as often as pace.h says that this is right.

    After ABORTED, and after a daemon's death that has left the buffers as they were. The call waits
    for a daemon that is gone, at most for the session's connect_ms. `is_repeated`: this verb has
    been called before, and did not end well. Raises pace.Stale if the model lacks what the job has
    done, if a daemon's death has torn the buffers, or if a repeated call meets the broadcast of
    another worker to which Stale was raised. Raises all faults, too.
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
    """Ends requests whose results are no longer needed: cancels each and waits for it. Blocks for
    those that are under way."""
    for request in requests:
        try:
            request.cancel()
            request.wait()
        except pace.PaceError:
            pass  # However it has ended, its buffers are free.


def broadcast_again(place: Place, begin: Callable[[], pace.Request]) -> pace.Info:
    """A broadcast in the midst of a training. Other workers may have calls under way that do not
    match it; they broadcast after those calls."""
    for _ in range(MISMATCHES_MAX):
        try:
            return complete(place, begin)
        except pace.Mismatch:
            pass
    return complete(place, begin)
