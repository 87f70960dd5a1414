"""Declarations: what capi/pace.h declares, by libclang, for the scripts that write it in another language's words."""

import difflib
import pathlib
import sys

HEADER = pathlib.Path(__file__).resolve().parents[1] / "capi" / "pace.h"
CLEAN, DIFFERS, SKIPPED = 0, 1, 77


def load_clang():
    """Python's module for libclang with an index, or None."""
    try:
        from clang import cindex
        return cindex, cindex.Index.create()
    except Exception as error:  # the module or the library that it loads is missing: both are reasons to skip
        print(f"skipped: there is no libclang here ({error})")
        return None


class Declarations:
    """pace.h's declarations in their order. A language's class over it says them in its words, by text()."""

    unsigned_max = str(2 ** 64 - 1)  # how the language writes UINT64_MAX

    def __init__(self, cindex, index):
        self._cindex = cindex
        unit = index.parse(str(HEADER), args=["-x", "c", "-std=c11"],
                           options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        errors = [str(note) for note in unit.diagnostics if note.severity >= cindex.Diagnostic.Error]
        if errors:
            sys.exit("\n".join(errors))
        self._declarations = [cursor for cursor in unit.cursor.get_children()
                              if cursor.location.file and pathlib.Path(cursor.location.file.name) == HEADER]

    def text(self):
        raise NotImplementedError

    def constants(self):
        """Names and values of enumerators, and of macros that stand for one."""
        for cursor in self._of("MACRO_DEFINITION", "ENUM_DECL"):
            if cursor.kind == self._cindex.CursorKind.ENUM_DECL:
                for constant in cursor.get_children():
                    yield constant.spelling, constant.enum_value
                continue
            value = self._literal([token.spelling for token in cursor.get_tokens()][1:])
            if cursor.spelling.startswith("PACE_") and value is not None:
                yield cursor.spelling, value

    def structs(self):
        """Those that have fields: the others are known by their addresses alone."""
        return [cursor for cursor in self._of("STRUCT_DECL") if list(cursor.type.get_fields())]

    def functions(self):
        """Those of the library. What the header defines itself is not among them."""
        return [cursor for cursor in self._of("FUNCTION_DECL") if cursor.storage_class != self._cindex.StorageClass.STATIC]

    def is_union(self, kind):
        return kind.get_canonical().get_declaration().kind == self._cindex.CursorKind.UNION_DECL

    def _of(self, *kinds):
        wanted = [getattr(self._cindex.CursorKind, kind) for kind in kinds]
        return [cursor for cursor in self._declarations if cursor.kind in wanted]

    def _literal(self, tokens):
        """What a macro stands for; None for another kind of macro."""
        if tokens == ["UINT64_MAX"]:
            return self.unsigned_max
        text = "".join(tokens).strip("()")
        if text.startswith('"'):
            return text
        try:
            return str(int(text))
        except ValueError:
            return None


def write_or_compare(translation, folder, name, arguments):
    """The script's whole work: writes folder/name, or compares it with --check. Gives the exit status."""
    found = load_clang()
    if found is None:
        return SKIPPED
    target = folder / name
    text = translation(*found).text()
    if arguments == ["--check"]:
        committed = target.read_text(encoding="utf-8") if target.exists() else ""
        sys.stdout.writelines(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), name, "what pace.h gives"))
        print(f"{name} is what pace.h gives" if committed == text else f"run bindings/{folder.name}/generate.py")
        return CLEAN if committed == text else DIFFERS
    target.write_text(text, encoding="utf-8")
    return CLEAN
