"""The repository as the tidy rules see it: paths and texts, and C++ with comments and strings blanked.

A rule is a function from a Tree to a list of findings ("path:line: what is wrong"); the same rule
runs on the real repository and, in its own tests, on a few lines that break it.
"""

import dataclasses
import functools
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("base", "rendezvous", "elastic", "mpi", "nccl", "launcher")
IGNORED = {".git", "build", "__pycache__"}  # .git is a file in a worktree


@dataclasses.dataclass
class Tree:
    """`files`: path from the root, with '/', -> text. Binary files have the text ""."""

    files: dict

    def named(self, *suffixes):
        return {path: text for path, text in sorted(self.files.items()) if path.endswith(suffixes)}

    def cpp(self, *folders):
        """C++ files below the given folders, all of them without folders."""
        return {path: text for path, text in self.named(".h", ".cc").items()
                if not folders or path.split("/")[0] in folders}

    def product(self):
        return self.cpp(*LAYERS)


@functools.lru_cache(maxsize=None)
def repository():
    files = {}
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in IGNORED]
        for name in names:
            path = pathlib.Path(folder, name)
            if name not in IGNORED and not path.is_symlink():
                files[path.relative_to(ROOT).as_posix()] = read_text(path)
    return Tree(files)


class RuleTest(unittest.TestCase):
    """Base of the rules' own tests: each rule holds for the repository and can fail."""

    maxDiff = None

    def assert_kept(self, rule, *arguments):
        findings = rule(repository(), *arguments)
        self.assertFalse(findings, "\n" + "\n".join(findings))

    def assert_found(self, rule, files, expected, *arguments):
        """`rule` has exactly one finding in `files`, and it contains `expected`."""
        findings = rule(Tree(files), *arguments)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(expected, findings[0])

    def assert_fine(self, rule, files, *arguments):
        self.assertEqual(rule(Tree(files), *arguments), [])


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


# A comment, a raw string, a string, a character; digit separators (1'000) are no characters.
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                       r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.M)


def _blank(match):
    text = match[0]
    edge = text[0] if text[0] in "\"'" else ""
    inner = re.sub(r"[^\n]", " ", text)
    return edge + inner[1:-1] + edge if edge else inner


@functools.lru_cache(maxsize=None)
def code_of(text):
    """`text` with comments and the inside of strings replaced by blanks; same length and lines."""
    return _NOT_CODE.sub(_blank, text)


def without_preprocessor(code):
    """Code with the lines of directives (and their continuations) blanked."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda found: re.sub(r"[^\n]", " ", found[0]), code,
                  flags=re.M)


def includes_of(text):
    """(line, path, quoted?) of each #include."""
    return [(line_of(text, match.start(1)), match[2], match[1] == '"')
            for match in _INCLUDE.finditer(text)]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def arguments_after(code, offset):
    """The text between the parenthesis at `offset` and its partner."""
    depth = 0
    for at in range(offset, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return code[offset + 1:at]
    return code[offset + 1:]


def calls_of(code, name):
    """Offsets at which the free function `name` is called, with ::, std:: or a standard clock before it.

    Members (`child.kill(`), functions of our own types (`Child::kill(`) and declarations
    (`bool kill(`) are not calls.
    """
    for match in re.finditer(rf"(?<![\w~]){name}\s*\(", code):
        before = code[:match.start()].rstrip()
        qualifier = re.search(r"(\w+)?::$", before)
        if qualifier:
            if qualifier[1] and not re.fullmatch(r"std|chrono|this_thread|\w+_clock", qualifier[1]):
                continue
            before = before[:qualifier.start()].rstrip()
        if before.endswith((".", "->")):
            continue
        word = re.search(r"(\w+)$", before)
        declares = word and word[1] not in ("return", "else", "do", "case", "co_return")
        if declares and not qualifier:
            continue
        if re.search(r"[\w>]\s*[*&]$|\w>$", before) and not before.endswith("&&"):
            continue  # `Result<T> kill(`, `Child& kill(`
        yield match.start()


def functions_of(text):
    """(signature, first line, last line) of each function body; a lambda is part of its function."""
    code = without_preprocessor(code_of(text))
    found, stack, since = [], [], 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            kind = _kind_of_block(code[since:at]) if all(k == "scope" for k, _, _ in stack) else "inner"
            stack.append((kind, since, at))
        elif match[0] == "}" and stack:
            kind, head, opened = stack.pop()
            if kind == "function":
                start = opened - len(code[head:opened].lstrip())
                signature = " ".join(code[start:opened].split())
                found.append((signature, line_of(code, start), line_of(code, at)))
        since = at + 1
    return found


def _kind_of_block(head):
    """What a brace opens at namespace or class level: "scope", "value" or "function"."""
    words = re.sub(r"^\s*(?:public|private|protected)\s*:", "", head).strip()
    if re.match(r"(?:inline\s+)?namespace\b|extern\s*\"", words):
        return "scope"
    if re.match(r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b", words, re.S):
        return "function" if words.endswith(")") else "scope"
    if re.search(r"(?<![=!<>])=\s*$", words):
        return "value"
    # `Foo() : a_{1}, b_{2} {`: after the first brace the head is what follows the comma, or nothing.
    return "function" if "(" in words or not words or words.startswith(",") else "value"
