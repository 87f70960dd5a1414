#!/usr/bin/env python3
"""Writes pace/_abi.py, what capi/pace.h declares in the words of ctypes, with libclang.

    generate.py            writes the file
    generate.py --check    compares only: exit status 1 when the file is not what pace.h gives

Exit status 77: there is no libclang here (Debian's python3-clang-16).
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from declarations import Declarations, write_or_compare

HEAD = '''"""What capi/pace.h declares, in the words of ctypes. Written by generate.py: change the header, not this file.

The names are those of pace.h, whose comments document them. `declare` gives the functions of a loaded library
their argument and result types.
"""

import ctypes as c
from typing import Any, List, Tuple
'''

SCALARS = {"INT": "c.c_int32", "UINT": "c.c_uint32", "LONG": "c.c_int64", "ULONG": "c.c_uint64",
           "USHORT": "c.c_uint16", "UCHAR": "c.c_uint8", "DOUBLE": "c.c_double", "ENUM": "c.c_int32"}


class Translation(Declarations):
    """One header's declarations, as lines of Python in the order of the header."""

    def text(self):
        parts = [HEAD + "\n", "".join(f"{name} = {value}\n" for name, value in self.constants())]
        parts += self._structures()
        parts.append("\n\n" + self._functions())
        return "".join(parts)

    def _structures(self):
        for cursor in self.structs():
            yield self._structure(cursor.spelling, cursor.type.get_fields())

    def _structure(self, name, fields):
        unions = ""
        described = []
        for field in fields:
            if self.is_union(field.type):
                kind = f"{name}_{field.spelling}"
                unions += self._class(kind, "c.Union", list(field.type.get_canonical().get_fields()))
            else:
                kind = self._type(field.type)
            described.append((field.spelling, kind))
        return unions + self._class(name, "c.Structure", described)

    def _class(self, name, base, fields):
        pairs = [field if isinstance(field, tuple) else (field.spelling, self._type(field.type)) for field in fields]
        lines = "".join(f'        ("{field}", {kind}),\n' for field, kind in pairs)
        return f"\n\nclass {name}({base}):\n    _fields_ = [\n{lines}    ]\n"

    def _type(self, kind):
        """ctypes' word for a C type. A pointer is an address, except for text and for structures that are declared."""
        kind = kind.get_canonical()
        name = kind.kind.name
        if name == "POINTER":
            target = kind.get_pointee()
            if target.kind.name in ("CHAR_S", "CHAR_U"):
                return "c.c_char_p"
            if target.kind.name == "RECORD" and list(target.get_fields()):
                return f"c.POINTER({target.get_declaration().spelling})"
            return "c.c_void_p"
        if name == "CONSTANTARRAY":
            if kind.element_type.kind.name in ("CHAR_S", "CHAR_U"):
                return f"c.c_char * {kind.element_count}"
            return f"{self._type(kind.element_type)} * {kind.element_count}"
        if name == "RECORD":
            return kind.get_declaration().spelling
        return SCALARS[name]

    def _functions(self):
        lines = []
        for cursor in self.functions():
            # What a function is given besides handles by value and numbers is the address of something (byref, an array).
            arguments = [self._argument(argument.type) for argument in cursor.get_arguments()]
            result = "None" if cursor.result_type.kind.name == "VOID" else self._type(cursor.result_type)
            lines.append(f'    ("{cursor.spelling}", {result},\n     [{", ".join(arguments)}]),')
        return ("FUNCTIONS: List[Tuple[str, Any, List[Any]]] = [\n" + "\n".join(lines) + "\n]\n\n\n"
                "def declare(library: c.CDLL) -> None:\n"
                '    """Gives the functions of libpace their types. Raises AttributeError when one is missing."""\n'
                "    for name, result, arguments in FUNCTIONS:\n"
                "        function = getattr(library, name)\n"
                "        function.restype = result\n"
                "        function.argtypes = arguments\n")

    def _argument(self, kind):
        name = self._type(kind)
        is_input_text = name == "c.c_char_p" and kind.get_pointee().is_const_qualified()
        if name.startswith("c.POINTER(") or (name == "c.c_char_p" and not is_input_text):
            return "c.c_void_p"
        return name


if __name__ == "__main__":
    sys.exit(write_or_compare(Translation, FOLDER, "pace/_abi.py", sys.argv[1:]))
