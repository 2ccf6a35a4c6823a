"""Rules for C++ that neither the compiler nor clang-tidy can check: banned calls, heavy headers, sizes.

Each rule takes a Tree and returns its findings. Where a rule names the files that may do what it
bans, that list is the decision; a new entry there is a decision too.
"""

import re

from tree import (arguments_after, calls_of, code_of, functions_of, includes_of, line_of,
                  without_preprocessor)

# --- calls -------------------------------------------------------------------------------------

# Function -> (why not, files that may).
BANNED_IN_PRODUCT = {
    "system": ("no shell: commands are argv vectors", ()),
    "popen": ("no shell: commands are argv vectors", ()),
    "strtol|strtoul|strtoll|strtoull|strtod|atoi|atol|atoll|atof|stoi|stol|stoul|stoll|stoull|stod|sscanf":
        ("base/text.h parses strictly", ()),
    "sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until":
        ("nothing blocks the loop; use a timer", ()),
    "getaddrinfo|gethostbyname|getnameinfo|getpwuid|getpwnam":
        ("a static binary has no NSS", ()),
    "exit|quick_exit|_exit|_Exit|abort": ("only main ends the process", (
        "launcher/program/main.cc", "base/check.cc", "base/process.cc", "base/process/guardian.cc", "mpi/pmi/pmix_server/main.cc",
        "nccl/probe/main.cc", "nccl/probe/deadline.cc")),
    "fork|vfork|clone|execve|execvp|execv|posix_spawn|posix_spawnp":
        ("base/process.h starts processes", ("base/process.cc",)),
    "kill|killpg|tgkill|pidfd_send_signal|raise":
        ("signals go through a pidfd or to a group we lead", ("base/process.cc", "base/process_tree.cc")),
    "waitpid|waitid|wait3|wait4": ("one place reaps", ("base/process.cc",)),
    "now": ("base/clock.h is the door to time", ("base/clock.cc",)),
    "clock_gettime|gettimeofday|time": ("base/clock.h is the door to time", ("base/clock.cc",)),
    "getenv|secure_getenv|setenv|putenv|unsetenv": ("base/environment.h holds variables", ("nccl/probe/shared_library.cc",)),  # which a library reads
    "rand|srand|random_device": ("randomness comes in as an argument", ()),
    "pthread_create|dlopen": ("one thread, one static binary", ("mpi/pmi/pmix_server/pmix_library.cc", "nccl/probe/shared_library.cc")),
    "pipe|accept|dup|epoll_create|inotify_init|creat|fopen|tmpfile|mkstemp":
        ("has no close-on-exec form; use the one that has", ()),
}
BANNED_IN_TESTS = {
    "system|popen": BANNED_IN_PRODUCT["system"],
    "sleep|usleep|nanosleep|sleep_for|sleep_until": ("no test sleeps; advance the fake clock", ()),
    "getaddrinfo|gethostbyname": BANNED_IN_PRODUCT["getaddrinfo|gethostbyname|getnameinfo|getpwuid|getpwnam"],
    "atoi|atol|atof|strtol": ("base/text.h parses strictly", ()),
}


def _banned_calls(files, bans):
    found = []
    for path, text in files.items():
        code = code_of(text)
        for names, (why, allowed) in bans.items():
            if path in allowed:
                continue
            for offset in calls_of(code, f"(?:{names})"):
                name = re.match(r"\w+", code[offset:])[0]
                if name == "now" and not code[:offset].endswith("_clock::"):
                    continue  # a function of our own
                found.append(f"{path}:{line_of(code, offset)}: {name}() is banned: {why}")
    return found


def banned_calls_in_the_product(tree):
    return _banned_calls(tree.product(), BANNED_IN_PRODUCT)


def banned_calls_in_tests(tree):
    return _banned_calls(tree.cpp("tests"), BANNED_IN_TESTS)


# Pattern in code without comments and strings -> why not.
BANNED_WORDS = {
    r"\bstd::j?thread\b|\bstd::async\b|\bstd::mutex\b": "one thread",
    r"\bco_(?:await|return|yield)\b": "g++ 12 destroys temporaries in coroutines twice",
    r"\bthrow\b": "failures are values, Result<T>",
    r"\bcatch\s*\(\s*\.\.\.\s*\)": "a catch-all hides the failure",
    r"\busing\s+namespace\s+std\b": "names are written out",
    r"\[=[\],]": "captures are named",
    r"\bdynamic_cast\b": "ask the interface, not the type",
    r"\bgoto\b": "use a function and return",
}


def banned_words(tree):
    found = []
    for path, text in tree.product().items():
        code = code_of(text)
        for pattern, why in BANNED_WORDS.items():
            for match in re.finditer(pattern, code):
                found.append(f"{path}:{line_of(code, match.start())}: '{match[0]}' is banned: {why}")
    return found


# Descriptors 0, 1 and 2 are there to be inherited.
OPENS_STANDARD_DESCRIPTORS = ("base/process/init.cc",)


