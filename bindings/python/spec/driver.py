#!/usr/bin/env python3
"""Driver: does what the specification's runner (bindings/spec) says on the standard input, through the package pace."""

import ctypes
import os
import pathlib
import select
import signal
import sys
import threading
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import pace

SIZES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "u32": 4}
CODES = {"f32": "f", "f64": "d", "f16": "H", "bf16": "H", "u32": "I"}
KINDS = {"int": int, "real": float, "text": str, "bytes": bytes.fromhex}


class Unsupported(Exception):
    """The binding cannot say it."""


class Command:
    """A line: its verb, the name that it makes or uses, and its keys."""

    def __init__(self, line):
        self.verb, *rest = line.split()
        self.name = rest[0] if rest and ("=" not in rest[0]) else ""
        self.rest = rest
        self.keys = dict(word.split("=", 1) for word in rest if "=" in word)

    def text(self, key, otherwise=None):
        return self.keys.get(key, otherwise)

    def number(self, key, otherwise=None):
        return int(self.keys[key]) if key in self.keys else otherwise

    def seconds(self, key):
        milliseconds = self.number(key, -1)
        if milliseconds < -1:
            raise Unsupported("a wait has no number for one without an end: it is None")
        return None if milliseconds == -1 else milliseconds / 1000


class Memory:
    """A buffer with its elements, of whichever kind its memory is."""

    def __init__(self, buffer, kind, view):
        self.buffer = buffer
        self.kind = kind
        self.view = view

    def write(self, at, number):
        self.view[at] = float(number) if self.kind in ("f32", "f64") else int(number)

    def read(self, at):
        value = self.view[at]
        return f"{value:.9g}" if self.kind == "f32" else repr(value)


