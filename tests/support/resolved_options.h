// What a command line and variables come to, or why they are refused: for the tests of
// resolve_options.h. The program, s.py, is added.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "launcher/options/resolve_options.h"

namespace muster::launcher {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

inline constexpr RandomBytes kRandom = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0xf6, 0x77,
                                        0xc8, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
inline constexpr const char* kRandomId = "00112233-4455-4677-8899-aabbccddeeff";

inline Result<Options> resolved(Personality personality, const Words& words,
                                const Variables& variables = {}) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  const bool torchrun = personality == Personality::kTorchrun;
  auto raw = scan_flags(torchrun ? Dialect::kTorchrun : Dialect::kMuster, words, environment);
  if (!raw) return std::move(raw).error();
  return resolve_options(*raw, personality, kRandom);
}

// Of a command line that must be accepted; the program is added.
inline Options options_of(Personality personality, Words words, const Variables& variables = {}) {
  words.emplace_back("s.py");
  auto options = resolved(personality, words, variables);
  EXPECT_TRUE(options) << (options ? "" : options.error().text);
  return options ? *std::move(options) : Options{};
}
inline Options muster(const Words& words, const Variables& variables = {}) {
  return options_of(Personality::kMuster, words, variables);
}
inline Options torchrun(const Words& words, const Variables& variables = {}) {
  return options_of(Personality::kTorchrun, words, variables);
}

// The line for a command line that must be refused; the program is added.
inline std::string refused(Words words, const Variables& variables = {},
                           Personality personality = Personality::kTorchrun) {
  words.emplace_back("s.py");
  const auto options = resolved(personality, words, variables);
  if (options) return "accepted";
  return options.error().code == Code::kUsage ? options.error().text : "not a usage error";
}

inline std::string explained(const Options& options, const std::string& flag) {
  for (const ExplainedOption& option : options.explained) {
    if (option.flag == flag) return option.value + " (" + option.source + ")";
  }
  return "not explained";
}

using Lines = std::vector<std::string>;

}  // namespace muster::launcher