def descriptors_are_closed_on_exec(tree):
    """open, socket and their like name a CLOEXEC flag in the call itself."""
    creators = "open|openat|socket|socketpair|accept4|pipe2|dup3|epoll_create1|eventfd|signalfd|timerfd_create" \
               "|memfd_create|inotify_init1"
    found = []
    for path, text in tree.product().items():
        if path in OPENS_STANDARD_DESCRIPTORS:
            continue
        code = code_of(text)
        for offset in calls_of(code, f"(?:{creators})"):
            arguments = arguments_after(code, code.index("(", offset))
            if "CLOEXEC" not in arguments:
                name = re.match(r"\w+", code[offset:])[0]
                found.append(f"{path}:{line_of(code, offset)}: {name}() without a CLOEXEC flag")
    return found


# --- headers -----------------------------------------------------------------------------------

# Header (prefix) -> the only .cc files that may see it, () = any .cc. Cost per file:
# spdlog 2.6 s, nlohmann 1.3 s per file.
HEAVY_HEADERS = {
    "nlohmann/json.hpp": (),
    "spdlog/": ("base/log.cc", "base/linked_libraries.cc"),  # the latter its version alone
    "boost/": (),
    "yaml-cpp/": ("launcher/manifest/yaml_reader.cc", "launcher/manifest/yaml_writer.cc"),
    "openssl/": (),
    "ares.h": ("base/resolver.cc", "base/linked_libraries.cc"),
    "zlib.h": ("base/gzip.cc", "base/linked_libraries.cc"),
    "re2/": ("launcher/progress/progress_pattern.cc",),
    "sqlite3.h": ("launcher/dashboard/database.cc", "base/linked_libraries.cc"),
    "fmt/format-inl.h": ("base/fmt.cc",),
    "CLI/": None,  # nobody: 3.8 s per file and 1.2 MB of binary
    "iostream": None,  # nobody: static constructors and locales in every start
    "regex": None,  # nobody: megabytes and stack overflows
    "thread": None,
    "future": None,
}


# Headers that hold what they include, and are seen by one room: a form of a manifest is made of JSON.
MAY_BE_HEAVY = ("launcher/render/job_form.h",)


def heavy_headers_stay_in_their_sources(tree):
    found = []
    for path, text in tree.product().items():
        for line, target, _ in includes_of(text):
            for heavy, owners in HEAVY_HEADERS.items():
                if target != heavy and not (heavy.endswith("/") and target.startswith(heavy)):
                    continue
                if owners is None:
                    found.append(f"{path}:{line}: <{target}> may be included nowhere")
                elif (path.endswith(".h") and path not in MAY_BE_HEAVY) or (owners and path not in owners):
                    where = ", ".join(owners) or ".cc files"
                    found.append(f"{path}:{line}: <{target}> may be included in {where} only")
    return found


# C, in which a header is the part that two small programs share.
C_PROGRAMS = "tests/bench/src/"


def headers_are_guarded(tree):
    return [f"{path}:1: no #pragma once" for path, text in tree.named(".h").items()
            if "#pragma once" not in text and not path.startswith(C_PROGRAMS)]


def sources_include_their_own_header_first(tree):
    found = []
    for path, text in tree.cpp().items():
        own = path.removesuffix(".cc") + ".h"
        includes = includes_of(text)
        if path.endswith(".cc") and own in tree.files and (not includes or includes[0][1] != own):
            found.append(f"{path}:1: its first include is not \"{own}\"")
    return found


# --- sizes -------------------------------------------------------------------------------------

MOST_SOURCE_LINES = 500
MOST_HEADER_LINES = 200
MOST_FUNCTION_LINES = 100
USUAL_FUNCTION_LINES = 50  # nine functions of ten


def files_are_short(tree):
    limits = {".h": MOST_HEADER_LINES, ".cc": MOST_SOURCE_LINES, ".c": MOST_SOURCE_LINES,
              ".py": MOST_SOURCE_LINES}
    found = []
    for ending, limit in limits.items():
        for path, text in tree.named(ending).items():
            lines = text.count("\n")
            if lines > (MOST_SOURCE_LINES if path.startswith(C_PROGRAMS) else limit):
                found.append(f"{path}: {lines} lines, at most {limit}")
    return found


def functions_are_short(tree):
    found = []
    for path, text in tree.cpp().items():
        for signature, first, last in functions_of(text):
            if last - first + 1 > MOST_FUNCTION_LINES:
                found.append(f"{path}:{first}: {last - first + 1} lines, at most {MOST_FUNCTION_LINES}: "
                             f"{signature}")
    return found


def most_functions_are_very_short(tree):
    sizes = [last - first + 1 for text in tree.product().values() for _, first, last in functions_of(text)]
    long = sum(size > USUAL_FUNCTION_LINES for size in sizes)
    if long * 10 <= len(sizes):
        return []
    return [f"{long} of {len(sizes)} functions are longer than {USUAL_FUNCTION_LINES} lines, more than one in ten"]


# --- tests -------------------------------------------------------------------------------------

def tests_can_fail(tree):
    """No disabled tests, no skips in unit tests, no expectation that is always true."""
    found = []
    for path, text in tree.cpp("tests").items():
        code = without_preprocessor(code_of(text))
        pattern = r"\bDISABLED_\w+|\bGTEST_SKIP\b|\b(?:EXPECT|ASSERT)_TRUE\(true\)|\bSUCCEED\(\)"
        for match in re.finditer(pattern, code):
            found.append(f"{path}:{line_of(code, match.start())}: {match[0]}")
    return found