class Driver:
    def __init__(self):
        self.sessions = {}
        self.buffers = {}
        self.requests = {}
        self.tensors = {}
        self.threads = {}

    def answer(self, line):
        try:
            command = Command(line)
            handler = getattr(self, f"do_{command.verb}", None)
            return f"broken no such command: {command.verb}" if handler is None else f"PACE_OK {handler(command) or ''}".rstrip()
        except pace.PaceError as error:
            return self.failure(error)
        except Ended as told:
            return str(told)
        except Unsupported as reason:
            return f"unsupported {reason}"
        except Exception:
            traceback.print_exc()
            return f"broken {sys.exc_info()[1]!r}"

    def failure(self, error):
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        told = pace.status_name(error.status)
        if error.argument:
            told += f" argument={error.argument}"
        return told if error.info is None else f"{told} {info_text(error.info)}"

    def do_open(self, command):
        options = {}
        for key, value in command.keys.items():
            kind, colon, name = key.partition(":")
            if colon:
                is_hint = kind.startswith("hint-")
                parsed = KINDS[kind[5:] if is_hint else kind](value)
                options[name] = pace.Hint(parsed) if is_hint else parsed
        session = pace.Session(command.text("job"), command.text("policy"), rank=command.number("rank"),
                               world=command.number("world"), endpoint=command.text("endpoint"), run=command.text("run"),
                               connect_ms=command.number("connect_ms", 10000), resume=command.number("resume", 0) == 1,
                               options=options)
        self.sessions[command.name] = session
        return f"rank={session.info.rank} world={session.info.world}"

    def do_info(self, command):
        info = self.sessions[command.name].info
        return (f"rank={info.rank} world={info.world} run_state={info.run_state.replace('-', '_')} generation={info.generation} "
                f"job={info.job} node={info.node} run={info.run}")

    def do_leave(self, command):
        if command.number("timeout_ms", 0) < 0:
            raise Unsupported("a wait has no number for one without an end: it is None")
        self.sessions[command.name].leave(command.number("timeout_ms", 1000) / 1000)

    def do_report(self, command):
        told = [float(command.keys[key]) if key in command.keys else None for key in ("loss", "samples_per_s")]
        steps = (command.number("steps_done", 0), command.number("steps_total")) if "steps_total" in command.keys else None
        self.sessions[command.name].report(*told, steps=steps)

    def do_free(self, command):
        self.sessions[command.name].free()

    def do_fd(self, command):
        descriptor = self.sessions[command.name].fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return f"readable={int(bool(poll.poll(command.number('timeout_ms'))))}"

    def do_fork(self, command):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            told = "PACE_OK"
            try:
                self.sessions[command.name].barrier()
            except pace.PaceError as error:
                told = pace.status_name(error.status)
            os.write(writing, told.encode())
            os._exit(0)
        os.close(writing)
        told = os.read(reading, 100).decode()
        os.close(reading)
        os.waitpid(child, 0)
        return f"child={told}"

    def do_announce(self, command):
        self.sessions[command.name].announce(command.number("iteration"))

    def do_withdraw(self, command):
        self.sessions[command.name].withdraw()

    def do_buffer(self, command):
        session = self.sessions[command.text("session")]
        kind, count = command.text("type"), command.number("count")
        source = command.text("source", "new")
        if source == "pointer":
            own = (ctypes.c_char * (count * SIZES[kind]))()
            view = memoryview(own).cast("B").cast(CODES[kind])
            buffer = session.import_array(view, dtype=kind)
        elif source == "fd":
            descriptor = pace.memfd(kind, count)
            try:
                buffer = session.import_fd(descriptor, kind, count)
            finally:
                os.close(descriptor)
            view = buffer.memoryview()
        else:
            buffer = session.buffer(kind, count)
            view = buffer.memoryview()
        self.buffers[command.name] = Memory(buffer, kind, view)

    def do_describe(self, command):
        memory = self.buffers[command.name]
        info = memory.buffer.info
        typestr = getattr(memory.buffer, "__array_interface__", {}).get("typestr", "none")
        return (f"type={memory.buffer.dtype} count={len(memory.buffer)} typestr={typestr} restored={int(info.restored)} "
                f"staged={int(info.staged)}")

    def do_free_buffer(self, command):
        self.buffers[command.name].buffer.free()

    def do_release_buffer(self, command):
        del self.buffers[command.name]

    def do_write(self, command):
        for at, number in enumerate(command.text("values").split(","), command.number("first", 0)):
            self.buffers[command.name].write(at, number)

    def do_fill(self, command):
        memory = self.buffers[command.name]
        for at in range(len(memory.view)):
            memory.write(at, command.text("value"))

    def do_read(self, command):
        memory = self.buffers[command.name]
        first = command.number("first", 0)
        count = command.number("count", len(memory.view) - first)
        return "values=" + ",".join(memory.read(at) for at in range(first, first + count))

    def do_tensor(self, command):
        buffer = self.buffers[command.text("buffer")].buffer
        major = command.number("major", 0)
        capsule = buffer.__dlpack__(max_version=(major, 0) if major else None)
        tensor = Tensor(capsule, major)
        self.tensors[command.name] = tensor
        return f"count={tensor.raw.shape[0]} code={tensor.raw.code} bits={tensor.raw.bits}"

    def do_read_tensor(self, command):
        return "values=" + ",".join(f"{value:.9g}" for value in self.tensors[command.name].floats())

    def do_free_tensor(self, command):
        del self.tensors[command.name]

    def operand(self, text):
        parts = []
        for part in filter(None, text.split(",")):
            name, _, bounds = part.partition("[")
            buffer = self.buffers[name].buffer
            if bounds:
                first, end = map(int, bounds.rstrip("]").split(":"))
                parts.append(pace.Slice(buffer, first, end - first))
            else:
                parts.append(buffer)
        return parts

    def begin(self, command, *operands, **keywords):
        session = self.sessions[command.text("session")]
        if "results" in command.keys:
            keywords["results"] = self.operand(command.text("results"))
        for key in ("iteration", "user_data"):
            if key in command.keys:
                keywords[key] = command.number(key)
        self.requests[command.name] = getattr(session, command.verb)(*operands, **keywords)

    def do_average(self, command):
        keywords = {"keep_local": True} if command.number("keep_local", 0) else {}
        if "order" in command.keys:
            keywords["order"] = command.text("order")
        self.begin(command, self.operand(command.text("buffers")), **keywords)

    def do_reduce(self, command):
        self.begin(command, self.operand(command.text("buffers")), op=command.text("op", "mean"))

    def do_broadcast(self, command):
        if "results" in command.keys:
            raise Unsupported("a broadcast has no results to give")
        self.begin(command, self.operand(command.text("buffers")), root=command.number("root", 0))

    def do_push(self, command):
        keywords = {"entries": command.number("entries")} if command.number("sparse", 0) else {}
        self.begin(command, self.operand(command.text("buffers")), first=command.number("first", 0), **keywords)

    def do_pull(self, command):
        self.begin(command, self.operand(command.text("buffers")), first=command.number("first", 0))

    def plain(self, command):
        self.begin(command, self.operand(command.text("buffers")))

    do_sync = do_residual_save = do_residual_load = plain

    def do_barrier(self, command):
        self.begin(command)

    do_checkpoint = do_barrier

    def do_ready(self, command):
        self.requests[command.name].ready(command.number("elements"))

    def do_wait(self, command):
        if command.number("signals", 0):
            raise Unsupported("a wait looks for signals by itself, and goes on when none of their handlers raises")
        return info_text(self.requests[command.name].wait(command.seconds("timeout_ms"), members=True,
                                                          local_iteration=command.number("local_iteration", 0)))

    def do_test(self, command):
        request = self.requests[command.name]
        if not request.done():
            raise pace.Pending("in flight")
        return info_text(request.wait())

    def do_next(self, command):
        return self.end_of(self.sessions[command.name].next(command.seconds("timeout_ms")))

    def do_wait_any(self, command):
        wanted = [self.requests[name] for name in command.text("requests").split(",")]
        return self.end_of(self.sessions[command.name].wait_any(wanted, command.seconds("timeout_ms")))

    def end_of(self, ended):
        name = next(name for name, request in self.requests.items() if request is ended)
        try:
            return f"{info_text(ended.wait())} request={name}"
        except pace.PaceError as error:
            raise Ended(f"{self.failure(error)} request={name}") from error

    def do_cancel(self, command):
        self.requests[command.name].cancel()

    def do_query(self, command):
        pace.query(command.name, command.text("endpoint"))
        return "json=1"

    def do_version(self, _):
        parts = [[int(part) for part in version.split(".")] for version in (pace.__version__, pace.library_version())]
        header, library = (10000 * major + 100 * minor + patch for major, minor, patch in parts)
        return f"header={header} library={library}"

    def do_name(self, command):
        return f"name={pace.status_name(int(command.name))}"

    def do_spawn(self, command):
        thread = Answering(self, " ".join(command.rest[1:]))
        self.threads[command.name] = thread
        thread.start()

    def do_join(self, command):
        thread = self.threads.pop(command.name)
        thread.join()
        status, _, rest = thread.told.partition(" ")
        if status != "PACE_OK":
            raise Ended(thread.told)
        return rest

    def do_drop(self, command):
        for names in (self.sessions, self.buffers, self.requests):
            names.pop(command.name, None)


