#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the command lines `echelon ...` of README.md and docs/ without their files: none may be a usage error.

They stand in blocks "```sh", in blocks without a language after "$ " or at the beginning of a line, and in code spans
that name A.mtx and no word in capitals that stands for a value. The tool checks nearly all options before it reads a
matrix.

Usage: guide_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from cli_test import BAD_INPUT, RESOURCES, SOLVED, TOOL, ToolTest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commands_of(line):
    """The arguments of each command `echelon ...` of a line for the shell."""
    words = shlex.shlex(re.sub(r"^\$ ", "", line), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    command = []
    for word in [*words, ";"]:
        if re.fullmatch("[();<>|&]+", word):
            if command and pathlib.PurePath(command[0]).name == "echelon":
                yield command[1:]
            command = []
        elif word == "do":
            command = []
        else:
            command.append(word)


def command_lines(text):
    """Pairs of a line's number and the line; for a line continued by backslashes, the number of its last part."""
    language, continued = None, ""
    for number, line in enumerate(text.splitlines(), 1):
        line = continued + line
        continued = line[:-1] if language == "sh" and line.endswith("\\") else ""
        if continued:
            continue
        if line.lstrip().startswith("```"):
            language = line.strip("` ") if language is None else None
        elif language == "sh" or (language == "" and re.match(r"(\$ )?(echelon |for .* do echelon )", line)):
            yield number, line
        elif language is None:
            for span in re.findall(r"`(echelon [^`]*\bA\.mtx[^`]*)`", line):
                if not re.search(r"\b[A-Z]{2,}\b", span):
                    yield number, span


def small(command):
    """The command with a device that there is, and generating a small matrix."""
    command = ["auto" if word.startswith("cuda") else word for word in command]
    if command[0] == "generate":
        return [re.sub(r"^(\w+=)?\d{3,}$", r"\g<1>100", word) for word in command]
    return command


class Guide(ToolTest):
    def exit_status(self, command):
        """Status and messages of the command in a folder with no file but that of bddc's option `partition`."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "parts.txt").write_text("0\n")
        done = subprocess.run([TOOL, *command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)
        return done.returncode, done.stderr

    def test_commands_are_understood(self):
        runs = 0
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for number, line in command_lines(page.read_text()):
                for command in map(small, commands_of(line)):
                    runs += 1
                    with self.subTest(f"{page.relative_to(ROOT)}:{number}: {line}"):
                        code, messages = self.exit_status(command)
                        self.assertIn(code, [SOLVED, BAD_INPUT, RESOURCES], messages)
        self.assertGreater(runs, 50)

    def test_commands_are_found(self):
        text = ("```sh\necho | build/bin/echelon solve - \\\n  -o x.mtx > log  # echelon info\necho echelon rank\n```\n"
                "```\n$ echelon info A.mtx\nechelon: error\n for f in a b; do echelon rank $f; done\n"
                "for f in a b; do echelon rank $f; done | cat\n```\n"
                "`echelon solve A.mtx --json`, `echelon solve`, `echelon graph COMMAND A.mtx`\n")
        found = [(number, command) for number, line in command_lines(text) for command in commands_of(line)]
        self.assertEqual(found, [(3, ["solve", "-", "-o", "x.mtx"]), (7, ["info", "A.mtx"]),
                                 (10, ["rank", "$f"]), (12, ["solve", "A.mtx", "--json"])])


if __name__ == "__main__":
    unittest.main()
