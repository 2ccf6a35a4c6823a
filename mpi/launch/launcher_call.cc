#include "mpi/launch/launcher_call.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

namespace {

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 7> kShells = {"sh",  "bash", "dash",   "ash",
                                                     "ksh", "zsh",  "busybox"};
// Programs that become, or start, the program that follows their options.
constexpr std::array<std::string_view, 10> kWrappers = {"env",    "timeout",  "nice",   "nohup",
                                                        "stdbuf", "setsid",   "ionice", "numactl",
                                                        "tini",   "dumb-init"};
constexpr std::array<std::string_view, 2> kPrinters = {"echo", "printf"};

bool is_shell(std::string_view path) { return is_one_of(kShells, base_name(path)); }

// A word ends at each of these; '=' because of MPIRUN=mpirun, '$' because of $(mpirun ...).
constexpr std::string_view kWordEnds = " \t\r\n;&|(){}<>`'\"=$";
constexpr std::string_view kCommandEnds = "\n;&|()`";

// One pass over the text, a character at a time.
class CallFinder {
 public:
  std::optional<std::string> find(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote_ == 0 && c == '#' && at_word_start_) {
        i = std::min(text.find('\n', i), text.size()) - 1;
        continue;
      }
      if (c == '\\' && i + 1 < text.size()) {
        if (text[++i] != '\n') word_ += text[i];
        continue;
      }
      if (kWordEnds.find(c) == std::string_view::npos) {
        word_ += c;
        at_word_start_ = false;
        continue;
      }
      if (end_word()) return word_;
      word_.clear();
      at_word_start_ = c != '=' && c != '$' && c != '{';
      read_mark(c);
    }
    return end_word() ? std::optional(word_) : std::nullopt;
  }

 private:
  // True: the word is a launcher that is called.
  bool end_word() {
    if (word_.empty()) return false;
    if (first_) prints_ = is_one_of(kPrinters, word_);
    first_ = false;
    return !prints_ && is_launcher_name(base_name(word_));
  }

  void read_mark(char c) {
    if (quote_ == 0 && (c == '\'' || c == '"')) {
      quote_ = c;
    } else if (quote_ == c) {
      quote_ = 0;
    } else if (kCommandEnds.find(c) != std::string_view::npos && (quote_ == 0 || !prints_)) {
      first_ = true;
      prints_ = false;
    }
  }

  std::string word_;
  char quote_ = 0;
  bool at_word_start_ = true;
  bool first_ = true;    // word of a command
  bool prints_ = false;  // the command's words are only written
};

// The words of a shell, from its name on.
void read_shell_words(const std::vector<std::string>& words, size_t at, ShellCommand& command) {
  bool has_text = false;
  for (size_t i = at + 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool option = word.size() > 1 && (word[0] == '-' || word[0] == '+');
    if (!option) {
      // `busybox sh`
      if (i == at + 1 && is_shell(word)) return read_shell_words(words, i, command);
      (has_text ? command.text : command.script_path) = word;
      return;
    }
    if (word.starts_with("--")) continue;
    has_text = has_text || word.find('c') != std::string::npos;
    if (word.back() == 'o' || word.back() == 'O') ++i;  // -o pipefail
  }
}

}  // namespace

std::optional<std::string> find_launcher_call(std::string_view shell_text) {
  return CallFinder().find(shell_text.substr(0, kMaxScriptBytes));
}

ShellCommand parse_shell_command(const std::vector<std::string>& words) {
  ShellCommand command;
  if (words.empty()) return command;
  if (!is_one_of(kWrappers, base_name(words[0])) && !is_shell(words[0])) {
    command.script_path = words[0];
    return command;
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (is_launcher_name(base_name(words[i]))) {
      command.launcher = words[i];
      return command;
    }
    if (!is_shell(words[i])) continue;
    read_shell_words(words, i, command);
    return command;
  }
  return command;
}

bool is_shell_script(std::string_view content) {
  if (!content.starts_with("#!")) return false;
  const auto words = words_of(content.substr(2, content.find('\n') - 2));
  return std::any_of(words.begin(), words.end(), is_shell);
}

}  // namespace muster::mpi
