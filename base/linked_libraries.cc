#include "base/linked_libraries.h"

#include <ares.h>
#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <http_parser.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <sqlite3.h>
#include <zlib.h>
#include <nlohmann/detail/abi_macros.hpp>
#include <tl/expected.hpp>

namespace muster {

namespace {

std::string three(unsigned long major, unsigned long minor, unsigned long patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

// "3.0.17 1 Jul 2025" of "OpenSSL 3.0.17 1 Jul 2025".
std::string openssl_version() {
  const std::string_view text = OpenSSL_version(OPENSSL_VERSION);
  return std::string(text.substr(text.find(' ') + 1));
}

}  // namespace

std::vector<LinkedLibrary> linked_libraries() {
  const unsigned long parser = http_parser_version();
  return {{"OpenSSL", openssl_version()},
          {"c-ares", ares_version(nullptr)},
          {"http-parser", three(parser >> 16U & 0xffU, parser >> 8U & 0xffU, parser & 0xffU)},
          {"zlib", zlibVersion()},
          {"SQLite", SQLITE_VERSION},
          {"JSON for Modern C++", three(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"spdlog", three(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
          {"fmt", three(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"tl::expected",
           three(TL_EXPECTED_VERSION_MAJOR, TL_EXPECTED_VERSION_MINOR, TL_EXPECTED_VERSION_PATCH)},
          {"GNU C Library", gnu_get_libc_version()},
          {"libstdc++", fmt::format("{} of {}", _GLIBCXX_RELEASE, __GLIBCXX__)}};
}

}  // namespace muster
