#!/usr/bin/env python3
"""Writes pace/_abi.py, what capi/pace.h declares in the words of ctypes, with libclang.

    generate.py            writes the file
    generate.py --check    compares only: exit status 1 when the file is not what pace.h gives

Exit status 77: there is no libclang here (Debian's python3-clang-16).
"""

import difflib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
HEADER = FOLDER.parents[1] / "capi" / "pace.h"
TARGET = FOLDER / "pace" / "_abi.py"
CLEAN, DIFFERS, SKIPPED = 0, 1, 77

HEAD = '''"""What capi/pace.h declares, in the words of ctypes. Written by generate.py: change the header, not this file.

The names are those of pace.h, whose comments document them. `declare` gives the functions of a loaded library
their argument and result types.
"""

import ctypes as c
from typing import Any, List, Tuple
'''

SCALARS = {"INT": "c.c_int32", "UINT": "c.c_uint32", "LONG": "c.c_int64", "ULONG": "c.c_uint64",
           "USHORT": "c.c_uint16", "UCHAR": "c.c_uint8", "DOUBLE": "c.c_double", "ENUM": "c.c_int32"}


def load_clang():
    """Python's module for libclang with an index, or None."""
    try:
        from clang import cindex
        return cindex, cindex.Index.create()
    except Exception as error:  # the module or the library that it loads is missing: both are reasons to skip
        print(f"skipped: there is no libclang here ({error})")
        return None


class Translation:
    """One header's declarations, as lines of Python in the order of the header."""

    def __init__(self, cindex, index, header):
        self._cindex = cindex
        arguments = ["-x", "c", "-std=c11"]
        unit = index.parse(str(header), args=arguments, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        errors = [str(note) for note in unit.diagnostics if note.severity >= cindex.Diagnostic.Error]
        if errors:
            sys.exit("\n".join(errors))
        self._declarations = [cursor for cursor in unit.cursor.get_children()
                              if cursor.location.file and pathlib.Path(cursor.location.file.name) == header]

    def text(self):
        parts = [HEAD + "\n", "\n".join(self._constants()) + "\n"]
        parts += self._structures()
        parts.append("\n\n" + self._functions())
        return "".join(parts)

    def _of(self, *kinds):
        wanted = [getattr(self._cindex.CursorKind, kind) for kind in kinds]
        return [cursor for cursor in self._declarations if cursor.kind in wanted]

    def _constants(self):
        for cursor in self._of("MACRO_DEFINITION", "ENUM_DECL"):
            if cursor.kind == self._cindex.CursorKind.ENUM_DECL:
                for constant in cursor.get_children():
                    yield f"{constant.spelling} = {constant.enum_value}"
                continue
            value = literal([token.spelling for token in cursor.get_tokens()][1:])
            if cursor.spelling.startswith("PACE_") and value is not None:
                yield f"{cursor.spelling} = {value}"

    def _structures(self):
        for cursor in self._of("STRUCT_DECL"):
            fields = [field for field in cursor.type.get_fields()]
            if fields:
                yield self._structure(cursor.spelling, fields)

    def _structure(self, name, fields):
        unions = ""
        described = []
        for field in fields:
            declaration = field.type.get_canonical().get_declaration()
            if declaration.kind == self._cindex.CursorKind.UNION_DECL:
                kind = f"{name}_{field.spelling}"
                unions += self._class(kind, "c.Union", list(declaration.type.get_fields()))
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
        for cursor in self._of("FUNCTION_DECL"):
            if cursor.storage_class == self._cindex.StorageClass.STATIC:
                continue
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


def literal(tokens):
    """What a macro stands for, as Python writes it; None for another kind of macro."""
    if tokens == ["UINT64_MAX"]:
        return str(2 ** 64 - 1)
    text = "".join(tokens).strip("()")
    if text.startswith('"'):
        return text
    try:
        return str(int(text))
    except ValueError:
        return None


def main():
    found = load_clang()
    if found is None:
        return SKIPPED
    text = Translation(*found, HEADER).text()
    if sys.argv[1:] == ["--check"]:
        committed = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        sys.stdout.writelines(difflib.unified_diff(committed.splitlines(True), text.splitlines(True),
                                                   "pace/_abi.py", "what pace.h gives"))
        print("pace/_abi.py is what pace.h gives" if committed == text else "run bindings/python/generate.py")
        return CLEAN if committed == text else DIFFERS
    TARGET.write_text(text, encoding="utf-8")
    return CLEAN


if __name__ == "__main__":
    sys.exit(main())
