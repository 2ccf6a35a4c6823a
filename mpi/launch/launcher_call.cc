#include "mpi/launch/launcher_call.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

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
constexpr std::array<std::string_view, 15> kWrappers = {
    "env",  "timeout",   "nice", "nohup", "stdbuf", "setsid", "ionice", "numactl",
    "tini", "dumb-init", "exec", "time",  "sudo",   "eval",   "command"};
// A command may still begin behind these.
constexpr std::array<std::string_view, 13> kOpeners = {
    "if", "then", "else",   "elif",  "do",       "while",  "until",
    "!",  "{",    "export", "local", "readonly", "declare"};
// Their words are only written or looked for.
constexpr std::array<std::string_view, 11> kTellers = {
    "echo", "printf", "which", "type", "hash", "[", "[[", "test", "whereis", "ls", "grep"};
constexpr std::array<std::string_view, 8> kQuestions = {"--version", "-version", "-V",    "--help",
                                                        "-help",     "-h",       "-info", "--info"};

bool is_shell(std::string_view path) { return is_one_of(kShells, base_name(path)); }

bool is_question(std::string_view word) { return is_one_of(kQuestions, word); }

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kEnds = "\n;&|()`<>";  // of a command, but for the last two

struct Token {
  std::string word;  // without quotes; "" = the end of a command, or its beginning inside another
  char end = 0;
  bool quoted = false;
};

// The words of a text, also of those that are one word for the shell.
class Tokens {
 public:
  static std::vector<Token> of(std::string_view text) {
    Tokens tokens;
    for (size_t i = 0; i < text.size(); ++i) i = tokens.read(text, i);
    tokens.end_word();
    return std::move(tokens.found_);
  }

 private:
  // What is at `i`; the last character of it.
  size_t read(std::string_view text, size_t i) {
    const char c = text[i];
    if (c == '#' && quote_ == 0 && !open_) return std::min(text.find('\n', i), text.size()) - 1;
    if (c == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != '\n') add(text[i + 1]);
      return i + 1;
    }
    if (c == '$' && text.substr(i + 1).starts_with('{')) {
      const size_t end = std::min(text.find('}', i), text.size() - 1);
      for (size_t at = i; at <= end; ++at) add(text[at]);
      return end;
    }
    const bool is_quote = c == '\'' || c == '"';
    if (is_quote && (quote_ == 0 || quote_ == c)) {
      quote_ = quote_ == 0 ? c : 0;
      open_ = true;
    } else if (kEnds.find(c) != std::string_view::npos) {
      end_word();
      found_.push_back({.word = "", .end = c, .quoted = quote_ != 0});
    } else if (kBlanks.find(c) != std::string_view::npos) {
      end_word();
    } else {
      add(c);
    }
    return i;
  }

  void add(char c) {
    if (word_.empty()) quoted_ = quote_ != 0;
    word_ += c;
    open_ = true;
  }

  void end_word() {
    if (!word_.empty()) found_.push_back({.word = std::exchange(word_, {}), .quoted = quoted_});
    open_ = false;
  }

  std::vector<Token> found_;
  std::string word_;
  char quote_ = 0;
  bool quoted_ = false;  // the word began inside quotes
  bool open_ = false;    // no blank is before what comes
};

class CallFinder {
 public:
  explicit CallFinder(std::string_view text) : tokens_(Tokens::of(text)) {}

  std::optional<std::string> find() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& token = tokens_[at_];
      if (token.word.empty()) {
        end_command(token);
      } else if (auto called = read(token.word)) {
        return called;
      }
    }
    return std::nullopt;
  }

 private:
  enum class Place { kBegin, kBehindWrapper, kArgument, kTold };

  void end_command(const Token& token) {
    if (token.end == '<' || token.end == '>') return;
    if (token.quoted && place_ == Place::kTold) return;
    if (token.end == ')' || token.end == '\n') assigned_.clear();
    place_ = Place::kBegin;
  }

  // A launcher that is called here.
  std::optional<std::string> read(const std::string& word) {
    const size_t equals = place_ == Place::kBegin ? word.find('=') : std::string::npos;
    const std::string name = launcher_in(word.substr(equals == std::string::npos ? 0 : equals + 1));
    if (equals != std::string::npos) {
      // CMD="mpirun -n 2 ./a.out"; MPIRUN=mpirun; and what follows in MPIRUN=$(which mpirun).
      const Token* const next = following();
      if (!name.empty() && next != nullptr && next->quoted && !is_question(next->word)) return name;
      assigned_ = word.substr(0, equals);
      if (!name.empty()) launchers_[assigned_] = name;
      return std::nullopt;
    }
    if (!name.empty() && is_call()) return name;
    if (!name.empty() && !assigned_.empty()) launchers_[assigned_] = name;
    step(word);
    return std::nullopt;
  }

  // "" = it is none. ${MPIRUN:-mpirun} is mpirun, too.
  [[nodiscard]] std::string launcher_in(std::string word) const {
    if (word.starts_with('$')) {
      std::erase_if(word, [](char c) { return c == '$' || c == '{' || c == '}'; });
      const size_t colon = std::min(word.find(":-"), word.size());
      const auto set = launchers_.find(word.substr(0, colon));
      word = set != launchers_.end() ? set->second : word.substr(std::min(colon + 2, word.size()));
    }
    return is_launcher_name(base_name(word)) ? word : "";
  }

  [[nodiscard]] const Token* following() const {
    const bool has = at_ + 1 < tokens_.size() && !tokens_[at_ + 1].word.empty();
    return has ? &tokens_[at_ + 1] : nullptr;
  }

  // Something to start follows the name.
  [[nodiscard]] bool is_call() const {
    const Token* const next = following();
    if (place_ == Place::kTold || next == nullptr || is_question(next->word)) return false;
    const bool is_descriptor = at_ + 2 < tokens_.size() && tokens_[at_ + 2].end == '>' &&
                               next->word.find_first_not_of("0123456789") == std::string::npos;
    return !is_descriptor && (place_ != Place::kArgument || next->word.starts_with('-'));
  }

  void step(const std::string& word) {
    const bool asks = word == "-v" && at_ > 0 && tokens_[at_ - 1].word == "command";
    if (asks || (place_ == Place::kBegin && is_one_of(kTellers, word))) {
      place_ = Place::kTold;
    } else if (place_ == Place::kBegin && !is_one_of(kOpeners, word)) {
      const bool passes_on = is_one_of(kWrappers, base_name(word)) || is_shell(word);
      place_ = passes_on ? Place::kBehindWrapper : Place::kArgument;
    }
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  Place place_ = Place::kBegin;
  std::string assigned_;                          // the variable whose value may come
  std::map<std::string, std::string> launchers_;  // by the variable that names them
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
  return CallFinder(shell_text.substr(0, kMaxScriptBytes)).find();
}

ShellCommand parse_shell_command(const std::vector<std::string>& words) {
  ShellCommand command;
  if (words.empty()) return command;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (!is_launcher_name(base_name(words[i]))) continue;
    command.launcher = words[i];
    return command;
  }
  if (!is_one_of(kWrappers, base_name(words[0])) && !is_shell(words[0])) {
    command.script_path = words[0];
    return command;
  }
  const auto shell = std::ranges::find_if(words, is_shell);
  if (shell != words.end())
    read_shell_words(words, static_cast<size_t>(shell - words.begin()), command);
  return command;
}

bool is_shell_script(std::string_view content) {
  if (!content.starts_with("#!")) return false;
  const auto words = words_of(content.substr(2, content.find('\n') - 2));
  return std::any_of(words.begin(), words.end(), is_shell);
}

}  // namespace muster::mpi
