"""The table of the cases, each of which makes a mistake, and how they are driven."""

import inspect
import re
import time
import typing

from messages import ELLIPSIS

from .scene import SOON_S

AT_ONCE = 12
CASES = []


class Case(typing.NamedTuple):
    """A mistake. `make(scene)` gives the place, or the places, that must have the only quotation.

    Or it is a generator, which gets the quotations, too. It yields pairs of a place and of what it waits for there. All
    quotations must be among these.
    """

    section: str
    quotations: tuple
    make: typing.Callable

    def with_words_of(self, quoted):
        """The case with the whole quotations of the page in the place of parts of them. `quoted` has (section, message)."""
        return self._replace(quotations=tuple(self._only(part, quoted) for part in self.quotations))

    def _only(self, part, quoted):
        found = [message for section, message in quoted if section == self.section and part in message]
        if len(found) != 1:
            raise AssertionError(f"{self.name}: the section has {len(found)} messages with {part!r}, and not one: {found}")
        return found[0]

    @property
    def name(self):
        return self.make.__name__

    def steps(self, scene):
        """The pairs of a place and of what has to be there, in their order."""
        if inspect.isgeneratorfunction(self.make):
            yield from self.make(scene, *self.quotations)
            return
        places = self.make(scene)
        for place in places if isinstance(places, list) else [places]:
            yield place, self.quotations[0]


def makes(section, *parts):
    """Adds a function to the table. It makes the mistake that brings forth the section's messages with these parts."""
    def add(make):
        CASES.append(Case(section, parts, make))
        return make
    return add


def is_said(quotation, text):
    """Whether a line of the text has the quotation."""
    return re.search(".*".join(re.escape(piece) for piece in quotation.split(ELLIPSIS)), text) is not None


class Run:
    """A case under way. `why` is what is wrong with it, as soon as something is."""

    def __init__(self, case, scene):
        self.case, self.scene, self.why = case, scene, None
        self._steps = case.steps(scene)
        self._sought, self._seen, self._last = None, set(), ""
        self._began = self._deadline = time.monotonic()

    def has_ended(self):
        """Goes on as far as it goes now. An error of the case itself is what is wrong with it."""
        try:
            while self._sought is None or self._is_there():
                self._sought, self._last = next(self._steps), ""
                self._deadline = time.monotonic() + SOON_S
            place, quotation = self._sought
            if time.monotonic() < self._deadline and not place.is_whole:
                return False
            self.why = f"{place.name} does not have {quotation!r}, but:\n{self._last}"
        except StopIteration:
            forgotten = set(self.case.quotations) - self._seen
            if forgotten:
                self.why = f"the case has not looked for {sorted(forgotten)}"
        except (AssertionError, OSError) as error:
            self.why = f"{type(error).__name__}: {error}"
        return True

    def _is_there(self):
        place, quotation = self._sought
        text = place.text()
        self._last = text or self._last
        if not is_said(quotation, text):
            return False
        self._seen.add(quotation)
        return True

    def end(self):
        self._steps.close()
        self.scene.close()
        return time.monotonic() - self._began


def run_all(cases, scene, wait, ended):
    """Runs the cases, some at once. `ended(run, seconds)` hears of each that has ended; `wait()` passes some time."""
    left, under_way = list(cases), []
    try:
        while left or under_way:
            while left and len(under_way) < AT_ONCE:
                under_way.append(Run(left.pop(0), scene.attempt()))
            for run in [run for run in under_way if run.has_ended()]:
                under_way.remove(run)
                ended(run, run.end())
            wait()
    finally:
        for run in under_way:
            run.end()
