#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages and completions that scripts/manual makes: complete, accepted by groff, and working in a shell.

Usage: manual_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from cli_test import TOOL

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **options).stdout


def ask(*arguments):
    return json.loads(output(TOOL, *arguments))


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output(sys.executable, str(ROOT / "scripts/manual"), TOOL, str(cls.folder))
        cls.commands = [command["name"] for command in ask("--describe")["commands"]]
        cls.methods = ask("methods", "--json")["methods"]


class Pages(Generated):
    def rendered(self, name):
        """A page as plain text without bold letters."""
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-wall", "-Tutf8", "-P-c", "-P-b", "-P-u", "-rLL=200n", str(self.folder / name)],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        return done.stdout.replace("\u2010", "-").replace("\u2212", "-")

    def test_pages_of_all_commands(self):
        names = {path.name for path in (self.folder / "man1").iterdir()}
        self.assertEqual(names, {"echelon.1", *(f"echelon-{name}.1" for name in self.commands)})
        self.assertIn("Exit status", self.rendered("man1/echelon.1"))

    def test_pages_have_every_option(self):
        for command in self.commands:
            text = self.rendered(f"man1/echelon-{command}.1")
            parts = ask(command, "--describe").get("commands")
            for words in [[command, part] for part in parts] if parts else [[command]]:
                for option in ask(*words, "--describe")["options"]:
                    for name in option["names"] or [option["argument"]]:
                        self.assertRegex(text, rf"(?m)(^| ){re.escape(name)}\b", f"{words}: {name}")

    def test_pages_have_every_method_and_generator(self):
        for file, entries in (("echelon-methods", self.methods),
                              ("echelon-generators", ask("generate", "--list", "--json")["generators"])):
            text = self.rendered(f"man7/{file}.7")
            for entry in entries:
                self.assertRegex(text, rf"(?m)^ +{re.escape(entry['name'])}$")
                for option in entry["options"]:
                    self.assertRegex(text, rf"(?m)^ +{re.escape(option['name'])}\b")

    def test_help_names_hidden_words_nowhere(self):
        for arguments in (["--help"], ["solve", "--help"]):
            self.assertNotIn("--describe", output(TOOL, *arguments))


class Completions(Generated):
    def complete(self, line):
        """What bash offers for the last word of a line."""
        script = ('source "$1"; compopt() { :; }; COMP_LINE=$2; COMP_POINT=${#2}; _echelon; '
                  'if ((${#COMPREPLY[@]})); then printf "%s\\n" "${COMPREPLY[@]}"; fi')
        return sorted(output("bash", "-euc", script, "bash", str(self.folder / "bash/echelon"), line,
                             cwd=self.folder).splitlines())

    def test_commands(self):
        self.assertEqual(self.complete("echelon "), sorted([*self.commands, "--help", "--version"]))
        self.assertEqual(self.complete("echelon so"), ["solve"])
        self.assertEqual(self.complete("echelon graph re"), ["resistance"])
        self.assertEqual(self.complete("echelon nothing --"), [])

    def test_options(self):
        for command in self.commands:
            for part in ask(command, "--describe").get("commands", [None]):
                words = [command, part] if part else [command]
                names = [name for option in ask(*words, "--describe")["options"] for name in option["names"]]
                self.assertEqual(self.complete(f"echelon {' '.join(words)} A.mtx -"), sorted(names))
        self.assertEqual(self.complete("echelon solve A.mtx --max"), ["--max-iterations"])

    def test_values(self):
        methods = sorted(method["name"] for method in self.methods)
        self.assertEqual(self.complete("echelon solve A.mtx --method "), methods)
        self.assertEqual(self.complete("echelon solve --method=sparse-l"), ["sparse-ldlt", "sparse-lu"])
        self.assertEqual(self.complete("echelon solve A.mtx --precision "), ["double", "float"])
        self.assertEqual(self.complete("echelon convert A.mtx B.npz --from matrix"), ["matrix-market"])
        self.assertIn("random-sparse", self.complete("echelon generate random"))
        self.assertEqual(self.complete("echelon solve A.mtx --rtol "), [])

    def test_files(self):
        self.assertEqual(self.complete("echelon solve ba"), ["bash"])
        self.assertEqual(self.complete("echelon solve A.mtx --rhs fi"), ["fish"])
        self.assertIn("ones", self.complete("echelon solve A.mtx --rhs o"))

    def test_parameters(self):
        amg = next(method for method in self.methods if method["name"] == "amg")
        names = sorted(f"{option['name']}=" for option in amg["options"] if option["kind"] != "nested")
        self.assertEqual(self.complete("echelon solve A.mtx --method amg -p "), names)
        words = next(option["words"] for option in amg["options"] if option["name"] == "coarsening")
        self.assertEqual(self.complete("echelon solve A.mtx --method amg -p coarsening="), sorted(words))
        self.assertEqual(self.complete("echelon solve A.mtx -p met"), ["methods="])
        self.assertIn("nx=", self.complete("echelon generate poisson-2d -p "))

    def test_help_topics(self):
        self.assertEqual(self.complete("echelon --help "), ["generator:", "ranks", "solver:"])
        self.assertEqual(self.complete("echelon --help solver:sparse-c"), ["sparse-cholesky"])

    def test_interactive_bash(self):
        """bash divides words at "=" and ":", which only its own line editor shows."""
        typed = {"echelon --help solver:am\t\n": "<--help><solver:amg>",
                 "echelon solve A --method amg -p coarsening=cl\t\n": "<coarsening=classical>",
                 "echelon solve A --method=sparse-ch\t\n": "<--method=sparse-cholesky>"}
        child, terminal = pty.fork()
        if child == 0:
            os.environ.update(TERM="dumb", INPUTRC="/dev/null", PS1="$ ")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        try:
            seen = ""

            def wait_for(text):
                nonlocal seen
                end = time.monotonic() + 60
                while text not in seen and time.monotonic() < end:
                    if select.select([terminal], [], [], 0.2)[0]:
                        seen += os.read(terminal, 4096).decode(errors="replace")
                self.assertIn(text, seen)

            os.write(terminal, f"source {self.folder}/bash/echelon; echelon() {{ printf '<%s>' \"$@\"; echo; }}; echo rea''dy\n"
                     .encode())
            wait_for("ready")
            for line, expected in typed.items():
                os.write(terminal, line.encode())
                wait_for(expected)
        finally:
            os.close(terminal)
            os.waitpid(child, 0)

    def test_other_shells_read_theirs(self):
        checked = []
        for shell, file in (("zsh", "zsh/_echelon"), ("fish", "fish/echelon.fish")):
            text = (self.folder / file).read_text()
            for name in self.commands:
                self.assertIn(name, text)
            self.assertIn("least-squares", text)
            if shutil.which(shell):
                output(shell, "-n", str(self.folder / file))
                checked.append(shell)
        if len(checked) < 2:
            self.skipTest("zsh and fish are not both installed")


if __name__ == "__main__":
    unittest.main()
