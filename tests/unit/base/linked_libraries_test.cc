#include "base/linked_libraries.h"

#include <gtest/gtest.h>
#include <openssl/opensslv.h>

namespace muster {
namespace {

TEST(LinkedLibraries, EachTellsAVersionThatBeginsWithANumber) {
  const auto libraries = linked_libraries();
  ASSERT_FALSE(libraries.empty());
  for (const LinkedLibrary& library : libraries)
    EXPECT_EQ(library.version.find_first_of("0123456789"), 0u) << library.name;
}

TEST(LinkedLibraries, OpenSslIsTheOneThatWasCompiledFor) {
  const LinkedLibrary first = linked_libraries().front();
  EXPECT_EQ(first.name, "OpenSSL");
  EXPECT_EQ(first.version.substr(0, 3), std::string(OPENSSL_FULL_VERSION_STR).substr(0, 3));
}

}  // namespace
}  // namespace muster
