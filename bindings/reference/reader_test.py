#!/usr/bin/env python3
"""The readers find what small sources declare, and a public name without a comment is a fault."""

import pathlib
import sys
import unittest

import c_page
import c_source
import cpp_page
import julia_page
import page
import prose
import python_page
import signature

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings"))
import declarations  # noqa: E402  (its folder is on the path only now)


def entry_of(read, name):
    return next(entry for entry in read.entries() if name in entry.names)


def c(text):
    return c_page.page_of(text, "x.h")


def cpp(text, name="x"):
    return cpp_page.page_of({name: f"// x: about x.\n\nnamespace pace {{\n{text}}}  // namespace pace\n"}, "f")


class Prose(unittest.TestCase):
    def test_lines_of_a_paragraph_are_joined_and_empty_lines_divide(self):
        self.assertEqual(prose.Prose().blocks("One\ntwo.\n\nThree."), ["One two.", "Three."])

    def test_labelled_parts_are_a_list(self):
        self.assertEqual(prose.Prose().blocks("Does it. Threads: any.  Blocks: no."),
                         ["Does it.", "* **Threads:** any.\n* **Blocks:** no."])

    def test_an_indented_example_is_code_and_indented_terms_are_a_list(self):
        self.assertEqual(prose.Prose(language="c").blocks("So:\n    f(x);\n        g(y);"), ["So:", "```c\nf(x);\n    g(y);\n```"])
        self.assertEqual(prose.Prose().blocks("So:\n    one   first\n          of all\n    two"), ["So:", "* `one`: first of all\n* `two`"])

    def test_names_are_code_and_signs_of_markdown_are_words(self):
        self.assertEqual(prose.Prose().inline("a_b, *c_d, f() and 2 * 3 < 7 in `x|y`", is_cell=True),
                         r"`a_b`, `*c_d`, `f()` and 2 \* 3 \< 7 in `x\|y`")
        self.assertEqual(prose.Prose().inline("# is no heading"), r"\# is no heading")
        self.assertEqual(prose.Prose().inline("1. is no list"), r"1\. is no list")

    def test_a_name_is_linked_where_it_comes_first(self):
        found = prose.Prose(lambda name, _: "there" if name == "a_b" else None)
        self.assertEqual(found.inline("a_b and a_b and c_d"), "[`a_b`](#there) and `a_b` and `c_d`")


class Signatures(unittest.TestCase):
    def test_a_long_one_is_broken_between_parameters(self):
        lines = signature.broken("result<int> name(" + ", ".join(f"std::pair<int, int> number_{i}" for i in range(6)) + ") noexcept;")
        self.assertEqual(lines[0], "result<int> name(")
        self.assertTrue(all(len(line) <= signature.LINE_CHARACTERS for line in lines))
        self.assertTrue(lines[-1].endswith(") noexcept;"))

    def test_a_short_one_stays(self):
        self.assertEqual(signature.broken("int f(int a);"), ["int f(int a);"])


