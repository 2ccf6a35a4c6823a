"""Tests of class_rules.py: the repository keeps each rule, and each rule finds a breach."""

import functools
import unittest

import class_rules as rules
from tree import RuleTest


def one_class(text, path="launcher/agent/a.h"):
    return rules.classes_of(path, text)[0]


class Declarations(RuleTest):
    def test_the_repository_declares_one_thing_in_a_statement(self):
        self.assert_kept(rules.one_declaration_in_a_statement)

    def test_several_in_one_statement_are_found(self):
        for statement in ("void open(), close();", "bool a_ = false, b_ = true;", "int *a_, b_;", "Timer a_, b_{c};"):
            with self.subTest(statement):
                files = {"base/a.h": f"class A {{\n  {statement}\n}};\n"}
                self.assert_found(rules.one_declaration_in_a_statement, files, "base/a.h:2: 2 declarations")

    def test_commas_that_separate_no_declarations_are_fine(self):
        for statement in ("std::map<int, bool> a_;", "void f(int a, int b);", "A(int a, int b) : a_(a), b_{b} {}", "int a_[] = {1, 2};",
                          "std::function<void(int, int)> f_;", "enum class E { kA, kB };", "template <typename T, int N> T f();",
                          "bool f() const { return a_ < 1, b_ > 2; }", "struct S : A, B {};"):
            with self.subTest(statement):
                self.assert_fine(rules.one_declaration_in_a_statement, {"base/a.h": f"class A {{\n  {statement}\n}};\n"})


class Sizes(RuleTest):
    def test_classes_of_the_repository_are_small_or_known(self):
        self.assert_kept(rules.classes_are_small)

    def test_what_is_counted(self):
        found = one_class("""class A final : public B {
 public:
  explicit A(int a) : a_(a), b_{} {}
  ~A() override;
  A(const A&) = delete;
  A& operator=(const A&) = delete;
  [[nodiscard]] bool is_one() const { return a_ == 1; }
  static Result<std::unique_ptr<A>> create(std::function<void(int)> told);
  void f(int x = 3) override;
  friend bool operator==(const A&, const A&) = default;
  using C = int;
  static constexpr int kMost = 3;
  struct Inner { int x = 0; int y = 0; void g(); };

 private:
  int a_ = 0;
  std::map<int, std::vector<bool>> b_;
  std::function<void(int)> told_;
  char text_[16] = {};
};
""")
        self.assertEqual((found.members(), found.methods()), (4, 3))

    def test_a_class_with_too_many_members_or_methods_is_found(self):
        members = "".join(f"  int a{number}_;\n" for number in range(16))
        methods = "".join(f"  void f{number}();\n" for number in range(26))
        rule = functools.partial(rules.classes_are_small, debts={})
        self.assert_found(rule, {"base/a.h": f"class A {{\n  void f();\n{members}}};\n"}, "A has 16 data members")
        self.assert_found(rule, {"base/a.h": f"class A {{\n{methods}}};\n"}, "A has 0 data members and 26 methods")

    def test_a_plain_value_has_as_many_fields_as_there_are_facts(self):
        members = "".join(f"  int a{number} = 0;\n" for number in range(30))
        self.assert_fine(lambda tree: rules.classes_are_small(tree, {}), {"base/a.h": f"struct A {{\n{members}}};\n"})

    def test_a_debt_may_only_fall(self):
        members = "".join(f"  int a{number}_;\n" for number in range(16))
        files = {"base/a.h": f"class A {{\n  void f();\n{members}}};\n"}
        self.assert_fine(lambda tree: rules.classes_are_small(tree, {"A": (16, 1)}), files)
        self.assert_found(lambda tree: rules.classes_are_small(tree, {"A": (15, 1)}), files, "its debt says (15, 1)")
        self.assert_found(lambda tree: rules.classes_are_small(tree, {"A": (17, 1)}), files, "its debt says (17, 1)")
        self.assert_found(lambda tree: rules.classes_are_small(tree, {"A": (16, 1), "B": (20, 1)}), files, "the debt B is no class")

    def test_a_debt_that_is_paid_is_found(self):
        files = {"base/a.h": "class A {\n  void f();\n  int a_;\n};\n"}
        self.assert_found(lambda tree: rules.classes_are_small(tree, {"A": (1, 1)}), files, "no debt any more")


if __name__ == "__main__":
    unittest.main()
