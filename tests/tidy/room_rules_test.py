"""Tests of room_rules.py: the repository keeps each rule, and each rule finds a breach."""

import unittest

import room_rules as rules
from tree import RuleTest


def rows(*lines):
    return {"CMakeLists.txt": "".join(f"muster_room({line})\n" for line in lines)}


class Includes(RuleTest):
    FILES = rows("base", "rendezvous/wire base", "mpi/rsh base") | {"base/fd.h": "", "rendezvous/wire/link.h": ""}

    def test_the_repository_follows_its_rooms(self):
        self.assert_kept(rules.includes_follow_the_rooms)

    def test_a_room_that_its_row_does_not_name_is_found(self):
        files = self.FILES | {"mpi/rsh/a.cc": '#include "base/fd.h"\n#include "rendezvous/wire/link.h"\n'}
        self.assert_found(rules.includes_follow_the_rooms, files, "mpi/rsh/a.cc:2: mpi/rsh may not include rendezvous/wire")

    def test_a_backward_include_is_found(self):
        files = self.FILES | {"base/a.h": '#include "rendezvous/wire/link.h"\n'}
        self.assert_found(rules.includes_follow_the_rooms, files, "base/a.h:1: base may not include rendezvous/wire")

    def test_the_product_including_tests_is_found(self):
        files = self.FILES | {"base/a.cc": '#include "tests/support/clock.h"\n', "tests/support/clock.h": ""}
        self.assert_found(rules.includes_follow_the_rooms, files, "base may not include tests/support")

    def test_an_include_relative_to_its_own_folder_is_found(self):
        files = self.FILES | {"base/a.cc": '#include "fd.h"\n'}
        self.assert_found(rules.includes_follow_the_rooms, files, "no path from the root")

    def test_our_own_header_in_brackets_is_found(self):
        files = self.FILES | {"base/a.cc": "#include <base/fd.h>\n"}
        self.assert_found(rules.includes_follow_the_rooms, files, 'is included with ""')

    def test_tests_may_include_everything(self):
        files = self.FILES | {"tests/unit/base/a_test.cc": '#include "rendezvous/wire/link.h"\n'}
        self.assert_fine(rules.includes_follow_the_rooms, files)


class Rows(RuleTest):
    def test_every_folder_of_the_repository_is_a_room(self):
        self.assert_kept(rules.every_folder_is_a_room)

    def test_a_folder_without_a_row_is_found(self):
        files = rows("base") | {"base/a.h": "", "base/deep/a.h": ""}
        self.assert_found(rules.every_folder_is_a_room, files, "base/deep: no row")

    def test_a_row_without_files_is_found(self):
        self.assert_found(rules.every_folder_is_a_room, rows("base", "nccl base") | {"base/a.h": ""}, "the room nccl has no files")

    def test_the_rows_of_the_repository_are_in_order(self):
        self.assert_kept(rules.rooms_include_only_rooms_above)

    def test_a_row_that_names_a_later_room_is_found(self):
        self.assert_found(rules.rooms_include_only_rooms_above, rows("base base/process", "base/process"),
                          "base includes base/process, which has no row above it")

    def test_a_row_that_turns_a_directory_round_is_found(self):
        self.assert_found(rules.rooms_include_only_rooms_above, rows("launcher/options", "mpi/rsh launcher/options"),
                          "mpi may not include launcher")

    def test_all_permissions_of_the_repository_are_used(self):
        self.assert_kept(rules.permissions_are_used)

    def test_a_permission_that_nobody_uses_is_found(self):
        files = rows("base", "nccl base") | {"nccl/a.cc": "#include <vector>\n", "base/a.h": ""}
        self.assert_found(rules.permissions_are_used, files, "no file of nccl includes base")


if __name__ == "__main__":
    unittest.main()