class C(unittest.TestCase):
    def test_sections_and_the_comment_of_the_file(self):
        read = c("/* x.h: a thing.\n *\n * Its rules.\n */\n#ifndef X\n#define X\n\n/* --------------------\n * calls\n *\n * All.\n */\n\n"
                 "/* Does. */\nint f(void);\n#endif\n")
        self.assertEqual(read.intro, "Its rules.")
        self.assertEqual([(part.title, part.text) for part in read.sections], [("calls", "All.")])
        self.assertEqual(entry_of(read, "f").texts, ["Does."])

    def test_fields_have_comments_in_front_and_behind(self):
        entry = entry_of(c("/* S. */\ntypedef struct s {\n    int a; /* one,\n            * two */\n\n    /* about b */\n    int\n        b[4];\n"
                           "    /* Of these. */\n    int c; /* three */\n    union {\n        int i; /* whole */\n    } v;\n} s;\n"), "s")
        self.assertEqual([(row.name, row.text) for row in entry.fields],
                         [("a", "one,\ntwo"), ("b", "about b"), ("", "Of these."), ("c", "three"), ("v", ""), ("v.i", "whole")])
        self.assertIn("    int b[4];", entry.code)

    def test_constants_of_an_enumeration_and_of_macros_are_groups(self):
        read = c("/* Kinds. */\nenum {\n    X_A = 1, /* first */\n    X_B =\n        2 /* last */\n};\n\n/* Words. */\n"
                 "#define X_C \"c\"\n#define X_D \"d\" /* e */\n")
        self.assertEqual([row.text for row in entry_of(read, "X_A").fields], ["first", "last"])
        self.assertEqual(entry_of(read, "X_C").names, ["X_C", "X_D"])
        self.assertEqual(read.faults(), [])

    def test_the_macro_that_initializes_a_struct_is_with_it(self):
        entry = entry_of(c("/* S. */\ntypedef struct s {\n    int a;\n} s;\n\n#define S_INIT \\\n    { 0 }\n"), "s")
        self.assertEqual(entry.code[-1], "#define S_INIT { 0 }")

    def test_inline_functions_and_what_is_for_other_compilers(self):
        read = c("#ifdef __cplusplus\nextern \"C\" {\n#endif\n#if defined(__GNUC__)\n#define X_API __attribute__((x))\n#else\n"
                 "#define X_API\n#endif\n\n/* F. */\nstatic inline int f(int a) {\n    return a;\n}\n")
        self.assertEqual([entry.names for entry in read.entries()], [["f"]])
        self.assertEqual(entry_of(read, "f").code, ["static inline int f(int a);"])

    def test_a_name_without_a_comment_is_a_fault(self):
        self.assertEqual(c("int f(void);\n").faults(), ["x.h:1: `f` has no comment"])
        self.assertEqual(c("/* Apart. */\n\nint f(void);\n").faults(), ["x.h:3: `f` has no comment"])
        self.assertEqual(c("typedef struct s {\n    int a; /* a */\n} s;\n").faults(), ["x.h:1: `s` has no comment"])

    def test_nothing_of_the_header_is_left_out(self):
        found = declarations.load_clang()
        if found is None:
            self.skipTest("there is no libclang here")
        header = declarations.Declarations(*found)
        listed = {name for entry in c_page.read(ROOT).entries()
                  for name in [*entry.names, *(row.name for row in entry.fields), *(line.split()[1].split("(")[0] for line in entry.code
                                                                                   if line.startswith("#define"))]}
        wanted = [name for name, _ in header.constants()] + [one.spelling for one in (*header.structs(), *header.functions())]
        self.assertGreater(len(wanted), 150)
        self.assertEqual([name for name in wanted if name not in listed], [])


