"""Rules for the repository as a whole: names, comments, documentation, examples, tests that exist.

Each rule takes a Tree and returns its findings.
"""

import json
import posixpath
import re

from tree import LAYERS, code_of, includes_of, line_of

TEXT_ENDINGS = (".h", ".cc", ".c", ".py", ".sh", ".md", ".txt", ".json", ".yaml", ".yml")


# --- names and openings ------------------------------------------------------------------------

def names_say_what_is_inside(tree):
    """No file or class is called after having no subject of its own."""
    empty_words = {"util", "utils", "utility", "utilities", "common", "misc", "helper", "helpers", "manager",
                   "managers"}
    found = []
    for path in sorted(tree.files):
        for part in path.split("/"):
            words = set(re.split(r"[_.\-]", part.lower()))
            if words & empty_words and not path.startswith("tests/data/"):
                found.append(f"{path}: the name says nothing ({', '.join(sorted(words & empty_words))})")
    for path, text in tree.cpp().items():
        for match in re.finditer(r"\b(?:class|struct)\s+(\w*(?:Manager|Helper|Util|Utils))\b", code_of(text)):
            found.append(f"{path}:{line_of(text, match.start())}: the name {match[1]} says nothing")
    return found


def files_have_a_kind(tree):
    """A name without an ending is one that a program expects; others are leftovers of a shell."""
    expected = {"Makefile", "LICENSE", "NOTICE", "run", "install"}
    recorded = ("tests/data/", "examples/fabric/machine/")
    return [f"{path}: a file without an ending: does it belong here?" for path in sorted(tree.files)
            if "." not in path.rsplit("/", 1)[-1] and path.rsplit("/", 1)[-1] not in expected and not path.startswith(recorded)]


def files_open_with_what_they_are(tree):
    """Headers, scripts, tests and sources without a header start with a comment.

    A source beside its header may start with including it: the header says it for both.
    """
    found = []
    for path, text in tree.named(".h", ".cc", ".c", ".py", ".sh").items():
        if path.startswith("tests/data/"):
            continue
        lines = text.splitlines() or [""]
        if lines[0].startswith("#!"):
            lines = lines[1:] or [""]
        wanted = {"py": ('"""', "#"), "sh": ("#",)}.get(path.rsplit(".", 1)[1], ("//", "/*"))
        includes = includes_of(text)
        subject = _subject_of(path)
        about_a_header = includes and includes[0][0] == 1 and includes[0][1] == subject
        if not lines[0].startswith(wanted) and not about_a_header:
            found.append(f"{path}:1: does not open with a comment that says what it is")
    return found


def _subject_of(path):
    """The header that a source implements or a unit test is about."""
    path = path.removeprefix("tests/unit/")
    return re.sub(r"(_test)?\.cc$", ".h", path)


