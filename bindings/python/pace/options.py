"""Options of a job: checked against what the loaded library knows, so that a typing mistake is answered with a suggestion."""

import ctypes
import difflib
import json
import struct
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from pace import _abi
from pace._library import call, library, text
from pace.errors import Invalid

_GIVE = {"integer": "an int", "real": "a float or an int", "text": "a str", "bytes": "bytes, or pairs of ranks"}


class Hint:
    """An option that a library, daemon or controller may ignore when it does not know the name: Hint(value)."""

    def __init__(self, value: Any):
        self.value = value


def query(what: str, endpoint: Optional[str] = None) -> Any:
    """What pace_query tells, as Python reads JSON. `what`: "options", "policies", "versions", "status".

    Without an endpoint only the library is asked, and the call does not block. With an endpoint
    ("": the daemon that a Session finds by itself) it blocks for at most twenty seconds, and raises
    as Session does.
    """
    loaded = library()
    answer = ctypes.c_void_p()
    call(loaded.pace_query, text(endpoint, "endpoint"), text(what, "what"), ctypes.byref(answer))
    try:
        return json.loads(ctypes.string_at(answer.value or 0))
    finally:
        loaded.pace_text_free(answer)


def keywords_of_options() -> Dict[str, str]:
    """The option that each keyword means: group_size is group.size."""
    return {name.replace(".", "_"): name for name in _table()}


def merge(named: Optional[Mapping[str, Any]], keywords: Mapping[str, Any]) -> Dict[str, Any]:
    """Options by their names in pace.h. A keyword group_size is the option group.size. Raises Invalid."""
    table = _table()
    by_keyword = keywords_of_options()
    merged = dict(named or {})
    for keyword, value in keywords.items():
        name = by_keyword.get(keyword, keyword)
        if name in merged:
            raise Invalid(f"{name} is given twice; give it once", name)
        if name not in table and not isinstance(value, Hint):
            raise _unknown(keyword, list(by_keyword))
        merged[name] = value
    for name, value in merged.items():
        if name not in table and not isinstance(value, Hint):
            raise _unknown(name, list(table))
    return merged


def encode(options: Mapping[str, Any]) -> "Tuple[Any, List[Any]]":
    """An array of pace_option, and the values that it points to, which must live as long. Raises
    Invalid."""
    table = _table()
    array = (_abi.pace_option * len(options))()
    alive: List[Any] = []
    for option, (name, value) in zip(array, options.items()):
        if isinstance(value, Hint):
            option.flags = _abi.PACE_OPTION_HINT
            value = value.value
        option.name = text(name, "options")
        kind = table[name]["kind"] if name in table else _kind_of(value)
        _ENCODERS[kind](option, name, value, alive)
    return array, alive


def _integer(option: Any, name: str, value: Any, _: List[Any]) -> None:
    option.kind = _abi.PACE_INT
    number = _index(value)
    if number is None:
        raise _wrong_kind(name, "integer", value)
    if not -2 ** 63 <= number < 2 ** 63:
        raise Invalid(f"{name}: {number} has more than 64 bits; give {_values(name)}", name)
    option.value.i = number


def _real(option: Any, name: str, value: Any, _: List[Any]) -> None:
    option.kind = _abi.PACE_REAL
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise _wrong_kind(name, "real", value)
    option.value.r = float(value)


def _text(option: Any, name: str, value: Any, _: List[Any]) -> None:
    option.kind = _abi.PACE_TEXT
    if not isinstance(value, str):
        raise _wrong_kind(name, "text", value)
    choices = _table().get(name, {}).get("choices")
    if choices and value not in choices:
        raise Invalid(f"{name}: {value!r} is none of its words{_did_you_mean(value, choices)}; give {_values(name)}", name)
    option.value.text = text(value, name)


def _bytes(option: Any, name: str, value: Any, alive: List[Any]) -> None:
    option.kind = _abi.PACE_BYTES
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
    else:
        try:
            data = b"".join(struct.pack("<II", *pair) for pair in value)
        except (TypeError, struct.error):
            raise _wrong_kind(name, "bytes", value) from None
    memory = ctypes.create_string_buffer(data, len(data)) if data else None
    alive.append(memory)
    option.value.data = ctypes.addressof(memory) if memory is not None else None
    option.bytes = len(data)


_ENCODERS = {"integer": _integer, "real": _real, "text": _text, "bytes": _bytes}


def _index(value: Any) -> Optional[int]:
    """An int, also of NumPy's kinds and a bool; None for anything else."""
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        return None


def _kind_of(value: Any) -> str:
    if _index(value) is not None:
        return "integer"
    if isinstance(value, str):
        return "text"
    return "real" if hasattr(value, "__float__") else "bytes"


def _table() -> Dict[str, Any]:
    if not _options:
        _options.update((option["name"], option) for option in query("options"))
    return _options


_options: Dict[str, Any] = {}


def _values(name: str) -> str:
    return str(_table().get(name, {}).get("values", "another value"))


def _wrong_kind(name: str, kind: str, value: Any) -> Invalid:
    return Invalid(f"{name}: {value!r} is a {type(value).__name__}; give {_GIVE[kind]}: {_values(name)}", name)


def _unknown(name: str, known: Iterable[str]) -> Invalid:
    known = list(known)
    return Invalid(f"{name}: there is no such option{_did_you_mean(name, known)}; pace.query(\"options\") lists them", name)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""