class Cpp(unittest.TestCase):
    def test_a_class_shows_its_public_members_alone(self):
        read = cpp("// A.\nclass a : public b {\n  public:\n    a() noexcept = default;\n    // Does.\n    int f(int x = {}) const { return x; }\n"
                   "    a(const a&) = delete;\n    ~a() { end(); }\n\n  private:\n    int g();\n    int h_ = 0;\n};\n")
        entry = entry_of(read, "a")
        self.assertEqual(entry.code, ["class a : public b {", "    a() noexcept = default;", "};"])
        self.assertEqual([(member.names, member.code) for member in entry.members], [(["a::f"], ["int f(int x = {}) const;"])])

    def test_forms_of_a_function_share_a_heading_and_a_comment(self):
        read = cpp("// Does.\ninline result<int> f(nothrow_t) noexcept {\n    return g(1);\n}\n\n#if 1\ninline int f() {\n    return 1;\n}\n#endif\n")
        self.assertEqual(entry_of(read, "f").code, ["result<int> f(nothrow_t) noexcept;", "int f();"])
        self.assertEqual(read.faults(), [])

    def test_a_run_has_the_comment_of_its_first(self):
        read = cpp("// S.\nstruct s {\n    // Both.\n    int f() const;\n    int g() const;\n\n    int h() const;\n};\n")
        self.assertEqual([member.names for member in entry_of(read, "s").members], [["s::f", "s::g"], ["s::h"]])
        self.assertEqual(read.faults(), ["f/x.hpp:10: `s::h` has no comment"])

    def test_templates_initializers_and_specializations(self):
        read = cpp("// R.\ntemplate <class T>\nclass [[nodiscard]] r {\n  public:\n    r(T v) noexcept : v_{v}, w_(1) {}\n    // V.\n"
                   "    template <class U>\n    T v(U u = std::pair<int, int>{1, 2}) const;\n};\n\n// Of nothing.\ntemplate <>\nclass r<void> {\n"
                   "  public:\n    void v() const;\n};\n\n// T.\nclass t;\ntemplate <class T>\ninline constexpr int t_of = 1;\n")
        entry = entry_of(read, "r")
        self.assertIn("    r(T v) noexcept;", entry.code)
        self.assertEqual([member.code for member in entry.members],
                         [["template <class U>", "T v(U u = std::pair<int, int>{1, 2}) const;", "void v() const;"]])
        self.assertEqual(entry_of(read, "t_of").texts, ["T."])
        self.assertEqual(read.faults(), [])

    def test_what_is_in_detail_is_no_part(self):
        self.assertEqual(list(cpp("namespace detail {\nint f();\n}\n").entries()), [])

    def test_other_names_of_one_run_are_in_a_table(self):
        entry = entry_of(cpp("// Ends.\nusing a = e<1>;  // one\nusing b =\n    e<2>;  // two\n"), "a")
        self.assertEqual(entry.names, ["a", "b"])
        self.assertEqual([(row.name, row.text) for row in entry.fields], [("a", "one"), ("b", "two")])

    def test_a_type_and_a_function_without_a_comment_are_faults(self):
        self.assertEqual(len(cpp("struct s {\n    int a;  // a\n};\n\nint f();\n").faults()), 2)


class Python(unittest.TestCase):
    SOURCES = {
        "pace": '"""P."""\nfrom pace.one import A\nfrom pace import sub\n__all__ = ["A", "f", "sub"]\n\n\ndef f(a: int = 1,  # a\n'
                '      *, b: str = ":") -> int:\n    """F."""\n    return a\n',
        "pace.one": '"""One: about it."""\n\n\nclass _B:\n    """B."""\n\n    def g(self) -> None:\n        """G."""\n\n\n'
                    'class A(_B):\n    """A."""\n\n    def __init__(self, x: int):\n        self.x = x\n\n    def __len__(self) -> int:\n'
                    '        return 1\n\n    @property\n    def p(self) -> int:\n        return 1\n',
        "pace.sub": '"""Sub."""\n\n\ndef h() -> None:\n    """H."""\n\n\ndef _i() -> None:\n    return\n',
    }

    def test_public_names_have_signatures_and_docstrings(self):
        read = python_page.page_of(self.SOURCES)
        self.assertEqual(entry_of(read, "pace.f").code, ['def f(a: int = 1, *, b: str = ":") -> int'])
        self.assertEqual(entry_of(read, "pace.sub.h").texts, ["H."])
        self.assertEqual(entry_of(read, "pace.A").code, ["class A(_B):", "    def __init__(x: int)"])
        self.assertEqual([member.names[0] for member in entry_of(read, "pace.A").members], ["A.p", "A.g"])
        self.assertEqual({section.title: section.text for section in read.sections}["pace.one"], "About it.")

    def test_a_method_without_a_docstring_is_a_fault(self):
        self.assertEqual(python_page.page_of(self.SOURCES).faults(), ["bindings/python/pace/one.py:21: `A.p` has no comment"])

    def test_another_name_for_a_type_needs_a_comment_too(self):
        bare = {"pace": '"""P."""\n__all__ = ["T"]\n\nT = int\n'}
        self.assertEqual(len(python_page.page_of(bare).faults()), 1)
        self.assertEqual(python_page.page_of({"pace": bare["pace"].replace("\nT =", "\n# A number.\nT =")}).faults(), [])