def no_words_from_outside(tree):
    """Paths of one person's machine and work left for later do not belong here."""
    patterns = {
        r"(?<![\w.}>])/(?:work|root|home)/\w": "a path of one machine",
        r"/tmp/(?:wt|bash_jobs)\b": "a path of one machine",
        r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?!\(#\d+\))": "work left for later needs an issue number",
    }
    found = []
    for path, text in sorted(tree.files.items()):
        if path.startswith(("tests/data/", "tests/tidy/")):
            continue
        for pattern, why in patterns.items():
            for match in re.finditer(pattern, text):
                found.append(f"{path}:{line_of(text, match.start())}: '{match[0]}': {why}")
    return found


def text_is_clean(tree):
    found = []
    for path, text in tree.named(*TEXT_ENDINGS).items():
        if path.startswith("tests/data/") or not text:
            continue
        for match in re.finditer(r"[ \t]+$|\t|\r", text, re.M):
            found.append(f"{path}:{line_of(text, match.start())}: tab, carriage return or space at the end")
        if not text.endswith("\n"):
            found.append(f"{path}: no newline at its end")
    return found


# --- tests -------------------------------------------------------------------------------------

def tests_belong_to_a_target(tree):
    """tests/CMakeLists.txt globs unit/<directory> and simulation/; a test elsewhere would silently never run."""
    match = re.search(r"foreach\(directory ([^)]*)\)", tree.files.get("tests/CMakeLists.txt", ""))
    targets = match[1].split() if match else []
    found = []
    for path in sorted(tree.files):
        in_target = (path.startswith("tests/unit/") and path.split("/")[2] in targets) or (
            posixpath.dirname(path) == "tests/simulation" and "simulation/*.cc" in tree.files["tests/CMakeLists.txt"])
        if path.endswith("_test.cc") and not in_target:
            found.append(f"{path}: belongs to no test program of tests/CMakeLists.txt")
        if path.endswith("_fuzz.cc") and posixpath.dirname(path) != "tests/fuzz":
            found.append(f"{path}: fuzz targets are built from tests/fuzz only")
    return found


def directories_have_tests(tree):
    """Each directory of sources, however deep, has unit tests in its mirror below tests/unit."""
    folders = {posixpath.dirname(path) for path in tree.cpp(*LAYERS) if path.endswith(".cc")}
    tested = {posixpath.dirname(path.removeprefix("tests/unit/")) for path in tree.files
              if path.startswith("tests/unit/") and path.endswith("_test.cc")}
    return [f"{folder}: no unit tests in tests/unit/{folder}" for folder in sorted(folders - tested)]


def every_source_is_compiled(tree, compile_commands, root):
    """`compile_commands`: text of CMake's compile_commands.json; `root`: the folder its paths start with."""
    compiled = {posixpath.relpath(entry["file"], root) for entry in json.loads(compile_commands)}
    return [f"{path}: no target compiles it" for path in tree.cpp()
            if path.endswith(".cc") and path not in compiled and not path.startswith("examples/")]


# --- log events --------------------------------------------------------------------------------

EVENTS_PAGE = "docs/reference/events.md"


def events_are_listed(tree):
    """Every event name given to muster::log is in the list, and every listed one is used."""
    listed = set(re.findall(r"^\|\s*`([a-z_]+(?:\.[a-z_]+)*)`", tree.files.get(EVENTS_PAGE, ""), re.M))
    used = {}
    for path, text in tree.product().items():
        for match in re.finditer(r"\blog::(?:debug|info|warning|error|write|record)\(([^;{]*?)\"([^\"]+)\"", text):
            used.setdefault(match[2], f"{path}:{line_of(text, match.start())}")
        for match in re.finditer(r"\bkEvent\w+\s*=\s*\"([^\"]+)\"", text):
            used.setdefault(match[1], f"{path}:{line_of(text, match.start())}")
    found = [f"{place}: event '{name}' is not in {EVENTS_PAGE}" for name, place in sorted(used.items())
             if name not in listed]
    return found + [f"{EVENTS_PAGE}: nothing logs '{name}'" for name in sorted(listed - used.keys())]


# --- documentation -----------------------------------------------------------------------------

def links_lead_somewhere(tree):
    """Relative links in Markdown name files or folders of the repository."""
    folders = {posixpath.dirname(path) for path in tree.files}
    for folder in list(folders):
        while folder:
            folder = posixpath.dirname(folder)
            folders.add(folder)
    found = []
    for path, text in tree.named(".md").items():
        for match in re.finditer(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", _keep_lines, text, flags=re.S)):
            target = match[1].split("#")[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if resolved not in tree.files and resolved not in folders and resolved != ".":
                found.append(f"{path}:{line_of(text, match.start())}: link to '{match[1]}', which is not there")
    return found


def _keep_lines(match):
    return "\n" * match[0].count("\n")


def documented_commands_exist(tree):
    """`make x` in a document is a target of the Makefile; `.ci/x` is a file."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", tree.files.get("Makefile", ""), re.M))
    found = []
    for path, text in tree.named(".md").items():
        for match in re.finditer(r"(?:`|^\s*\$?\s*)make ([a-z][a-z-]*)\b", text, re.M):
            if match[1] not in targets:
                found.append(f"{path}:{line_of(text, match.start())}: the Makefile has no target '{match[1]}'")
    return found


def examples_are_explained_and_run(tree):
    """Each folder of examples/ has a README.md and is named by a script in tests/."""
    folders = sorted({path.split("/")[1] for path in tree.files
                      if path.startswith("examples/") and path.count("/") > 1})
    scripts = "\n".join(text for path, text in tree.files.items()
                        if path.startswith("tests/") and path.endswith((".py", ".sh")) and "/tidy/" not in path)
    found = []
    for folder in folders:
        if f"examples/{folder}/README.md" not in tree.files:
            found.append(f"examples/{folder}: no README.md")
        if not re.search(rf"examples[/\"', ]+{re.escape(folder)}\b", scripts):
            found.append(f"examples/{folder}: no test names it")
    return found


def packages_have_a_reason_and_a_user(tree):
    """packages.txt: one package per line, `# why` behind it, in a group that the Makefile installs."""
    makefile = tree.files.get("Makefile", "")
    installed = {word for line in re.findall(r"\.ci/install ([a-z ]+)", makefile) for word in line.split()}
    found, group, seen = [], None, set()
    for number, line in enumerate(tree.files.get("packages.txt", "").splitlines(), 1):
        header = re.match(r"# \[(\w+)\] \S", line)
        if header:
            group = header[1]
            if group not in installed:
                found.append(f"packages.txt:{number}: no command installs the group {group}")
        elif line and not line.startswith("#"):
            entry = re.fullmatch(r"([a-z0-9][a-z0-9.+-]+)\s+# \S.*", line)
            if not entry or not group:
                found.append(f"packages.txt:{number}: wanted 'package  # why' below a '# [group] ...' line")
            elif entry[1] in seen:
                found.append(f"packages.txt:{number}: {entry[1]} is listed twice")
            else:
                seen.add(entry[1])
    return found


def packages_of_registries_have_hashes(tree):
    """What `make compat` installs runs as root beside the sources: each file is known by its hash.

    Folders are not: what is built there was downloaded with one.
    """
    found = []
    for path, text in tree.named(".sh").items():
        for match in re.finditer(r"-m pip (?:install|download)\b((?:[^\n]*\\\n)*[^\n]*)", text):
            locks = re.findall(r"-r +\S+", match[1])
            local = re.search(r"--no-deps \"\$folder/", match[1])
            if not local and ("--require-hashes" not in match[1] or not locks):
                found.append(f"{path}:{line_of(text, match.start())}: pip without --require-hashes and a lock file (tests/compat/locks/lock.py)")
    for path, text in tree.files.items():
        if not re.fullmatch(r"tests/compat/locks/[\w-]+\.txt", path):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if not line.startswith("#") and not re.fullmatch(r"[a-z0-9-]+==[\w.]+( --hash=sha256:[0-9a-f]{64})+", line):
                found.append(f"{path}:{number}: wanted 'name==version --hash=sha256:...'")
    return found


HARDENING = ("-fPIE", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection")


def releases_are_hardened(_tree, compile_commands, root):
    """Every source of the release but the tests, whichever target it belongs to."""
    found = []
    for entry in json.loads(compile_commands):
        if posixpath.relpath(entry["file"], root).startswith("tests/"):
            continue
        missing = [flag for flag in HARDENING if flag not in entry["command"].split()]
        if missing:
            found.append(f"{posixpath.relpath(entry['file'], root)}: compiled without {' '.join(missing)}")
    return found
