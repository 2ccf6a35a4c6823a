"""What tests reported, how it adds up, and what is run again: the rules of the last line "N passed, N failed".

Each test counts once. A test that fails is run again, alone, after all others have ended. If it passes then, it counts as
passed and as unstable. More than MOST_UNSTABLE of these count as failed, all of them; so does one that tests/unstable.md
names. When more than MOST_RERUN tests fail, none is run again: that is no bad luck.
"""

import dataclasses
import os
import pathlib
import re
import typing

MOST_UNSTABLE = 3
MOST_RERUN = 10
SLOWEST = 20
UNSTABLE_PAGE = pathlib.Path(__file__).resolve().parents[1] / "unstable.md"


@dataclasses.dataclass
class Failure:
    name: str
    text: str
    again: typing.Optional[typing.Callable] = None  # runs it alone: an Outcome. None: it cannot be run again


@dataclasses.dataclass
class Outcome:
    """What one program reported; outcomes add up."""

    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # names
    idle: list = dataclasses.field(default_factory=list)  # parts of which no test ran
    times: list = dataclasses.field(default_factory=list)  # (seconds, test)
    unstable: list = dataclasses.field(default_factory=list)  # Failure: the first one of a test that passed then

    def add(self, other):
        self.passed += other.passed
        for field in ("failures", "skipped", "idle", "times", "unstable"):
            getattr(self, field).extend(getattr(other, field))

    def failed(self):
        return len(self.failures)

    def fail(self, name, text, again=None):
        self.failures.append(Failure(name, text, again))

    def __str__(self):
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed()} failed{skipped}"


def run_again(total):
    """Each failure that can be run again is, alone. Those that pass move to `unstable`."""
    if len(total.failures) > MOST_RERUN:
        print(f"{len(total.failures)} tests failed: too many to run them again", flush=True)
        return
    still = []
    for failure in total.failures:
        if failure.again is None:
            still.append(failure)
            continue
        print(f"again, alone: {failure.name}", flush=True)
        second = failure.again()
        if second.failures or not second.passed:
            still.append(Failure(failure.name, f"{failure.text}\n--- and again, alone:\n{second_text(failure, second)}"))
        else:
            total.passed += 1
            total.unstable.append(failure)
    total.failures = still


def second_text(first, second):
    texts = [failure.text for failure in second.failures]
    if not texts:
        return "it did not run"
    return "the same" if texts == [first.text] else "\n".join(texts)


def known_unstable(page=UNSTABLE_PAGE):
    """The names in the first column of the table of tests/unstable.md."""
    text = page.read_text() if page.exists() else ""
    return set(re.findall(r"^\|\s*`([^`]+)`", text, re.M))


def judge_unstable(total, known):
    """Moves to `failures` those that may not be forgiven."""
    too_many = len(total.unstable) > MOST_UNSTABLE
    for failure in list(total.unstable):
        if not too_many and failure.name not in known:
            continue
        why = (f"unstable, as are {len(total.unstable) - 1} others; {MOST_UNSTABLE} are the most" if too_many
               else "unstable again: it stands in tests/unstable.md already")
        total.fail(failure.name, f"{why}\n{failure.text}")
        total.passed -= 1
    print_unstable(total)


def print_unstable(total):
    if total.unstable:
        print("\n=== unstable: failed beside others, passed alone. Mend them, or write into tests/unstable.md what is known")
    for failure in total.unstable:
        print(f"unstable: {failure.name}\n    " + failure.text.strip().replace("\n", "\n    "))


# What a machine that runs all this may lack; every other skip is a failure where CI=true.
EXPECTED_SKIPS = ("namespaces", "time namespaces", "memory cgroup", "registry")


def judge_skips(total, can_make_namespaces):
    """Where CI=true, a skip that nobody expects is a failure."""
    if not total.skipped:
        return
    print(f"\nskipped: {', '.join(total.skipped)}")
    if os.environ.get("CI") != "true":
        return
    for skip in total.skipped:
        reason = next((reason for reason in EXPECTED_SKIPS if f"({reason}:" in skip or f"({reason})" in skip), None)
        if reason is None or (reason == "namespaces" and can_make_namespaces()):
            total.fail(skip.split(" ")[0], f"skipped, which nobody expects where CI=true: {skip}")


def reasons_of(skips):
    """The words before the colon; a skip without any is called by its name."""
    return ", ".join(sorted({re.sub(r"^\S+ \(([^:)]*).*$", r"\1", skip, flags=re.S) for skip in skips}))


def print_end(total, stages):
    """`stages`: (name, seconds, Outcome), in the order in which they ended."""
    for failure in total.failures:
        print(f"\nFAILED {failure.name}\n{failure.text}")
    if stages:
        print("\n=== stages")
    for name, seconds, outcome in stages:
        print(f"{name:<16} {seconds:7.1f} s   {outcome}")
    if total.times:
        print(f"\n=== the {SLOWEST} slowest tests")
    for seconds, name in sorted(total.times, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} s   {name}")
    for line in total.idle:
        print(f"!!! NOTHING WAS TESTED of {line}")
    print(f"\n{total.passed} passed, {total.failed()} failed")
