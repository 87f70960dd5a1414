"""Watcher: lets an asyncio loop await requests, by the descriptor of their session."""

import asyncio
import os
from typing import TYPE_CHECKING, Dict, Tuple

from pace.errors import PaceError

if TYPE_CHECKING:
    from pace.request import Request, Waiting
    from pace.session import Session

# The time between looks at the requests while the descriptor is readable for one that no task awaits.
_AGAIN_SECONDS = 0.005


class Watcher:
    """The requests of one session that tasks of one loop await. Threads: that of the loop alone."""

    def __init__(self, session: "Session", loop: asyncio.AbstractEventLoop):
        self._session = session
        self.loop = loop
        # A duplicate: the session may close its descriptor while the loop still has this one.
        self._fd = os.dup(session.fileno())
        self._awaited: "Dict[Request, Tuple[asyncio.Future[None], Waiting]]" = {}
        self._is_stopped = False
        loop.add_reader(self._fd, self._look)

    def add(self, request: "Request", how: "Waiting") -> "asyncio.Future[None]":
        """A future that is done when the request is."""
        if request not in self._awaited:
            self._awaited[request] = (self.loop.create_future(), how)
            self.loop.call_soon(self._look, False)  # it may have ended before, with another request
        return self._awaited[request][0]

    def stop(self) -> None:
        """Ends with the session: what is still awaited fails as Closed."""
        self._look(False)
        if not self._is_stopped:
            self._release()

    def _look(self, may_pause: bool = True) -> None:
        if self._is_stopped:
            return
        before = len(self._awaited)
        for request, (future, how) in list(self._awaited.items()):
            try:
                if request._status is None and request._collect(0, how) is not None:
                    continue
                if not future.done():
                    future.set_result(None)
            except PaceError as error:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # It need not be retrieved: its task may have been canceled.
            del self._awaited[request]
        if not self._awaited:
            self._release()
        elif may_pause and len(self._awaited) == before:
            # Somebody else's request has ended, or nothing has. The descriptor would wake the loop again at once.
            self.loop.remove_reader(self._fd)
            self.loop.call_later(_AGAIN_SECONDS, self._resume)

    def _resume(self) -> None:
        if not self._is_stopped:
            self.loop.add_reader(self._fd, self._look)

    def _release(self) -> None:
        self._is_stopped = True
        if not self.loop.is_closed():
            self.loop.remove_reader(self._fd)
        os.close(self._fd)
        self._session._drop_watcher(self)