class Ended(Exception):
    """An answer that is written already."""


class Answering(threading.Thread):
    def __init__(self, driver, line):
        super().__init__(daemon=True)
        self.driver = driver
        self.line = line
        self.told = ""

    def run(self):
        self.told = self.driver.answer(self.line)


class RawTensor(ctypes.Structure):
    """As dlpack.h declares DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class Tensor:
    """What a capsule holds, which holds the memory."""

    TENSOR_OFFSETS = {0: 0, 1: 32}  # DLManagedTensor, DLManagedTensorVersioned

    def __init__(self, capsule, major):
        self.capsule = capsule
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = get(capsule, b"dltensor_versioned" if major else b"dltensor")
        self.raw = RawTensor.from_address(address + self.TENSOR_OFFSETS[major])

    def floats(self):
        return (ctypes.c_float * self.raw.shape[0]).from_address(self.raw.data + self.raw.byte_offset)


def info_text(info):
    numbers = ("iteration", "user_data", "group", "round", "version", "member_count", "node_count", "contributor_count",
               "divisor", "rounds", "entries", "late", "resync", "dense", "staleness", "slowest_clock")
    parts = [f"{name}={number_text(getattr(info, name))}" for name in numbers]
    parts.append(f"contents={info.contents.replace('-', '_')}")
    if info.members:
        parts.append("members=" + ",".join(str(member.rank) for member in info.members))
        parts.append("weights=" + ",".join(repr(member.weight) for member in info.members))
    return " ".join(parts)


def number_text(value):
    return repr(int(value)) if isinstance(value, bool) else repr(value)


def main():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    driver = Driver()
    for line in sys.stdin:
        print(driver.answer(line), flush=True)
    os._exit(0)  # without leaving jobs in order, whatever threads wait for


if __name__ == "__main__":
    main()
