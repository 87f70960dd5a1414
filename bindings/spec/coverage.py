"""Coverage: each function, status, constant, option and field of pace.h is said in every binding.

The declarations are generated, and compared elsewhere. This looks at what is written by hand over them: a function that
pace.h gets, a status, or a field of an info that a binding does not offer fails here, by name. Exit status 1: something is missing.
"""

import pathlib
import re
import sys
from typing import Dict, Iterable, List, Set

BINDINGS = pathlib.Path(__file__).resolve().parents[1]
HEADER = BINDINGS.parent / "capi" / "pace.h"

# By binding: the folder of what is written by hand, its files, and what it does in another way, with the reason.
LANGUAGES = {
    "cpp": ("cpp/include/pace", "*.hpp"),
    "python": ("python/pace", "*.py"),
    "rust": ("rust/pace/src", "*.rs"),
    "julia": ("julia/src", "*.jl"),
}
GENERATED = {"_abi.py", "abi.jl", "bindings.rs"}
INFOS = ("pace_request_info", "pace_session_info", "pace_buffer_info", "pace_member")
OPTIONS = ("pace_session_options", "pace_buffer_options", "pace_wait_options", "pace_call", "pace_average_options",
           "pace_reduce_options", "pace_broadcast_options", "pace_push_options", "pace_pull_options", "pace_progress")
# Fields that every language makes out itself.
SILENT = {"struct_size", "reserved", "option_count", "result_count", "member_capacity"}
EXCUSED: Dict[str, Dict[str, str]] = {
    "cpp": {},  # its infos are the structs themselves
    "python": {"pace_request_test": "done() and wait(0) look by pace_request_wait with a timeout of 0, which is the same"},
    "rust": {"pace_request_test": "poll() looks by pace_request_wait with a timeout of 0, which is the same",
             "stream": "it has no buffers on GPUs yet", "twin_bytes": "it has no buffers on GPUs yet",
             "dl_type_code": "its buffers have an element type", "dl_type_bits": "its buffers have an element type",
             "dl_type_lanes": "its buffers have an element type"},
    "julia": {"pace_request_test": "it looks by pace_request_wait with a timeout of 0, which is the same"},
}
# Bindings whose infos are the structs of pace.h themselves.
SHARES_INFOS = {"cpp"}


def declared(text: str) -> Dict[str, List[str]]:
    """The names that pace.h declares, by kind."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    functions = re.findall(r"PACE_API\s+[\w\s*]+?\b(pace_\w+)\(", text)
    statuses = re.findall(r"\b(PACE_(?:OK|TIMEOUT|ABORTED|CANCELED|STALE|PENDING|INTERRUPTED|E_\w+))\s*=\s*-?\d+", text)
    return {"function": functions, "status": statuses, "info": _fields(text, INFOS), "option": _fields(text, OPTIONS)}


def _fields(text: str, structs: Iterable[str]) -> List[str]:
    fields: List[str] = []
    for name in structs:
        body = re.search(r"typedef struct " + name + r" \{(.*?)\} " + name + ";", text, re.DOTALL)
        if body is None:
            sys.exit(f"{HEADER.name} has no struct {name}")
        fields += [field for field in re.findall(r"(\w+)(?:\[[^\]]*\])?;", body.group(1)) if field not in SILENT]
    return sorted(set(fields))


def said_by(language: str) -> str:
    folder, pattern = LANGUAGES[language]
    files = [path for path in sorted((BINDINGS / folder).rglob(pattern)) if path.name not in GENERATED]
    if not files:
        sys.exit(f"{folder} has no {pattern}")
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def words_for(kind: str, name: str) -> Iterable[str]:
    """How a binding may say it."""
    yield name
    if kind == "status":
        plain = re.sub(r"^PACE_(E_)?", "", name)
        yield "".join(part.capitalize() for part in plain.split("_"))
        yield plain.lower()
    if kind == "function":
        yield name[len("pace_"):]


def missing(language: str, names: Dict[str, List[str]]) -> Set[str]:
    if language in SHARES_INFOS:
        names = {kind: listed for kind, listed in names.items() if kind != "info"}
    words = set(re.findall(r"\w+", said_by(language)))
    lacks = {name for kind, listed in names.items() for name in listed if not words.intersection(words_for(kind, name))}
    return lacks - set(EXCUSED[language])


def main() -> int:
    names = declared(HEADER.read_text(encoding="utf-8"))
    for kind, least in (("function", 30), ("status", 24), ("info", 40), ("option", 20)):
        if len(names[kind]) < least:
            sys.exit(f"only {len(names[kind])} of kind {kind} were found in {HEADER.name}: the pattern does not fit it any more")
    failed = False
    for language in LANGUAGES:
        lacks = missing(language, names)
        for name in sorted(lacks):
            print(f"{language}: {name} of pace.h is nowhere in {LANGUAGES[language][0]}")
        failed = failed or bool(lacks)
        print(f"{language}: {sum(map(len, names.values())) - len(lacks)} of {sum(map(len, names.values()))} names")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
