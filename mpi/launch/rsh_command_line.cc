#include "mpi/launch/rsh_command_line.h"

#include <string_view>
#include <utility>

namespace muster::mpi {

namespace {

// ssh(1), OpenSSH 10.0: the letters of its getopt string, with and without a value.
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopPQRSWw";
constexpr std::string_view kWithoutValue = "1246AaCfGgKkMNnqsTtVvXxYy";

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Status check_size(std::string_view what, size_t bytes, size_t most) {
  if (bytes <= most) return {};
  return Error{Code::kLimit, 0,
               std::string(what) + " of " + std::to_string(bytes) + " bytes, at most " +
                   std::to_string(most)};
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) {}

  Result<RshCommandLine> read() {
    MUSTER_RETURN_IF_ERROR(read_options());
    if (next_ == words_.size()) return usage("no host given");
    MUSTER_RETURN_IF_ERROR(read_host(words_[next_++]));
    MUSTER_RETURN_IF_ERROR(read_options());
    if (next_ == words_.size()) {
      return usage("no command for host '" + line_.host + "'; there are no logins, only commands");
    }
    MUSTER_RETURN_IF_ERROR(read_command());
    if (line_.command.empty()) return usage("an empty command for host '" + line_.host + "'");
    return std::move(line_);
  }

 private:
  // Until a word that is none; "--" is the last.
  Status read_options() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_];
      if (word.size() < 2 || word.front() != '-') return {};
      ++next_;
      if (word == "--") return {};
      MUSTER_RETURN_IF_ERROR(read_bundle(word));
    }
    return {};
  }

  Status read_bundle(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const char letter = word[i];
      if (kWithoutValue.find(letter) != std::string_view::npos) {
        if (letter == 'n') line_.no_stdin = true;
        continue;
      }
      if (kWithValue.find(letter) == std::string_view::npos)
        return usage("'" + word + "' is no option of ssh");
      std::string value = word.substr(i + 1);
      if (value.empty()) {
        if (next_ == words_.size()) return usage("'" + word + "' needs a value");
        value = words_[next_++];
      }
      if (letter == 'l') return set_user(std::move(value));
      return {};
    }
    return {};
  }

  Status set_user(std::string user) {
    if (user.empty()) return usage("the user's name is empty");
    MUSTER_RETURN_IF_ERROR(check_size("a user's name", user.size(), kMaxRshUserBytes));
    line_.user = std::move(user);
    return {};
  }

  // As ssh, at the last '@': a user's name may hold one.
  Status read_host(const std::string& word) {
    const size_t at = word.rfind('@');
    if (at != std::string::npos) MUSTER_RETURN_IF_ERROR(set_user(word.substr(0, at)));
    line_.host = at == std::string::npos ? word : word.substr(at + 1);
    if (line_.host.empty()) return usage("the host's name is empty");
    return check_size("a host's name", line_.host.size(), kMaxRshHostBytes);
  }

  Status read_command() {
    line_.command_at = next_;
    size_t bytes = words_.size() - next_ - 1;
    for (size_t i = next_; i < words_.size(); ++i) bytes += words_[i].size();
    MUSTER_RETURN_IF_ERROR(check_size("a command", bytes, kMaxRshCommandBytes));
    line_.command.reserve(bytes);
    for (size_t i = next_; i < words_.size(); ++i) {
      if (i != next_) line_.command += ' ';
      line_.command += words_[i];
    }
    return {};
  }

  const std::vector<std::string>& words_;
  size_t next_ = 0;
  RshCommandLine line_;
};

}  // namespace

Result<RshCommandLine> parse_rsh_command_line(const std::vector<std::string>& words) {
  return Reader(words).read();
}

}  // namespace muster::mpi
