#!/usr/bin/env python3
"""Completions complete, in each shell: completion_test.py BUILD.

The shells are real and interactive: a key Tab is pressed on a terminal of their own. What is asked for is looked up in what the
programs say of themselves, so that a command that is added later is tried as well. 77 if a shell is missing.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

import command_line

import programs

SKIPPED = 77
SOON_S = 30
SHELLS = ("bash", "zsh", "fish")
BASH_COMPLETION = pathlib.Path("/usr/share/bash-completion/bash_completion")
PROMPT = "ready> "
CLEAR_LINE = "\x15"


class Shell:
    """An interactive shell on a terminal of its own, with nothing of the user's."""

    def __init__(self, command, environment):
        self.pid_, self.terminal_ = pty.fork()
        if self.pid_ == 0:
            os.execvpe(command[0], command, environment)
        # Wide: a line that is broken is hard to find again.
        fcntl.ioctl(self.terminal_, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 1000, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid_, signal.SIGKILL)
        os.waitpid(self.pid_, 0)
        os.close(self.terminal_)

    def type(self, keys):
        os.write(self.terminal_, keys.encode())

    def read_until(self, pattern):
        """What it has written, when the pattern is in it."""
        said, deadline = "", time.monotonic() + SOON_S
        while not re.search(pattern, said):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.terminal_], [], [], left)[0]:
                raise AssertionError(f"{pattern!r} did not come; the terminal shows {said!r}")
            said += os.read(self.terminal_, 65536).decode(errors="replace")
        return said


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="pace-completion-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.prefix = programs.install_links(pathlib.Path(sys.argv[1]).resolve(), cls.scratch)
        subprocess.run([ROOT / "packaging/completion/generate", "--programs", cls.prefix, "--output", cls.prefix / "share"],
                       check=True, timeout=60)
        cls.read = {name: command_line.read(name, cls.prefix / place) for name, place in command_line.PROGRAMS.items()}
        cls.environment = {"PATH": f"{cls.prefix}/bin:{cls.prefix}/sbin:/usr/bin:/bin", "HOME": str(cls.scratch), "LC_ALL": "C.UTF-8",
                           "TERM": "dumb", "XDG_CONFIG_HOME": str(cls.scratch), "XDG_DATA_HOME": str(cls.scratch),
                           "XDG_CACHE_HOME": str(cls.scratch)}

    def complete(self, shell, line):
        """The words that the shell offers where the line ends, when asked by its own functions."""
        program = line.split()[0]
        share = self.prefix / "share"
        if shell == "fish":
            script = f"source {share}/fish/vendor_completions.d/{program}.fish; complete -C '{line}'"
            said = self.run_in("fish", "--no-config", "-c", script)
            return [word.split("\t")[0] for word in said.splitlines()]
        script = f"""
            source {BASH_COMPLETION}
            source {share}/bash-completion/completions/{program}
            COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}} COMP_TYPE=9
            read -ra COMP_WORDS <<<"${{COMP_LINE//=/ = }}"
            if [[ $COMP_LINE == *' ' ]]; then COMP_WORDS+=(''); fi
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _{program.replace('-', '_')}
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return self.run_in("bash", "--norc", "--noprofile", "-c", script).split()

    def run_in(self, *command):
        done = subprocess.run(command, check=False, env=self.environment, stdin=subprocess.DEVNULL, text=True, timeout=SOON_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # compopt wants a completion under way, which bash has only for a key.
        errors = [one for one in done.stderr.splitlines() if "compopt" not in one]
        self.assertEqual(errors, [], command)
        return done.stdout

    def interactive(self, shell):
        share = self.prefix / "share"
        if shell == "bash":
            started = Shell(["bash", "--norc", "--noprofile", "-i"], {**self.environment, "PS1": PROMPT})
            started.type(f"source {BASH_COMPLETION}; for f in {share}/bash-completion/completions/*; do source $f; done\n")
        else:
            started = Shell(["zsh", "-f", "-i"], {**self.environment, "PS1": PROMPT})
            started.type(f"unsetopt zle_bracketed_paste; PS1='{PROMPT}'; fpath=({share}/zsh/vendor-completions $fpath); "
                         "autoload -U compinit; compinit -u -D\n")
        started.type("echo has'-'begun\n")
        started.read_until("has-begun")
        return started

    def test_tab_completes_on_a_terminal(self):
        lines = [("pacectl job cr\t", r"pacectl job create "), ("pacectl job create x --policy partial-r\t", r"--policy partial-reduce"),
                 ("pacectl job create x --average-weights=dyn\t", r"--average-weights=dynamic"),
                 ("paced --log-level war\t", r"--log-level warning"), ("pace-controller --any-in\t", r"--any-interface"),
                 ("pace-sim --polic\t", r"--policy")]
        for shell in ("bash", "zsh"):
            with self.interactive(shell) as started:
                for keys, expected in lines:
                    started.type(keys)
                    started.read_until(expected)
                    started.type(CLEAR_LINE)

    def test_every_command_is_offered(self):
        for shell in ("bash", "fish"):
            for program in self.read.values():
                for command in program.everything():
                    names = [below.name for below in command.commands]
                    if names:
                        self.assertEqual(sorted(self.complete(shell, " ".join(command.path) + " ")), sorted(names), shell)

    def test_every_option_is_offered_with_its_words(self):
        for shell in ("bash", "fish"):
            for program in self.read.values():
                for command in program.everything():
                    offered = self.complete(shell, " ".join(command.path) + " --")
                    self.assertEqual([option.long_name for option in command.options if option.long_name not in offered], [],
                                     (shell, command.path))
                    for option in [one for one in command.options if one.choices]:
                        line = f"{' '.join(command.path)} {option.long_name} "
                        self.assertEqual(sorted(self.complete(shell, line)), sorted(option.choices), (shell, line))

    def test_a_value_is_no_command(self):
        for shell in ("bash", "fish"):
            self.assertIn("--job", self.complete(shell, "pacectl trace --job list --"))

    def test_names_of_jobs_are_those_of_the_daemon(self):
        with programs.daemon(self.prefix, self.scratch) as endpoint:
            pacectl = [self.prefix / "bin/pacectl", "--endpoint", endpoint]
            for name in ("fashion", "letters"):
                subprocess.run([*pacectl, "job", "create", name, "--world", "2", "--policy", "full"], check=True, timeout=SOON_S,
                               stdout=subprocess.DEVNULL)
            for shell in ("bash", "fish"):
                for line in ("job show ", "trace --job "):
                    self.assertEqual(sorted(self.complete(shell, f"pacectl --endpoint {endpoint} {line}")), ["fashion", "letters"], shell)
            with self.interactive("zsh") as started:
                started.type(f"pacectl --endpoint {endpoint} job show fas\t")
                started.read_until(r"job show fashion")

    def test_scripts_have_no_error_of_syntax(self):
        for shell, places in (("bash", "bash-completion/completions"), ("zsh", "zsh/vendor-completions"), ("fish", "fish/vendor_completions.d")):
            files = sorted((self.prefix / "share" / places).iterdir())
            self.assertEqual(len(files), len(command_line.PROGRAMS))
            for file in files:
                self.run_in(shell, "-n", str(file))


def main():
    missing = [shell for shell in SHELLS if not shutil.which(shell)] + ([] if BASH_COMPLETION.exists() else ["bash-completion"])
    if missing:
        print(f"skipped: {', '.join(missing)} not installed (tools/setup/install deb)")
        return SKIPPED
    result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
