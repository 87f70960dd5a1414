#!/usr/bin/env python3
"""Writes src/abi.jl, what capi/pace.h declares in the words of Julia, with libclang.

    generate.py            writes the file
    generate.py --check    compares only: exit status 1 when the file is not what pace.h gives

Exit status 77: there is no libclang here (Debian's python3-clang-16).
"""

import pathlib
import sys
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from declarations import Declarations, write_or_compare

HEAD = '''# What capi/pace.h declares, in the words of Julia. Written by generate.py: change the header, not this file.

"""
The names of pace.h, whose comments document them. A struct's constructor takes its fields as keywords; those that are left
out are zero, and `struct_size` is the struct's own size. `LAYOUT` has each struct's size and the offsets of its fields as C
sees them. `function_pointers` holds the addresses of `FUNCTIONS`; `loader` fills them when the first one is called.
"""
module ABI

function zeroed(::Type{T}) where {T}
    memory = Ref{T}()
    ccall(:memset, Ptr{Cvoid}, (Ref{T}, Cint, Csize_t), memory, 0, sizeof(T))
    return memory[]
end

'''

TAIL = '''
const function_pointers = fill(C_NULL, length(FUNCTIONS))
const loader = Ref{Function}(() -> error("no loader has been set"))

function address(index)
    function_pointers[index] == C_NULL && loader[]()
    return function_pointers[index]
end
end
'''

SCALARS = {"INT": "Int32", "UINT": "UInt32", "LONG": "Int64", "ULONG": "UInt64", "USHORT": "UInt16", "UCHAR": "UInt8",
           "CHAR_S": "UInt8", "CHAR_U": "UInt8", "DOUBLE": "Float64", "ENUM": "Int32", "VOID": "Cvoid"}


class Translation(Declarations):
    """One header's declarations, as lines of Julia in the order of the header."""

    unsigned_max = "typemax(UInt64)"

    def text(self):
        parts = ["".join(f"const {name} = {value}\n" for name, value in self.constants())]
        parts += ["".join(self._struct(cursor) for cursor in self.structs())]
        parts += ["const LAYOUT = [\n" + "".join(self._layout(cursor) for cursor in self.structs()) + "]\n"]
        return HEAD + "\n".join(parts + [self._functions()]) + TAIL

    def _struct(self, cursor):
        name = cursor.spelling
        lines = ""
        for field in cursor.type.get_fields():
            kind = self._type(field.type)
            default = f"sizeof({name})" if field.spelling == "struct_size" else zero(kind)
            lines += f"    {field.spelling}::{kind} = {default}\n"
        return f"Base.@kwdef struct {name}\n{lines}end\n"

    def _layout(self, cursor):
        offsets = [cursor.type.get_offset(field.spelling) // 8 for field in cursor.type.get_fields()]
        return f"    ({cursor.spelling}, {cursor.type.get_size()}, {offsets}),\n"

    def _type(self, kind):
        """Julia's word for a C type. A pointer to a type that is not declared here is one to nothing in particular."""
        kind = kind.get_canonical()
        name = kind.kind.name
        if name == "POINTER":
            return f"Ptr{{{self._type(kind.get_pointee())}}}"
        if name == "CONSTANTARRAY":
            return f"NTuple{{{kind.element_count}, {self._type(kind.element_type)}}}"
        if name == "RECORD":
            if self.is_union(kind):
                if kind.get_size() != 8:
                    sys.exit(f"a union of {kind.get_size()} bytes: this script knows unions of 8")
                return "UInt64"
            return kind.get_declaration().spelling if list(kind.get_fields()) else "Cvoid"
        return SCALARS[name]

    def _functions(self):
        names, lines = [], []
        for cursor in self.functions():
            names.append(cursor.spelling)
            arguments = [argument.spelling for argument in cursor.get_arguments()]
            kinds = [self._argument(argument.type) for argument in cursor.get_arguments()]
            listed = "".join(f"{kind}, " for kind in kinds).rstrip() if len(kinds) == 1 else ", ".join(kinds)
            result = self._argument(cursor.result_type)
            lines.append(f"{cursor.spelling}({', '.join(arguments)}) =\n"
                         f"    ccall(address({len(names)}), {result}, ({listed}){''.join(', ' + name for name in arguments)})\n")
        table = textwrap.fill(", ".join(f":{name}" for name in names), 120, initial_indent="    ", subsequent_indent="    ")
        return f"const FUNCTIONS = [\n{table}\n]\n\n" + "".join(lines)

    def _argument(self, kind):
        """As _type, and text that is only read is a Cstring, which Julia checks for zeros within."""
        canonical = kind.get_canonical()
        if canonical.kind.name == "POINTER":
            target = canonical.get_pointee()
            if target.kind.name in ("CHAR_S", "CHAR_U") and target.is_const_qualified():
                return "Cstring"
        return self._type(kind)


def zero(kind):
    if kind.startswith("Ptr{"):
        return "C_NULL"
    if kind.startswith("NTuple{"):
        return f"zeroed({kind})"
    return f"{kind}()" if kind.startswith("pace_") else "0"


if __name__ == "__main__":
    sys.exit(write_or_compare(Translation, FOLDER, "src/abi.jl", sys.argv[1:]))