class Julia(unittest.TestCase):
    MAIN = '"""\nP.\n"""\nmodule Pace\nexport S\nconst PUBLIC = (:f, :K)\nend\n'
    REST = '# S: about it.\n\n"""\n    S(a;\n      b=1)\n\nMakes. See [`Pace.f`](@ref).\n"""\nstruct S\n    a::Int # a\nend\n\n"""\n    f(s)\n\nDoes.\n"""\n' \
           'f(s) = 1\n\n"K."\nconst K = 1\n\n"Inside."\nfunction g()\nend\n\n"Of a number."\nf(n::Int) = n\n\n"""\n    close(s)\n\nEnds.\n"""\n' \
           'function Base.close(s::S)\nend\n'

    def test_public_names_have_what_their_docstrings_say(self):
        read = julia_page.page_of({"Pace.jl": self.MAIN, "s.jl": self.REST})
        self.assertEqual([entry.names for entry in read.entries()], [["S"], ["Pace.f"], ["Pace.K"], ["close"]])
        self.assertEqual(entry_of(read, "S").code, ["S(a; b=1)"])
        self.assertEqual(entry_of(read, "Pace.f").texts, ["Does."])
        self.assertEqual(read.faults(), [])
        self.assertIn("Makes. See [`Pace.f`](#pacef).", read.markdown())

    def test_a_struct_has_its_fields_and_a_mutable_one_keeps_them(self):
        read = julia_page.page_of({"Pace.jl": self.MAIN, "s.jl": self.REST + '"F."\nmutable struct f\n    a::Int\nend\n"K."\nstruct K\n    a::Int\nend\n'})
        self.assertEqual(entry_of(read, "Pace.K").code, ["const K = 1", "struct K", "    a::Int", "end"])
        self.assertIn("mutable struct S", entry_of(julia_page.page_of(
            {"Pace.jl": self.MAIN, "s.jl": '"S."\nmutable struct S\n    a::Int\nend\n'}), "S").code)

    def test_a_public_name_without_a_docstring_is_a_fault(self):
        read = julia_page.page_of({"Pace.jl": self.MAIN, "s.jl": self.REST.replace('"K."\n', "")})
        self.assertEqual(read.faults(), ["bindings/julia/src/Pace.jl: Pace.K has no comment"])

    def test_a_described_name_that_is_not_listed_is_a_fault(self):
        read = julia_page.page_of({"Pace.jl": self.MAIN.replace(":f, ", ""), "s.jl": self.REST})
        self.assertEqual(len(read.faults()), 1)
        self.assertIn("not in PUBLIC", read.faults()[0])


class Pages(unittest.TestCase):
    def test_headings_of_one_name_have_anchors_of_their_own(self):
        made = page.Page("P", "x", "c", sections=[page.Section("a", entries=[page.Entry(["a"], texts=["A."])])])
        self.assertIn("* [a](#a): [`a`](#a-1)", made.markdown())

    def test_a_constant_leads_to_its_group(self):
        made = c("/* Kinds. */\nenum {\n    X_A = 1, /* first */\n    X_B = 2\n};\n\n/* Not X_B. */\nint f(void);\n")
        self.assertIn("Not [`X_B`](#x_a-x_b).", made.markdown())

    def test_comments_of_items_keep_their_indentation(self):
        self.assertEqual(c_source.items("/* One\n *     two\n */\nint f(void);\n")[0].comment, "One\n    two")


if __name__ == "__main__":
    unittest.main()
