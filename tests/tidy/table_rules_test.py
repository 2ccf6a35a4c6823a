"""Tests of table_rules.py: the launcher keeps each rule, and each rule finds a breach."""

import re

import unittest

import table_rules as rules
from tree import RuleTest, Tree

ROWS = ('constexpr FlagRow kRows[] = {\n    {.name = "lease",\n     .into = to<&Options::lease, parse_lease>,\n'
        '     .help = "x"},\n    {.name = "nodes",\n     .into = to_both<&Options::min,\n             &Options::max, parse>,\n'
        '     .help = "x"}};\n')
OPTIONS = ("struct Options {\n  Personality personality = Personality::kMuster;\n  std::optional<int>\n      lease;\n"
           "  int min = std::max(1, 2);\n  Duration max{};\n  [[nodiscard]] bool is_x() const { return f({1}); }\n  FIELDS\n};\n"
           "struct FabricOptions {\n  int a;\n};\nstruct ReportOptions {\n  int a;\n};\nstruct PlainOptions {\n  int a;\n};\nstruct NodeOptions {\n  int a;\n};\nstruct FrameworkOptions {\n  bool mpi_launch_given = false;\n};\n")


class Flags(RuleTest):
    def test_flags_are_documented(self):
        self.assert_kept(rules.flags_are_documented)

    def test_a_flag_without_a_word_in_a_page_is_found(self):
        files = {"launcher/options/job_flags.cc": '{.name = "max-restarts"}, {.name = "new-flag"}\n',
                 "README.md": "`--max-restarts`\n"}
        self.assert_found(rules.flags_are_documented, files, "launcher/options/job_flags.cc: --new-flag")
        self.assert_fine(rules.flags_are_documented, files | {"docs/a.md": "`--new-flag`\n"})

    def test_a_table_that_is_not_found_is_a_finding(self):
        self.assert_found(rules.flags_are_documented, {"launcher/rows.cc": ROWS}, "no row")
        self.assert_found(rules.named_flags_have_rows, {"launcher/options/job_flags.cc": ROWS}, "no flag")

    def test_named_flags_have_rows(self):
        self.assert_kept(rules.named_flags_have_rows)

    def test_a_name_without_a_row_is_found(self):
        files = {"launcher/options/flag.h": 'inline constexpr Flag kLease{"lease"};\n', "launcher/options/job_flags.cc": ROWS}
        self.assert_fine(rules.named_flags_have_rows, files)
        self.assert_found(rules.named_flags_have_rows, files | {
            "launcher/options/flag.h": 'inline constexpr Flag kLease{"lease"};\ninline constexpr Flag kX{"x"};\n'}, "--x has no row")
        self.assert_found(rules.named_flags_have_rows, files | {"launcher/a.cc": 'a(Flag("lease"));\n'}, "launcher/a.cc:1")


class Options(RuleTest):
    def found_with(self, field):
        tree = {"launcher/options/job_flags.cc": ROWS, "launcher/options/options.h": OPTIONS.replace("FIELDS", field)}
        return [line for line in rules.every_option_is_filled_by_one_flag(Tree(tree))
                if "no such field" not in line and not re.search(r"(Node|Plain|Fabric|Report)Options::a\b", line)]

    def test_every_option_is_filled_by_one_flag(self):
        self.assert_kept(rules.every_option_is_filled_by_one_flag)

    def test_a_field_that_no_flag_fills_is_found(self):
        self.assertEqual(self.found_with("std::string program;"), [])
        self.assertEqual(self.found_with("std::map<int, int> forgotten;"),
                         ["Options::forgotten is filled by 0 flags, and not listed as derived"])

    def test_a_field_of_two_flags_is_found(self):
        tree = {"launcher/options/job_flags.cc": ROWS + ROWS, "launcher/options/options.h": OPTIONS.replace("FIELDS", "")}
        lines = rules.every_option_is_filled_by_one_flag(Tree(tree))
        self.assertIn("Options::lease is filled by 2 flags, and not listed as derived", lines)

    def test_structs_that_are_not_found_are_findings(self):
        lines = rules.every_option_is_filled_by_one_flag(Tree({"launcher/options/job_flags.cc": ROWS}))
        self.assertEqual(len(lines), len(rules.DERIVED))


class Variables(RuleTest):
    def test_variables_are_collected(self):
        self.assert_kept(rules.variables_are_collected)

    def test_a_variable_that_is_not_listed_is_found(self):
        files = {"mpi/a.h": '\ninline constexpr std::string_view kXVariable = "MUSTER_X";\n',
                 "launcher/command_line/variables.cc": "kXYVariable\n"}
        self.assert_found(rules.variables_are_collected, files, "mpi/a.h:2: kXVariable")
        self.assert_found(rules.variables_are_collected, {}, "no header")


if __name__ == "__main__":
    unittest.main()
