#include "launcher/rsh/rsh_shell.h"

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "launcher/rsh/rsh_prologue.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kSh = "/bin/sh";
constexpr std::array<std::string_view, 4> kCshPaths = {"/bin/tcsh", "/bin/csh", "/usr/bin/tcsh",
                                                       "/usr/bin/csh"};
// Outside quotes each of these means something to some shell; '=' in the first word, too, and "~",
// "#" and "{" where a word begins.
constexpr std::string_view kSpecial = "$`\\|&;<>()*?[]!\n\r";
constexpr std::string_view kSpecialFirst = "~#{}";
// Between double quotes.
constexpr std::string_view kSpecialInQuotes = "$`\\!\n";

class Splitter {
 public:
  explicit Splitter(std::string_view command) : left_(command) {}

  std::optional<std::vector<std::string>> split() {
    while (!left_.empty()) {
      const char next = left_.front();
      left_.remove_prefix(1);
      if (next == ' ' || next == '\t') {
        end_word();
      } else if (!take(next)) {
        return std::nullopt;
      }
    }
    end_word();
    if (words_.empty()) return std::nullopt;
    return std::move(words_);
  }

 private:
  bool take(char next) {
    if (next == '"' || next == '\'') return take_quoted(next);
    const bool special = kSpecial.find(next) != std::string_view::npos;
    const bool first = !in_word_ && kSpecialFirst.find(next) != std::string_view::npos;
    if (special || first || (next == '=' && words_.empty())) return false;
    word_ += next;
    in_word_ = true;
    return true;
  }

  bool take_quoted(char quote) {
    const size_t end = left_.find(quote);
    if (end == std::string_view::npos) return false;
    const std::string_view inside = left_.substr(0, end);
    if (quote == '"' && inside.find_first_of(kSpecialInQuotes) != std::string_view::npos)
      return false;
    word_ += inside;
    in_word_ = true;
    left_.remove_prefix(end + 1);
    return true;
  }

  void end_word() {
    if (std::exchange(in_word_, false)) words_.push_back(std::exchange(word_, {}));
  }

  std::string_view left_;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

std::string find_csh(const Files& files, std::string_view login_shell) {
  if (language_of(login_shell) == RshShell::kCsh && files.exists(std::string(login_shell)))
    return std::string(login_shell);
  for (const std::string_view path : kCshPaths) {
    if (files.exists(std::string(path))) return std::string(path);
  }
  return "";
}

}  // namespace

RshShell language_of(std::string_view login_shell) {
  const std::string_view name = base_name(login_shell);
  return name == "csh" || name == "tcsh" ? RshShell::kCsh : RshShell::kSh;
}

std::optional<std::vector<std::string>> plain_words(std::string_view command) {
  return Splitter(command).split();
}

Result<RshProgram> program_for(const Files& files, RshShell shell, std::string_view login_shell,
                               const Environment& environment, const std::string& command) {
  if (shell == RshShell::kCsh) {
    const std::string path = find_csh(files, login_shell);
    // csh reads ~/.cshrc before a command: -f keeps it out, as sh reads nothing either.
    if (!path.empty()) return RshProgram{path, {path, "-f", "-c", command}, {}};
  }
  const bool is_csh = shell == RshShell::kCsh;
  const bool may_be_sh = !is_csh || plain_words(command).has_value();
  if (may_be_sh && files.exists(std::string(kSh)))
    return RshProgram{std::string(kSh), {std::string(kSh), "-c", command}, {}};
  RshPrologue prologue{{}, command};
  if (!is_csh) prologue = read_prologue(command, environment);
  auto words = plain_words(prologue.program);
  if (!words) {
    return Error{Code::kExec, ENOENT,
                 std::string("the command needs ") +
                     (is_csh ? "csh (the user's login shell where it was called)" : "/bin/sh") +
                     ", which is not here; a program with its arguments would not need it"};
  }
  Environment own = environment;
  for (const auto& [name, value] : prologue.variables) own.set(name, value);
  auto program = find_program(files, words->front(), own.get("PATH").value_or(""));
  if (!program) return std::move(program).error();
  return RshProgram{std::move(*program), std::move(*words), std::move(prologue.variables)};
}

}  // namespace muster::launcher
