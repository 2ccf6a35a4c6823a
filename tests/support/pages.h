// Pages of docs/reference that are made from tables of the program, and texts that it prints: a
// test compares each with what the program says, and writes it instead if RENEW_PAGES is set.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace muster {

/// `name`: of a file below tests/data. Renewed as the pages are.
inline void expect_file(const std::string& name, const std::string& text) {
  const std::string path = MUSTER_TEST_DATA "/" + name;
  if (std::getenv("RENEW_PAGES") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(kept, text) << "renew it with RENEW_PAGES=1 build/release/tests/launcher_test "
                           "--gtest_filter='*Page*'";
}

/// `name`: of a file in docs/reference.
inline void expect_page(const std::string& name, const std::string& text) {
  expect_file("../../docs/reference/" + name, text);
}

/// The line that says where a page comes from.
inline std::string made_from(const std::string& source) {
  return "<!-- Made from " + source +
         " by a unit test. Renew it with: RENEW_PAGES=1 build/release/tests/launcher_test "
         "--gtest_filter='*Page*' -->\n";
}

}  // namespace muster
