#!/usr/bin/env python3
"""The configuration as documented is the configuration as read.

docs/configuration.md equals what config_reference prints. Every name with which a program asks for
a setting is in the reference. Some program asks for every setting and uses its value: a documented
setting without effect would be worse than none. The same holds for the options of jobs.
Call: settings_check.py PATH/TO/config_reference
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


# Where settings become fields of a program's configuration, and the folder whose files use it.
FILLERS = {"daemon/config.cpp": "daemon/", "service/controller/shell/settings/controller_settings.cpp": "service/controller/shell/"}
FILLED = re.compile(r"\b\w+\.(\w+)\s*=(?!=)[^;=]*(?:settings\.|\bms\()")


def unused(filler, text, others):
    """Fields that are set from a setting, and that none of the other texts looks at."""
    fields = sorted(set(FILLED.findall(text)))
    return [f"{filler}: '{field}' is set from a setting, and nobody looks at it" for field in fields
            if not any(re.search(rf"\.{field}\b(?!\s*=[^=])", other) for other in others)]


# The options of jobs, and the folders that read, write and describe them without acting upon them.
JOB_OPTIONS = "protocol/options/job_options.h"
DESCRIBE = ("protocol/", "settings/", "service/pacectl/", "service/simulator/", "service/page/", "service/metrics/",
            "bindings/", "libclient/", "capi/")
MEMBER = re.compile(r"^    [\w:]+(?:<[\w:]+>)? (\w+)(?: = [^;]+)?;", re.MULTILINE)


def unused_options(header, others):
    """Members of JobOptions that none of the other texts looks at."""
    members = MEMBER.findall(header[header.index("struct JobOptions"):])
    return [f"the option '{member}' of jobs is declared, and nobody looks at it" for member in members
            if not any(re.search(rf"\b(?:job|options|options_|options\(\)|asked)(?:\.|->){member}\b(?!\s*=[^=])", other)
                       for other in others)]


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
    for filler, folder in FILLERS.items():
        others = [text for path, text in texts.items()
                  if str(path).startswith(folder) and str(path) != filler]
        problems += unused(filler, tree.read(filler), others)
    acting = [text for path, text in texts.items() if not str(path).startswith(DESCRIBE)]
    problems += unused_options(tree.read(JOB_OPTIONS), acting)
    return tree.report("settings", problems)


if __name__ == "__main__":
    sys.exit(main())
