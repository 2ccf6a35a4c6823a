// FlagReader: raw flags one by one as typed values, and what is to be said of them. It knows where
// each value came from and no flag's meaning. For resolve_options.cc and the files beside it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/flags.h"
#include "launcher/options.h"

namespace muster::launcher {

class FlagReader {
 public:
  /// `raw` is borrowed.
  FlagReader(const RawFlags& raw, Personality personality)
      : raw_(raw), personality_(personality), warnings_(raw.warnings) {}
  FlagReader(const FlagReader&) = delete;
  FlagReader& operator=(const FlagReader&) = delete;

  /// By whomever; null = nobody.
  [[nodiscard]] const GivenValue* find(Flag flag) const { return raw_.find(flag); }
  [[nodiscard]] bool is_given(Flag flag) const { return find(flag) != nullptr; }
  [[nodiscard]] bool is_on(Flag flag) const { return raw_.is_on(flag); }
  [[nodiscard]] bool on_command_line(Flag flag) const;
  [[nodiscard]] Dialect dialect() const { return raw_.dialect; }
  /// As given, else the default.
  [[nodiscard]] std::string text(Flag flag) const;
  [[nodiscard]] std::string_view fallback(Flag flag) const;
  /// What to call the flag in a message: the variable's name when that gave the value, with
  /// "(mpi-operator: /etc/mpi/hostfile)" behind it when a contract did.
  [[nodiscard]] std::string label(Flag flag) const;

  /// A wrong value fails, and T{} stands in for it: so a flag is read in one expression, and
  /// whatever is wrong with others is found as well.
  template <typename T>
  T read(Flag flag, Result<T> (*parse)(std::string_view)) {
    Result<T> value = parse(text(flag));
    if (value) return *std::move(value);
    fail(flag, value.error().text);
    return T{};
  }
  void check(Flag flag, Status (*checker)(std::string_view));
  /// kUsage. The first one counts.
  void fail(std::string line);
  /// "--nnodes '2:1': MIN is larger than MAX".
  void fail(Flag flag, std::string_view complaint);
  void warn(std::string line) { warnings_.push_back(std::move(line)); }
  /// For --explain: what other flags decided.
  void derive(Flag flag, std::string value, std::string source);

  /// None = nothing is wrong.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// Those of `raw` first.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Every flag that the dialect knows, in the order of the table.
  [[nodiscard]] std::vector<ExplainedOption> explained() const;

 private:
  const RawFlags& raw_;
  const Personality personality_;
  std::vector<std::string> warnings_;
  std::map<Flag, ExplainedOption> derived_;
  std::optional<Error> error_;
};

}  // namespace muster::launcher
