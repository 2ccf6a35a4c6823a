"""Tests of cpp_rules.py: the repository keeps each rule, and each rule finds a breach."""

import unittest

import cpp_rules as rules
from tree import RuleTest, Tree, code_of, functions_of


def source(line):
    return {"launcher/agent/agent.cc": f"// An agent.\nvoid f() {{\n  {line}\n}}\n"}


class Calls(RuleTest):
    def test_the_product_makes_no_banned_call(self):
        self.assert_kept(rules.banned_calls_in_the_product)

    def test_tests_make_no_banned_call(self):
        self.assert_kept(rules.banned_calls_in_tests)

    def test_each_banned_call_is_found(self):
        for call in ('system("ls");', 'FILE* pipe = popen("ls", "r");', "int n = atoi(text);",
                     "return std::stoi(text);", "::sleep(1);", "std::this_thread::sleep_for(delay);", "getaddrinfo(a, b, c, d);", "exit(1);",
                     "if (fork() == 0) return;", "(void)kill(pid, 9);", "return ::kill(pid, 9);", "waitpid(pid, 0, 0);",
                     "auto t = std::chrono::steady_clock::now();", 'getenv("HOME");', "int both[2]; pipe(both);"):
            with self.subTest(call):
                self.assert_found(rules.banned_calls_in_the_product, source(call), "launcher/agent/agent.cc:3: ")

    def test_a_call_in_the_file_that_may_is_fine(self):
        self.assert_fine(rules.banned_calls_in_the_product, {"base/process.cc": "void f() { (void)kill(-pid, 9); }"})

    def test_members_declarations_comments_and_strings_are_not_calls(self):
        for line in ("child.kill(9);", "host->fork();", "Status Child::kill(int n) {}", "bool kill(int signal);",
                     "Result<bool> kill(int signal);", "// kill(pid)", '"fork() failed"', "loop.now();",
                     "clock_.now();", "/* exit(1) */", "Timer& sleep(int);", "my::exit(2);", "do_system(x);"):
            with self.subTest(line):
                self.assert_fine(rules.banned_calls_in_the_product, source(line))

    def test_a_sleeping_test_is_found(self):
        files = {"tests/unit/base/a_test.cc": "TEST(A, B) { usleep(100); }\n"}
        self.assert_found(rules.banned_calls_in_tests, files, "usleep() is banned")

    def test_the_product_uses_no_banned_words(self):
        self.assert_kept(rules.banned_words)

    def test_each_banned_word_is_found(self):
        for line in ("std::thread t(f);", "co_await g();", "throw 1;", "try { g(); } catch (...) {}",
                     "using namespace std;", "auto g = [=] { return 1; };", "auto g = [=, this] { return 1; };"):
            with self.subTest(line):
                self.assert_found(rules.banned_words, source(line), "launcher/agent/agent.cc:3: ")

    def test_descriptors_are_closed_on_exec(self):
        self.assert_kept(rules.descriptors_are_closed_on_exec)

    def test_an_open_without_close_on_exec_is_found(self):
        self.assert_found(rules.descriptors_are_closed_on_exec, source('int fd = open(name(1), O_RDONLY);'),
                          "agent.cc:3: open() without a CLOEXEC flag")
        self.assert_fine(rules.descriptors_are_closed_on_exec, source("open(name(1), O_RDONLY | O_CLOEXEC);"))


class Headers(RuleTest):
    def test_heavy_headers_stay_in_their_sources(self):
        self.assert_kept(rules.heavy_headers_stay_in_their_sources)

    def test_a_heavy_header_in_a_header_is_found(self):
        self.assert_found(rules.heavy_headers_stay_in_their_sources, {"base/json.h": "#include <nlohmann/json.hpp>\n"},
                          "base/json.h:1: <nlohmann/json.hpp>")
        self.assert_fine(rules.heavy_headers_stay_in_their_sources,
                         {"base/json.h": "#include <nlohmann/json_fwd.hpp>\n"})

    def test_spdlog_outside_the_log_is_found(self):
        self.assert_found(rules.heavy_headers_stay_in_their_sources, {"base/fd.cc": "#include <spdlog/spdlog.h>\n"},
                          "in base/log.cc, ")

    def test_re2_outside_the_pattern_is_found(self):
        self.assert_found(rules.heavy_headers_stay_in_their_sources, {"base/fd.cc": "#include <re2/re2.h>\n"},
                          "in launcher/progress/progress_pattern.cc only")

    def test_iostream_is_found_everywhere(self):
        self.assert_found(rules.heavy_headers_stay_in_their_sources, {"base/fd.cc": "#include <iostream>\n"}, "nowhere")

    def test_headers_are_guarded(self):
        self.assert_kept(rules.headers_are_guarded)

    def test_a_header_without_a_guard_is_found(self):
        self.assert_found(rules.headers_are_guarded, {"base/a.h": "int f();\n"}, "base/a.h")

    def test_sources_include_their_own_header_first(self):
        self.assert_kept(rules.sources_include_their_own_header_first)

    def test_a_source_that_includes_another_header_first_is_found(self):
        files = {"base/a.cc": '#include <string>\n#include "base/a.h"\n', "base/a.h": ""}
        self.assert_found(rules.sources_include_their_own_header_first, files, 'not "base/a.h"')


