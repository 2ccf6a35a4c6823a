"""Rules for declarations: one in each statement, and classes that are one object and not several.

The limits are those of a reader: a class with more data members or methods than fit one reading is several objects that
share their fields. Classes that were over the limits when the rule came are debts. They are listed here with their size,
which may only fall.
"""

import dataclasses
import re

from cpp_rules import C_PROGRAMS
from tree import code_of, line_of, without_preprocessor

MOST_MEMBERS = 15
MOST_METHODS = 25

# Class -> (data members, methods). A change that makes one smaller lowers its numbers, and drops the row once the class is
# within the limits: a row that says too much is a finding, too.
DEBTS = {
    "ControlLink": (16, 35),
    "EtcdElection": (16, 21),
    "LeaderCore": (55, 69),
    "LeaderHost": (17, 27),
    "LeaderNode": (19, 10),
    "LocalGroup": (18, 33),
    "LocalNodes": (23, 18),
    "Member": (1, 29),
    "MemberCore": (49, 68),
    "MpiJob": (24, 48),
    "MpiRanks": (6, 32),
    "NodeAgent": (33, 46),
    "Output": (17, 20),
    "RshChannel": (17, 28),
    "RshDriver": (7, 27),
    "RshRequest": (20, 29),
    "RshServer": (20, 22),
    "Store": (6, 26),
    "WorkerStream": (17, 17),
}


@dataclasses.dataclass
class Declaration:
    """`text`: on one line, with () and {} emptied, without template arguments, attributes and default values."""

    line: int
    text: str

    def names(self):
        """How many names it introduces: those of `int a, *b;` are two."""
        if self.is_type() or re.match(r"(?:template|using|enum|friend)\b|case\b", self.text):
            return 1
        text = re.sub(r"\)\s*(?:const\s*)?(?:noexcept\s*)?:(?!:).*", ")", self.text)  # the initialisers of a constructor
        return 1 + text.count(",")

    def is_type(self):
        return re.match(r"(?:class|struct|union|enum)\b", self.text) is not None

    def is_method(self):
        """Constructors, destructors, operators and what is deleted say nothing of the size of a class."""
        if self.is_type() or re.match(r"(?:template|using|typedef|friend|static_assert)\b", self.text):
            return False
        if re.search(r"\boperator\b|=\s*(?:delete|default)\b|~\w+\(\)", self.text):
            return False
        return re.match(r"(?:[\w:]+[\s*&]+)+\w+\(\)", self.text.replace("explicit ", "")) is not None

    def is_member(self):
        if self.is_type() or re.search(r"\(|\boperator\b", self.text) or " " not in self.text:
            return False
        return re.match(r"(?:template|using|typedef|friend|static_assert|static)\b", self.text) is None


@dataclasses.dataclass
class Class:
    name: str
    path: str
    line: int
    declarations: list

    def members(self):
        return sum(each.names() for each in self.declarations if each.is_member())

    def methods(self):
        return sum(each.names() for each in self.declarations if each.is_method())


def _without_arguments(text):
    """Template arguments dropped, the innermost first; `operator<`, `->` and comparisons are none."""
    text = re.sub(r"\[\[[^\]]*\]\]", " ", text)
    while True:
        shorter = re.sub(r"(?<=\w)\s*<(?!=)[^<>;]*>(?!=)", "", text)
        if shorter == text:
            return text
        text = shorter


def _emptied(text):
    """What stands inside of (), [] and {} dropped."""
    out, depth = [], 0
    for char in text:
        if char in ")]}":
            depth -= 1
        if depth == 0:
            out.append(char)
        if char in "([{":
            depth += 1
    return "".join(out)


def declarations_of(code, first, end):
    """The declarations of code[first:end] at its own level; a definition ends with its body."""
    found, since, depth, at = [], first, 0, first
    while at < end:
        char = code[at]
        if depth == 0 and char == ":" and re.search(r"\b(?:public|private|protected)\s*$", code[since:at]):
            since = at + 1
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        ends = depth == 0 and (char == ";" or char == "}" and _is_body(_emptied(_without_arguments(code[since:at + 1]))))
        if ends:
            text = code[since:at + 1].strip().rstrip(";")
            if text:
                start = since + len(code[since:at]) - len(code[since:at].lstrip())
                plain = _emptied(_without_arguments(re.sub(r"\s+", " ", text)))
                found.append(Declaration(line_of(code, start), re.sub(r"\s*=(?!=)\s*(?!default|delete)[^,;]*", "", plain).strip()))
            since = at + 1
        at += 1
    return found


def _is_body(text):
    """`text` ends with {}: whether that is the body of a function, not an initialiser, and not a type's."""
    head = text.strip()[:-2].rstrip()
    if re.match(r"(?:class|struct|union|enum)\b", head) or ")" not in head:
        return False
    if re.search(r"\)\s*(?:const\s*)?(?:noexcept\s*)?:(?!:)", head):
        return not head[-1].isalnum() and head[-1] not in "_,:"
    return re.search(r"\)\s*(?:(?:const|noexcept|override|final|&|->\s*[\w:]+)\s*)*$", head) is not None


def classes_of(path, text):
    code = without_preprocessor(code_of(text))
    found = []
    for match in re.finditer(r"(?<!enum )\b(?:class|struct)\s+(\w+)(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", code):
        end = _partner(code, match.end() - 1)
        found.append(Class(match[1], path, line_of(code, match.start()), declarations_of(code, match.end(), end)))
    return found


def _partner(code, at):
    depth = 0
    for offset in range(at, len(code)):
        depth += {"{": 1, "}": -1}.get(code[offset], 0)
        if depth == 0:
            return offset
    return len(code)


def one_declaration_in_a_statement(tree):
    """In headers, at the level of a class: `void open(), close();` and `int a_ = 0, b_ = 0;` hide what is there."""
    found = []
    for path, text in tree.named(".h").items():
        for each in classes_of(path, text) if not path.startswith(C_PROGRAMS) else ():
            found += [f"{path}:{one.line}: {one.names()} declarations in one statement: {one.text}"
                      for one in each.declarations if one.names() > 1]
    return found


def classes_are_small(tree, debts=None):
    debts = DEBTS if debts is None else debts
    found, seen = [], set()
    for path, text in tree.product().items():
        for each in classes_of(path, text):
            if not any(one.is_method() for one in each.declarations):
                continue  # a plain value: as many fields as there are facts
            size = (each.members(), each.methods())
            over = size[0] > MOST_MEMBERS or size[1] > MOST_METHODS
            where = f"{path}:{each.line}: {each.name} has {size[0]} data members and {size[1]} methods"
            if each.name in debts:
                seen.add(each.name)
                if size != debts[each.name]:
                    found.append(f"{where}, its debt says {debts[each.name]}: only less is allowed, and then less is to be said")
                elif not over:
                    found.append(f"{where}: no debt any more")
            elif over:
                found.append(f"{where}, at most {MOST_MEMBERS} and {MOST_METHODS}")
    return found + [f"tests/tidy/class_rules.py: the debt {name} is no class" for name in sorted(set(debts) - seen)]
