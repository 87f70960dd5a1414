#!/usr/bin/env python3
"""Makes a library ask for an older version of one symbol's library: lower_version.py FILE FROM TO.

Debian's libzmq was linked with a libstdc++ whose std::condition_variable::wait has a second version, GLIBCXX_3.4.30, with the code of the
first, GLIBCXX_3.4.11; the loader of an older system refuses the file for the name alone. Here the file's need of FROM becomes one of TO,
a version that it needs anyway: its name's place in the string table, and the hash of the name. Nothing else changes. A file that does
not need FROM is left as it is; one that does not need TO is refused, since the table then lacks the name.
"""

import pathlib
import struct
import sys

SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
NEED = struct.Struct("<HHIII")  # Elf64_Verneed: version, count, file, first auxiliary, next
VERSION = struct.Struct("<IHHII")  # Elf64_Vernaux: hash, flags, other, name, next
SHT_GNU_VERNEED = 0x6FFFFFFE


class Wrong(Exception):
    """The file cannot be changed."""


def sections(data):
    if data[:5] != b"\x7fELF\x02" or data[5] != 1:
        raise Wrong("no 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    return [SECTION.unpack_from(data, offset + place * size) for place in range(count)]


def version_needs(data, section):
    """(place of the auxiliary entry, place of its name in the string table) of each version that is needed."""
    need = section[4]
    while True:
        _, count, _, first, following = NEED.unpack_from(data, need)
        entry = need + first
        for _ in range(count):
            _, _, _, name, step = VERSION.unpack_from(data, entry)
            yield entry, name
            entry += step
        if following == 0:
            return
        need += following


def lowered(data, old, new):
    """The file's bytes, and whether they are others than before."""
    table = sections(data)
    needs = [section for section in table if section[1] == SHT_GNU_VERNEED]
    if not needs:
        return data, False
    strings = table[needs[0][6]][4]

    def text(place):
        return bytes(data[strings + place:data.index(0, strings + place)]).decode()

    entries = [(entry, place, text(place)) for entry, place in version_needs(data, needs[0])]
    wanted = [entry for entry, _, name in entries if name == old]
    if not wanted:
        return data, False
    source = next((entry for entry, _, name in entries if name == new), None)
    if source is None:
        raise Wrong(f"it needs {old}, and not {new}, so that its tables lack that name")
    digest, _, _, name, _ = VERSION.unpack_from(data, source)
    changed = bytearray(data)
    for entry in wanted:
        _, flags, other, _, step = VERSION.unpack_from(data, entry)
        VERSION.pack_into(changed, entry, digest, flags, other, name, step)
    return bytes(changed), True


def main():
    path = pathlib.Path(sys.argv[1])
    try:
        data, is_changed = lowered(path.read_bytes(), sys.argv[2], sys.argv[3])
    except (Wrong, struct.error) as problem:
        print(f"{path}: {problem}", file=sys.stderr)
        return 1
    if is_changed:
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
