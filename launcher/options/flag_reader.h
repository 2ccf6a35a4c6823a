// FlagReader: raw flags one by one as typed values, and what is to be said of them. It knows where
// each value came from and no flag's meaning. For the rules between flags, *_flags.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/options/flags.h"
#include "launcher/options/options.h"
#include "launcher/options/random_run_id.h"

namespace muster::launcher {

class FlagReader {
 public:
  /// `raw` and `random` are borrowed.
  FlagReader(const RawFlags& raw, Personality personality, const RandomBytes& random)
      : raw_(raw), personality_(personality), random_(random), warnings_(raw.warnings) {}
  FlagReader(const FlagReader&) = delete;
  FlagReader& operator=(const FlagReader&) = delete;

  [[nodiscard]] const RawFlags& raw() const { return raw_; }
  [[nodiscard]] const RandomBytes& random() const { return random_; }  ///< for the run's id
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

  /// Gives the row's field its value. A wrong value fails and leaves the field alone, so that
  /// whatever is wrong with other flags is looked at as well.
  void fill(const FlagRow& row, Options& options);
  /// kUsage. The first one counts.
  void fail(std::string line);
  /// "--nnodes '2:1': MIN is larger than MAX".
  void fail(Flag flag, std::string_view complaint);
  void warn(std::string line) { warnings_.push_back(std::move(line)); }
  /// A part of a value that means nothing. torchrun goes on without it, and what was written for
  /// torchrun, command lines and variables, must go on, too: it is warned of, and `otherwise` says
  /// what becomes of that part. What was written for Muster fails.
  void refuse_part(Flag flag, const std::string& complaint, std::string_view otherwise);
  /// For --explain: what other flags decided.
  void derive(Flag flag, std::string value, std::string source);

  /// None = nothing is wrong.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// Those of `raw` first.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Every flag that the dialect knows, in the order of the table.
  [[nodiscard]] std::vector<ExplainedOption> explained() const;

 private:
  /// Whether it was given by a word that only other programs understand. Then the default counts.
  bool is_foreign(const FlagRow& row, Options& options);

  const RawFlags& raw_;
  const Personality personality_;
  const RandomBytes& random_;
  std::vector<std::string> warnings_;
  std::map<Flag, ExplainedOption> derived_;
  std::optional<Error> error_;
};

}  // namespace muster::launcher
