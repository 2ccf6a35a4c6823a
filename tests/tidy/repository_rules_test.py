"""Tests of repository_rules.py: the repository keeps each rule, and each rule finds a breach."""

import json
import pathlib
import unittest

import repository_rules as rules
from tree import ROOT, RuleTest


class Names(RuleTest):
    def test_names_say_what_is_inside(self):
        self.assert_kept(rules.names_say_what_is_inside)

    def test_names_that_say_nothing_are_found(self):
        self.assert_found(rules.names_say_what_is_inside, {"base/string_utils.h": ""}, "utils")
        self.assert_found(rules.names_say_what_is_inside, {"base/common/fd.h": ""}, "common")
        self.assert_found(rules.names_say_what_is_inside, {"base/a.h": "class FdManager {};\n"}, "FdManager")

    def test_files_have_a_kind(self):
        self.assert_kept(rules.files_have_a_kind)
        self.assert_found(rules.files_have_a_kind, {"end": ""}, "end")
        self.assert_fine(rules.files_have_a_kind, {"Makefile": "", "base/.gitignore": ""})

    def test_files_open_with_what_they_are(self):
        self.assert_kept(rules.files_open_with_what_they_are)

    def test_a_file_that_opens_with_code_is_found(self):
        rule = rules.files_open_with_what_they_are
        self.assert_found(rule, {"base/a.h": "#pragma once\n"}, "base/a.h:1")
        self.assert_found(rule, {"launcher/program/main.cc": '#include "base/fd.h"\n'}, "launcher/program/main.cc:1")
        self.assert_found(rule, {"tests/a.py": "#!/usr/bin/env python3\nimport os\n"}, "tests/a.py:1")

    def test_a_source_or_test_may_open_with_its_header(self):
        self.assert_fine(rules.files_open_with_what_they_are, {
            "base/a.cc": '#include "base/a.h"\n', "tests/unit/base/a_test.cc": '#include "base/a.h"\n'})

    def test_nothing_from_outside_is_written_down(self):
        self.assert_kept(rules.no_words_from_outside)

    def test_machine_paths_and_postponed_work_are_found(self):
        rule = rules.no_words_from_outside
        self.assert_found(rule, {"base/a.h": "// see /home/" "me/notes\n"}, "a path of one machine")
        self.assert_found(rule, {"base/a.h": "\n// TO" "DO: later\n"}, "base/a.h:2")
        self.assert_fine(rule, {"base/a.h": "// TO" "DO(#12): later. https://host/work/item\n"})

    def test_text_is_clean(self):
        self.assert_kept(rules.text_is_clean)

    def test_unclean_text_is_found(self):
        for text in ("a \n", "a\n\tb\n", "a\r\n", "a"):
            with self.subTest(text):
                self.assert_found(rules.text_is_clean, {"base/a.h": text}, "base/a.h")


class TestsExist(RuleTest):
    CMAKE = {"tests/CMakeLists.txt": "foreach(directory base mpi)\n"}

    def test_tests_belong_to_a_target(self):
        self.assert_kept(rules.tests_belong_to_a_target)

    def test_tests_outside_the_targets_are_found(self):
        rule = rules.tests_belong_to_a_target
        self.assert_found(rule, self.CMAKE | {"base/a_test.cc": ""}, "base/a_test.cc")
        self.assert_found(rule, self.CMAKE | {"tests/unit/nccl/a_test.cc": ""}, "tests/unit/nccl/a_test.cc")
        self.assert_found(rule, self.CMAKE | {"tests/unit/base/a_fuzz.cc": ""}, "a_fuzz.cc")
        self.assert_fine(rule, self.CMAKE | {"tests/unit/base/deep/a_test.cc": ""})

    def test_directories_have_tests(self):
        self.assert_kept(rules.directories_have_tests)

    def test_a_directory_without_tests_is_found(self):
        files = {"launcher/a.cc": "", "launcher/deep/a.cc": "", "tests/unit/launcher/a_test.cc": ""}
        self.assert_found(rules.directories_have_tests, files, "launcher/deep")

    def test_every_source_is_compiled(self):
        commands = pathlib.Path(ROOT, "build", "tidy", "compile_commands.json")
        if not commands.exists():
            self.fail("needs a configured build folder: cmake --preset tidy")
        self.assert_kept(rules.every_source_is_compiled, commands.read_text(), str(ROOT))

    def test_a_source_that_is_not_compiled_is_found(self):
        commands = json.dumps([{"file": "/r/base/a.cc"}])
        files = {"base/a.cc": "", "base/b.cc": ""}
        self.assert_found(rules.every_source_is_compiled, files, "base/b.cc", commands, "/r")


