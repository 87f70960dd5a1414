"""Job: this process as one worker of a job: its session, the state that others may be given, and the verbs on arrays of NumPy."""

import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy

import pace
from pace.jax.layout import Layout
from pace.jax.store import Store
from pace.place import Place
from pace.policies import divided, family_of, long_name
from pace.retry import broadcast_again, complete

Arrays = Sequence[Any]
TELL_SECONDS = 1.0


class Job:
    """Opens its session at the first verb. Threads: any, one at a time: the trainer's, or JAX's that calls back, in the program's order.

    `state` is the store of the tree that broadcast() was given, from which a worker that comes later takes the model. A turn is one pass of
    the body of steps(). When the job went on without this worker (pace.Stale), `replacement` is the
    job's current state, and the results of the turn are dropped: verbs return their arguments until
    end_turn() has taken the replacement.
    """

    def __init__(self, place: Place, policy: str, options: Dict[str, Any]):
        self.place = place
        self.family = family_of(policy)
        self.step = 0  # counted over the job: a worker that comes late goes on where the others are
        self.failure: Optional[pace.PaceError] = None  # what a verb within jit has ended with
        self.wants_resync = False
        self.replacement: Optional[List[Any]] = None
        self._policy = policy
        self._options = {long_name(name): value for name, value in options.items()}
        self._session: Optional[pace.Session] = None
        self._state: Optional[Store] = None
        self._stores: Dict[Tuple[Layout, bool], Store] = {}
        self._is_over = False
        self._is_looping = False
        self._told: Optional[float] = None  # when the loop's steps were told last
        self._step_at_turn = 0
        self._has_reduced = False
        self._averages_state = False
        self._slowest = 0  # steps that a server's slowest worker has pushed, as the last pull told

    def add_option(self, name: str, value: Any) -> None:
        """Raises pace.Invalid when the session is open."""
        if self._session is not None or self._options.get(name, value) != value:
            raise pace.Invalid(f"{name} cannot be {value} any more: the job has begun without it; call steps() first", name)
        self._options[name] = value

    def open(self, layout: Layout) -> pace.Session:
        """The session; of a parameter server, for a model of this layout. Blocks until the job is joined. Raises as pace.Session."""
        if self._session is None:
            if self._is_over:
                raise pace.Closed("the worker has left the job; pace.jax.init() begins another one", "session")
            options = dict(self._options)
            if self.family == "server":
                layout.require_float32("tree")
                options["server.elements"] = layout.totals["f32"]
            named, keywords = divided(options)
            self.place.ensure_daemon()
            self._session = pace.Session(self.place.job, self._policy, rank=self.place.rank, world=self.place.world,
                                         endpoint=self.place.endpoint, options=named, **keywords)
        return self._session

    def broadcast(self, arrays: Arrays, layout: Layout) -> List[Any]:
        """The job's state, or the first worker's."""
        if self._is_under_way(layout):
            raise pace.Invalid("the run is under way, and without steps() its workers keep no current state for one that comes later; write "
                               "the loop with pace.jax.steps()", "tree")
        self._state = self._store(layout)
        self._state.write(arrays)
        self._take_state(complete)
        return self._state.read()

    def begin_loop(self, arrays: Arrays, layout: Layout, saved: Optional[Tuple[int, Arrays]]) -> List[Any]:
        """As broadcast(), with the step count. `saved`: step and arrays of a checkpoint.

        A worker that returns when no other is there has the contents that its earlier process left
        in the daemon's memory.
        """
        session = self.open(layout)
        self._is_looping = True
        self._state = self._store(layout)
        if saved is not None:
            self.step, arrays = saved
        if saved is None and session.info.run_state != "new" and self._state.is_restored:
            self.step = self._state.step
        else:
            self._state.write(arrays)
        self._take_state(complete)
        return self._state.read()

    def tell_steps(self, total: int) -> None:
        """Tells those who watch, once a second, how far a loop of so many steps is."""
        now = time.monotonic()
        if self._session is None or (self._told is not None and now - self._told < TELL_SECONDS):
            return
        self._told = now
        self._session.report(steps=(self.step, total))

    def average(self, arrays: Arrays, layout: Layout) -> List[Any]:
        """The average over a group; iteration and step count move. Leaves that Pace does not sum come back as they are."""
        if self.replacement is not None:
            return list(arrays)
        session = self.open(layout)
        self._state = self._state or self._store(layout)
        if not self._is_looping and self._state.layout != layout:
            raise pace.Invalid("tree: it has other leaves than the one that was broadcast; without steps() the two must be alike", "tree")
        store = self._store(layout)
        self._averages_state = store is self._state
        self.step += 1
        store.write(arrays)
        self._state.step = self.step
        try:
            info = complete(self.place, lambda: session.average(store.buffers, iteration=self.step))
        except pace.Stale as stale:
            return self._after_stale(arrays, stale)
        self.step = info.iteration
        self._announce()
        return store.read_summed(arrays)

    def reduce(self, arrays: Arrays, layout: Layout, op: str) -> List[Any]:
        """The mean or the sum over all workers, or what the options say. Once in a turn: a worker that comes in between begins with one."""
        if self.replacement is not None:
            return list(arrays)
        if self._is_looping and self._has_reduced:
            raise pace.Invalid("reduce() was called before in this step; give it everything at once: reduce((gradients, loss))", "tree")
        session = self.open(layout)
        store = self._store(layout, is_state=False)
        self._has_reduced = True
        store.write(arrays)
        try:
            info = complete(self.place, lambda: session.reduce(store.buffers, op=op, iteration=self.step + 1))
        except pace.Stale as stale:
            return self._after_stale(arrays, stale)
        self.wants_resync = self.wants_resync or info.resync
        return store.read()

    def synchronize(self, arrays: Arrays, layout: Layout) -> List[Any]:
        """The mean over all workers, with equal weights."""
        if self.replacement is not None:
            return list(arrays)
        session = self.open(layout)
        store = self._store(layout)
        while True:
            store.write(arrays)
            try:
                complete(self.place, lambda: session.sync(store.buffers))
                return store.read_summed(arrays)
            except pace.Stale as stale:
                if not self._is_looping or store is not self._state:
                    return self._after_stale(arrays, stale)
                arrays = self._taken_state()

    def push(self, model: Arrays, updates: Arrays, layout: Layout) -> List[Any]:
        """The model with this worker's updates, and with the others' where it had become too old."""
        if self.replacement is not None:
            return list(model)
        session = self.open(layout)
        if self._state is None or self._state.layout != layout:
            raise pace.Invalid("tree: the model must be the tree that broadcast() or steps() was given", "tree")
        state, store = self._state, self._store(layout, is_state=False)
        store.write(updates)
        clock = self.step
        try:
            complete(self.place, lambda: session.push(store.buffers, clock))
            self.step = clock + 1
            if self._policy == "ssp" and self._slowest + int(self._options.get("server.staleness", 3)) >= self.step:
                return [numpy.asarray(own) + update for own, update in zip(model, updates)]
            info = complete(self.place, lambda: session.pull(state.buffers, self.step))
        except pace.Stale as stale:
            return self._after_stale(model, stale)
        self._slowest = info.slowest_clock
        return state.read()

    def begin_turn(self, arrays: Arrays) -> None:
        """The state of this step: a worker that comes takes it while this one is in a verb."""
        assert self._state is not None
        self._step_at_turn = self.step
        self._has_reduced = False
        if not (self.family == "server" or self._averages_state):
            self._state.write(arrays)
        self._state.step = self.step

    def end_turn(self, arrays: Arrays) -> Arrays:
        """The state to go on with. A body without a verb that counts has made one step."""
        if self.replacement is not None:
            replacement, self.replacement = self.replacement, None
            return replacement
        if self.step == self._step_at_turn:
            self.step += 1
        if self.wants_resync:
            assert self._state is not None
            self.wants_resync = False
            return self.synchronize(arrays, self._state.layout)
        return arrays

    def leave(self) -> None:
        """Leaves the job in order: the others go on without this worker at once. Blocks at most a second."""
        session, self._session = self._session, None
        self._is_over = True
        self._is_looping = False
        if session is not None:
            try:
                session.close(1.0)
            except pace.PaceError:
                pass  # It counts as one that has died, which ends it, too.

    def _store(self, layout: Layout, is_state: bool = True) -> Store:
        """The store of a layout. That of gradients is another one than that of a state with equal leaves."""
        key = (layout, is_state)
        if key not in self._stores:
            self._stores[key] = Store(self.open(layout), layout)
        return self._stores[key]

    def _is_under_way(self, layout: Layout) -> bool:
        return self.family == "collective" and self._session is None and self.open(layout).info.run_state == "under-way"

    def _take_state(self, how: Callable[..., pace.Info]) -> None:
        session, state = self._session, self._state
        assert session is not None and state is not None
        state.step = self.step
        buffers = state.buffers if self.family == "server" else state.everything
        info = how(self.place, lambda: session.broadcast(buffers))
        if self.family == "server":
            self.step = max(self.step, info.iteration)
            self._slowest = info.slowest_clock
        elif self.family == "averaging":
            self.step = max(state.step, info.iteration)
            self._announce()
        else:
            self.step = state.step

    def _taken_state(self) -> List[Any]:
        assert self._state is not None
        if self.family == "collective":
            self._take_state(broadcast_again)
        else:
            self._take_state(complete)
        return self._state.read()

    def _after_stale(self, arrays: Arrays, stale: pace.Stale) -> List[Any]:
        if self._is_looping:
            self.replacement = self._taken_state()
            return list(arrays)
        if self.family == "collective":
            self.leave()
            raise pace.Stale(f"{stale.message}; write the loop with pace.jax.steps(), which takes the others' state") from stale
        return self._taken_state()

    def _announce(self) -> None:
        assert self._session is not None
        try:
            self._session.announce(self.step + 1)
        except pace.PaceError:
            pass  # It is a hint alone; what is wrong, the average tells.
