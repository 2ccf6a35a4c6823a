// Pages of docs/reference that are made from tables of the program: a test compares each with its
// table, and writes it instead if RENEW_PAGES is set.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace muster {

/// `name`: of a file in docs/reference.
inline void expect_page(const std::string& name, const std::string& text) {
  const std::string path = MUSTER_TEST_DATA "/../../docs/reference/" + name;
  if (std::getenv("RENEW_PAGES") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, text) << "renew it with RENEW_PAGES=1 build/asan/tests/launcher_test "
                           "--gtest_filter='*Page*'";
}

/// The line that says where a page comes from.
inline std::string made_from(const std::string& source) {
  return "<!-- Made from " + source +
         " by a unit test. Renew it with: RENEW_PAGES=1 build/asan/tests/launcher_test "
         "--gtest_filter='*Page*' -->\n";
}

}  // namespace muster
