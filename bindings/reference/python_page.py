"""The page of the Python package, from its source: what `__all__` of pace and of pace.torch names."""

import ast
import re

import signature
from page import Entry, Field, Page, Section

FOLDER = "bindings/python"
PACKAGES = ("pace", "pace.torch")
# Modules of pace in the order in which they are used. Others follow, by name.
ORDER = ("pace.session", "pace.buffer", "pace.request", "pace.info", "pace.options", "pace.launch", "pace", "pace.errors")


def read(root):
    folder = root / FOLDER
    sources = {}
    for path in sorted((folder / "pace").rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        sources[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return page_of(sources)


def page_of(sources):
    """The page of modules, by their names with dots."""
    tree = Modules(sources)
    page = Page("The Python package: pace", f"`{FOLDER}/pace`", "python", intro=ast.get_docstring(tree.trees["pace"]) or "")
    for package in PACKAGES:
        if package not in tree.trees:
            continue
        by_module = {}
        for name in tree.public(package):
            where = tree.origin(package, name)
            by_module.setdefault(where[0], []).append((f"{package}.{name}", *where))
        if package == "pace":
            modules = [module for module in ORDER if module in by_module]
            modules += sorted(module for module in by_module if module not in ORDER)
        else:
            modules = list(by_module)
        for module in modules:
            if package == "pace" or not page.sections or page.sections[-1].title != package:
                title = module if package == "pace" else package
                page.sections.append(Section(title, tree.about(title)))
            for public, home, name in sorted(by_module[module], key=lambda one: tree.line_of(*one[1:])):
                page.sections[-1].entries += tree.entries(public, home, name)
    return page


class Modules:
    """The package's modules, read and not run."""

    def __init__(self, sources):
        self.sources = sources
        self.trees = {name: ast.parse(text) for name, text in sources.items()}
        self._lines = {name: text.split("\n") for name, text in sources.items()}

    def public(self, module):
        """What `__all__` lists; without one, all that is defined there and has no underscore in front."""
        for node in self.trees[module].body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                return [element.value for element in node.value.elts]
        return [node.name for node in self.trees[module].body
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")]

    def origin(self, module, name):
        """The module that defines the name, and its name there. A module is its own origin, without a name."""
        if f"{module}.{name}" in self.trees:
            return f"{module}.{name}", ""
        for node in self.trees[module].body:
            if isinstance(node, ast.ImportFrom) and node.module in self.trees:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.origin(node.module, alias.name)
        return module, name

    def line_of(self, module, name):
        node = self._find(module, name) if name else None
        return node.lineno if node else 0

    def about(self, module):
        """The words of a module's docstring, without its name in front. That of pace is the page's."""
        text = "" if module == "pace" else ast.get_docstring(self.trees[module]) or ""
        return re.sub(r"^[\w.]+: (\w?)", lambda found: found.group(1).upper(), text)

    def entries(self, public, module, name):
        if not name:
            return [entry for inner in self.public(module) for entry in self.entries(f"{public}.{inner}", module, inner)]
        where = f"{FOLDER}/{module.replace('.', '/')}.py"
        node = self._find(module, name)
        if node is None:
            return [Entry([public], where)]
        where = f"{where}:{node.lineno}"
        if isinstance(node, ast.ClassDef):
            return [self._class(public, module, node, where)]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return [Entry([public], where, self._signature(module, node), self._texts(node))]
        return [Entry([public], where, [self._source(module, node)], [self._comment_above(module, node)])]

    def _find(self, module, name):
        for node in self.trees[module].body:
            named = getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", None) or \
                (getattr(node.targets[0], "id", None) if isinstance(node, ast.Assign) else None)
            if named == name:
                return node
        return None

    def _class(self, public, module, node, where):
        short = public.rpartition(".")[2]
        entry = Entry([public], where, self._class_code(module, node), self._texts(node), field_title="field", context=short)
        for base_module, base in [(module, node), *self._private_bases(module, node)]:
            if base is not node:
                entry.texts += self._texts(base)
            for inner in base.body:
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and self._is_shown(inner):
                    place = f"{FOLDER}/{base_module.replace('.', '/')}.py:{inner.lineno}"
                    entry.members.append(Entry([f"{short}.{inner.name}"], place, self._signature(base_module, inner),
                                               self._texts(inner), context=short))
        entry.fields = [Field(inner.target.id, self._comment_behind(module, inner)) for inner in node.body
                        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)]
        return entry

    def _private_bases(self, module, node):
        """Classes of this package whose methods the class has, and which have no heading of their own."""
        for base in node.bases:
            if isinstance(base, ast.Name):
                home, name = self.origin(module, base.id)
                found = self._find(home, name) if home in self.trees else None
                if isinstance(found, ast.ClassDef) and not any(self.origin(package, name) == (home, name) for package in PACKAGES
                                                               if package in self.trees and name in self.public(package)):
                    yield home, found

    @staticmethod
    def _is_shown(function):
        """Methods without an underscore, and special ones that say what they do."""
        if function.name.startswith("__") and function.name.endswith("__"):
            return function.name != "__init__" and ast.get_docstring(function) is not None
        return not function.name.startswith("_")

    @staticmethod
    def _texts(node):
        return [text for text in [ast.get_docstring(node)] if text]

    def _class_code(self, module, node):
        bases = ", ".join(self._source(module, base) for base in node.bases)
        head = f"class {node.name}" + (f"({bases})" if bases else "")
        lines = []
        for inner in node.body:
            if isinstance(inner, ast.AnnAssign) and not inner.target.id.startswith("_"):
                lines.append(self._source(module, inner))
            elif isinstance(inner, ast.Assign) and not inner.targets[0].id.startswith("_"):
                lines.append(self._source(module, inner).replace("_abi.", ""))
            elif isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                # A class whose constructor takes what only the package has is made by other calls.
                is_made_here = "_abi." in self._source(module, inner.args)
                lines += self._attributes(module, inner) if is_made_here else self._signature(module, inner)
        decorators = [f"@{self._source(module, one)}" for one in node.decorator_list]
        return decorators + [f"{head}:", *(f"    {line}" for line in lines)] if lines else [*decorators, head]

    def _attributes(self, module, constructor):
        """What the constructor keeps of its parameters, under their names."""
        annotations = {one.arg: one.annotation for one in constructor.args.args if one.annotation is not None}
        kept = [node.targets[0].attr for node in constructor.body
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)]
        return [f"{name}: {self._source(module, annotations[name])}" for name in kept if name in annotations]

    def _signature(self, module, function):
        lines = [f"@{self._source(module, one)}" for one in function.decorator_list]
        start = function.lineno - 1
        text = "\n".join(self._lines[module][start:function.body[0].lineno])
        head = text[:_end_of_head(text)]
        head = re.sub(r"\s+", " ", re.sub(r"\s*#.*", "", head)).strip()
        head = re.sub(r"(?<=\()self(, |(?=\)))", "", head)
        return lines + signature.broken(head)

    def _source(self, module, node):
        if isinstance(node, ast.arguments):
            everything = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            return " ".join(self._source(module, one.annotation) for one in everything if one.annotation is not None)
        return re.sub(r"\s+", " ", ast.get_source_segment(self.sources[module], node) or "")

    def _comment_above(self, module, node):
        lines, at = [], node.lineno - 2
        while at >= 0 and self._lines[module][at].startswith("#"):
            lines.insert(0, re.sub(r"^# ?", "", self._lines[module][at]))
            at -= 1
        return "\n".join(lines)

    def _comment_behind(self, module, node):
        rest = self._lines[module][node.end_lineno - 1][node.end_col_offset:]
        return re.sub(r"^\s*#\s*", "", rest) if "#" in rest else ""


def _end_of_head(text):
    """Where the colon is that ends a function's head."""
    depth, at = 0, 0
    while at < len(text):
        if text[at] in "\"'":
            at = text.index(text[at], at + 1)
        elif text[at] == ":" and depth == 0:
            return at
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return at