class Releases(RuleTest):
    def test_releases_are_hardened(self):
        commands = pathlib.Path(ROOT, "build", "release", "compile_commands.json")
        if not commands.exists():
            self.fail("needs a configured build folder: cmake --preset release")
        self.assert_kept(rules.releases_are_hardened, commands.read_text(), str(ROOT))

    def test_a_source_without_protection_is_found(self):
        flags = " ".join(rules.HARDENING)
        commands = [{"file": "/r/a.cc", "command": "c++ " + flags}, {"file": "/r/b.cc", "command": "c++ -fPIE " + flags.split(" ", 2)[2]}]
        self.assert_found(rules.releases_are_hardened, {}, "b.cc: compiled without -D_FORTIFY_SOURCE=3", json.dumps(commands), "/r")

    def test_packages_of_registries_have_hashes(self):
        self.assert_kept(rules.packages_of_registries_have_hashes)

    def test_packages_without_hashes_are_found(self):
        rule = rules.packages_of_registries_have_hashes
        self.assert_found(rule, {"tests/a.sh": "#\npython -m pip install --quiet \\\n  numpy\n"}, "tests/a.sh:2")
        self.assert_found(rule, {"tests/a.sh": "python -m pip install --require-hashes numpy\n"}, "tests/a.sh:1")
        self.assert_found(rule, {"tests/compat/locks/a.txt": "# by hand\nnumpy==2.4.6\n"}, "tests/compat/locks/a.txt:2")
        self.assert_fine(rule, {"tests/a.sh": "python -m pip install --quiet \\\n  --require-hashes -r locks/a.txt\n"
                                              "python -m pip install --no-deps \"$folder/source\"\n",
                                "tests/compat/locks/a.txt": "numpy==2.4.6 --hash=sha256:" + "0" * 64 + "\n"})


class Events(RuleTest):
    PAGE = {"docs/reference/events.md": "| Event | When |\n|---|---|\n| `worker.exit` | a worker ended |\n"}

    def test_events_are_listed(self):
        self.assert_kept(rules.events_are_listed)

    def test_an_event_that_is_not_listed_is_found(self):
        files = self.PAGE | {"launcher/a.cc": 'log::info("worker.exit", {});\nlog::warning(\n  "worker.new", {});\n'}
        self.assert_found(rules.events_are_listed, files, "launcher/a.cc:2: event 'worker.new'")

    def test_a_listed_event_that_nothing_logs_is_found(self):
        self.assert_found(rules.events_are_listed, self.PAGE, "nothing logs 'worker.exit'")

    def test_an_event_with_a_computed_level_counts(self):
        self.assert_fine(rules.events_are_listed,
                         self.PAGE | {"launcher/a.cc": 'log::write(level_of(x), "worker.exit", {});\n'})


class Documents(RuleTest):
    def test_links_lead_somewhere(self):
        self.assert_kept(rules.links_lead_somewhere)

    def test_a_broken_link_is_found(self):
        rule = rules.links_lead_somewhere
        self.assert_found(rule, {"docs/a.md": "see\n[b](b.md#part)\n"}, "docs/a.md:2")
        self.assert_fine(rule, {"docs/a.md": "[b](../b.md) [web](https://x.org) [here](#x) [folder](.)\n", "b.md": ""})

    def test_documented_commands_exist(self):
        self.assert_kept(rules.documented_commands_exist)

    def test_a_documented_command_that_does_not_exist_is_found(self):
        files = {"Makefile": "run:\n", "README.md": "`make run` or\n    make fly\n"}
        self.assert_found(rules.documented_commands_exist, files, "no target 'fly'")

    def test_examples_are_explained_and_run(self):
        self.assert_kept(rules.examples_are_explained_and_run)

    def test_an_example_without_readme_or_test_is_found(self):
        rule = rules.examples_are_explained_and_run
        script = {"tests/integration/a.py": "run('examples/mpi/run.sh')\n"}
        self.assert_found(rule, {"examples/mpi/run.sh": ""} | script, "no README.md")
        self.assert_found(rule, {"examples/jax/README.md": ""} | script, "no test names it")
        self.assert_fine(rule, {"examples/mpi/README.md": ""} | script)

    def test_packages_have_a_reason_and_a_user(self):
        self.assert_kept(rules.packages_have_a_reason_and_a_user)

    def test_a_package_without_reason_or_group_is_found(self):
        rule = rules.packages_have_a_reason_and_a_user
        makefile = {"Makefile": "build:\n\t@.ci/install build\n"}
        self.assert_found(rule, makefile | {"packages.txt": "# [build] x\ng++\n"}, "packages.txt:2")
        self.assert_found(rule, makefile | {"packages.txt": "g++  # compiler\n"}, "packages.txt:1")
        self.assert_found(rule, makefile | {"packages.txt": "# [mpi] x\ng++  # compiler\n"}, "no command installs")
        self.assert_fine(rule, makefile | {"packages.txt": "# [build] x\ng++  # compiler\n"})


if __name__ == "__main__":
    unittest.main()