class Sizes(RuleTest):
    def test_files_are_short(self):
        self.assert_kept(rules.files_are_short)

    def test_long_files_are_found(self):
        self.assert_found(rules.files_are_short, {"base/a.cc": "\n" * 501}, "501 lines")
        self.assert_found(rules.files_are_short, {"base/a.h": "\n" * 201}, "201 lines")
        self.assert_fine(rules.files_are_short, {"base/a.cc": "\n" * 500, "base/a.h": "\n" * 200})

    def test_functions_are_short(self):
        self.assert_kept(rules.functions_are_short)

    def test_a_long_function_is_found(self):
        body = "  if (a) { b(); }\n" * 99
        self.assert_found(rules.functions_are_short, {"base/a.cc": f"namespace m {{\nvoid f() {{\n{body}}}\n}}\n"},
                          "base/a.cc:2: 101 lines, at most 100: void f()")
        self.assert_fine(rules.functions_are_short, {"base/a.cc": f"struct A {{\nvoid f() {{\n{body[18:]}}}\n}};\n"})

    def test_nine_functions_of_ten_are_very_short(self):
        self.assert_kept(rules.most_functions_are_very_short)

    def test_too_many_longish_functions_are_found(self):
        long = "void f() {\n" + "  g();\n" * 60 + "}\n"
        self.assert_found(rules.most_functions_are_very_short, {"base/a.cc": long + "void g() {}\n" * 8}, "1 of 9")
        self.assert_fine(rules.most_functions_are_very_short, {"base/a.cc": long + "void g() {}\n" * 9})


class Tests(RuleTest):
    def test_tests_can_fail(self):
        self.assert_kept(rules.tests_can_fail)

    def test_a_disabled_test_is_found(self):
        self.assert_found(rules.tests_can_fail, {"tests/unit/base/a_test.cc": "TEST(A, DISABLED_B) {}\n"}, "DISABLED_B")


class Reading(unittest.TestCase):
    """The small C++ reader that the rules stand on."""

    def test_comments_and_strings_are_blanked_and_lines_stay(self):
        text = 'f("a\\"b"); // c\n/* d\n e */ g(\'"\', 1\'000, R"x(")x");\n'
        code = code_of(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), 3)
        self.assertEqual(code.split("\n")[0].rstrip(), 'f("    ");')
        self.assertNotIn("e", code)
        self.assertIn("1'000", code)

    def test_functions_are_told_from_classes_tables_and_namespaces(self):
        text = ("namespace a {\nclass B : public C {\n  B() : x_{1}, y_(2) {\n  }\n  int f() const { return 1; }\n};\n"
                "constexpr D kTable[] = {\n  {g(1), 2},\n};\nenum class E { kOne };\n"
                "template <typename T>\nstruct [[nodiscard]] F {};\nvoid h(int n) {\n  auto l = [n] { return n; };\n}\n"
                "}\n")
        names = [signature for signature, _, _ in functions_of(text)]
        self.assertIn("int f() const", names)
        self.assertIn("void h(int n)", names)
        self.assertFalse([name for name in names if "class" in name or "kTable" in name or "struct" in name])
        self.assertEqual([(first, last) for name, first, last in functions_of(text) if "h(" in name], [(13, 15)])

    def test_paths_are_selected_by_folder(self):
        tree = Tree({"base/a.h": "", "tests/b.cc": "", "base/c.txt": ""})
        self.assertEqual(list(tree.cpp("base")), ["base/a.h"])
        self.assertEqual(list(tree.cpp()), ["base/a.h", "tests/b.cc"])


if __name__ == "__main__":
    unittest.main()
