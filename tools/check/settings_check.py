#!/usr/bin/env python3
"""The configuration as documented is the configuration as read.

docs/configuration.md equals what config_reference prints, every name with which a program asks for
a setting is in the reference, and every setting is asked for by somebody, since one that is
documented and not read is worse than none: settings_check.py PATH/TO/config_reference
"""

import re
import subprocess
import sys

import tree

DOCUMENT = "docs/configuration.md"
USE = re.compile(r"\bsettings\w*(?:\.|->)(?:settings\.)?(text|enabled|integer|milliseconds|bytes|list)\(\s*\"(\w+)\"")


def names_of(document):
    return set(re.findall(r"^\| `(\w+)` \|", document, re.MULTILINE))


def check_uses(path, text, names):
    return [f"{path}: asks for the setting '{match.group(2)}', which no table has"
            for match in USE.finditer(text) if match.group(2) not in names]


def unread(names, texts):
    """Settings that no program asks for: their names are in no text between quotes."""
    return [f"the setting '{name}' is in a table, and no program reads it"
            for name in sorted(names) if not any(f'"{name}"' in text for text in texts)]


def main():
    program = sys.argv[1]
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    problems = []
    if (tree.ROOT / DOCUMENT).read_text(encoding="utf-8") != printed:
        problems.append(f"{DOCUMENT} is out of date: run {program} > {DOCUMENT}")
    names = names_of(printed)
    texts = {path: tree.read(path) for path in tree.files()
             if tree.is_cpp(path) and not tree.is_test(path) and path.parts[0] != "settings"}
    for path, text in texts.items():
        problems += check_uses(path, text, names)
    problems += unread(names, texts.values())
    return tree.report("settings", problems)


if __name__ == "__main__":
    sys.exit(main())
