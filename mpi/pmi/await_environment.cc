#include "mpi/pmi/await_environment.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/exit_code.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

// Ends each variable.
constexpr char kEnd = '\0';

// Until its other end is closed, at most kMaxAwaitedBytes.
Result<std::string> read_all(int fd) {
  std::string text;
  while (true) {
    std::array<char, 4096> bytes;
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error("reading the variables of a rank");
    if (count == 0) return text;
    text.append(bytes.data(), static_cast<size_t>(count));
    if (text.size() > kMaxAwaitedBytes)
      return Error{Code::kLimit, 0, "a rank has more variables than fit"};
  }
}

}  // namespace

std::vector<std::string> await_words(int fd, const std::string& program,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"muster", std::string(kAwaitVerb), std::to_string(fd), program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string environment_text(const std::vector<std::string>& variables) {
  std::string text;
  for (const std::string& variable : variables) text += variable + kEnd;
  return text;
}

Result<std::vector<std::string>> parse_environment_text(std::string_view text) {
  if (text.empty()) return Error{Code::kPeer, 0, "the agent has no place for this rank"};
  if (text.back() != kEnd) return Error{Code::kProtocol, 0, "a variable is cut off"};
  text.remove_suffix(1);
  std::vector<std::string> variables;
  for (const std::string_view variable : split(text, kEnd)) {
    const auto entry = split_entry(variable);
    if (!entry || entry->first.empty())
      return Error{Code::kProtocol, 0, "'" + one_line(variable) + "' is no variable"};
    variables.emplace_back(variable);
  }
  return variables;
}

int run_await_verb(const std::vector<std::string>& words, const Environment& environment,
                   std::FILE* errors) {
  const auto number = words.empty() ? std::nullopt : parse_integer(words[0]);
  if (words.size() < 3 || !number || *number <= STDERR_FILENO)
    return complain(errors, "muster", "the verb await is for muster's own use", kExitUsage);
  UniqueFd fd(static_cast<int>(*number));
  const auto text = read_all(fd.get());
  if (!text) return complain(errors, "muster", text.error().text, kExitUnavailable);
  const auto variables = parse_environment_text(*text);
  if (!variables) return complain(errors, "muster", variables.error().text, kExitUnavailable);
  fd.reset();

  Environment ranked = environment;
  for (const std::string& variable : *variables) ranked.set_entry(variable);
  const Error why =
      become_program(words[1], {words.begin() + 2, words.end()}, ranked.to_exec_strings());
  return complain(errors, "muster", why.text, start_failure_code(why.os_errno));
}

}  // namespace muster::mpi
