"""Rules for the tables of the launcher: flags, options, variables, and the pages about them.

Each rule takes a Tree and returns its findings. One that finds no table at all says so.
"""

import re

from tree import code_of, line_of

# Fields that no flag fills: what is read off the command line as a whole, the other structs, and
# what the rules between flags decide.
DERIVED = {
    "Options": {"personality", "entry", "program", "arguments", "launch_py", "interpreter", "torchrun_path", "environment",
                "nodes", "fabric", "report", "framework", "manifest", "explained",
                "warnings"},
    "NodeOptions": set(),
    "FabricOptions": set(),
    "ReportOptions": set(),
    "FrameworkOptions": {"mpi_launch_given", "plain"},
    "PlainOptions": set(),
}


def _sources_with_rows(tree):
    return {path: text for path, text in tree.cpp("launcher").items() if path.endswith("_flags.cc")}


def _flag_names(tree):
    """Name of a flag -> the source of its row."""
    return {name: path for path, text in _sources_with_rows(tree).items()
            for name in re.findall(r"\{\.name = \"([a-z-]+)\"", text)}


def flags_are_documented(tree):
    """Every flag of the flag table stands in README.md or a page in launcher/ or docs/."""
    flags = _flag_names(tree)
    if not flags:
        return ["launcher/options/*_flags.cc: no row of a flag is found there"]
    pages = "\n".join(text for path, text in tree.named(".md").items()
                      if path == "README.md" or path.startswith(("launcher/", "docs/")))
    known = set(re.findall(r"--([a-z][a-z-]+)", pages))
    return [f"{flags[flag]}: --{flag} is in no page" for flag in sorted(set(flags) - known)]


def named_flags_have_rows(tree):
    """What flag.h calls a flag is one, and code names flags by what stands there."""
    path = "launcher/options/flag.h"
    named = re.findall(r"inline constexpr Flag \w+\{\"([^\"]*)\"\}", tree.files.get(path, ""))
    if not named:
        return [f"{path}: no flag is found there"]
    flags = _flag_names(tree)
    found = [f"{path}: --{name} has no row" for name in named if name not in flags]
    for other, text in tree.cpp("launcher").items():
        for match in re.finditer(r"\bFlag(?:\(|\{|\s+\w+\{)\"", text):
            if other != path:
                found.append(f"{other}:{line_of(text, match.start())}: a flag's name; flag.h has names")
    return found


def _fields_of(text, struct):
    """The data members of a struct; None: it is not there."""
    opening = re.search(rf"\bstruct {struct} \{{", text)
    if opening is None:
        return None
    end = text.index("\n};", opening.end())
    body = text[opening.end():end]
    while "{" in body:
        body = re.sub(r"\{[^{}]*\}", ";", body)
    declared = [statement.split("=")[0].strip() for statement in body.split(";")]
    return [statement.split()[-1] for statement in declared if statement and "(" not in statement]


def every_option_is_filled_by_one_flag(tree):
    """Each field of the structs of options is named by the row of one flag, or is listed as derived."""
    rows = "\n".join(_sources_with_rows(tree).values())
    filled = [name for into in re.findall(r"\.into = (.*?),\s*\.[a-z_]+ = ", rows, re.S)
              for name in re.findall(r"&(\w+::\w+)", into)]
    found = []
    headers = "\n".join(code_of(text) for path, text in tree.cpp("launcher").items() if path.endswith("options.h"))
    for struct, derived in DERIVED.items():
        fields = _fields_of(headers, struct)
        if not fields:
            found.append(f"launcher/*options.h: no fields of {struct} are found")
            continue
        for field in fields:
            rows_of_it = filled.count(f"{struct}::{field}")
            if field in derived and rows_of_it > 0:
                found.append(f"{struct}::{field} is listed as derived, and a flag fills it")
            if field not in derived and rows_of_it != 1:
                found.append(f"{struct}::{field} is filled by {rows_of_it} flags, and not listed as derived")
        found += [f"{struct}::{field} is listed as derived, and there is no such field"
                  for field in sorted(derived - set(fields))]
    return found


def variables_are_collected(tree):
    """Every name of a variable that a header declares is in the table of variables."""
    path = "launcher/command_line/variables.cc"
    table = tree.files.get(path, "")
    found = []
    declared = 0
    for header, text in tree.product().items():
        for match in re.finditer(r"inline constexpr std::string_view (k\w+Variable)\s*=", text):
            declared += 1
            if not re.search(rf"\b{match[1]}\b", table):
                found.append(f"{header}:{line_of(text, match.start())}: {match[1]} is not in {path}")
    return found if declared else [f"{path}: no header declares a variable"]
