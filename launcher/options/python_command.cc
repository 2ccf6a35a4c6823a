#include "launcher/options/python_command.h"

namespace muster::launcher {

namespace {

std::string_view blinding(char letter) {
  if (letter == 'I') return "-I";
  if (letter == 'E') return "-E";
  return letter == 'S' ? "-S" : "";
}

}  // namespace

PythonCommand read_python_command(std::span<const std::string> words) {
  PythonCommand command;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-") return command;
    if (word.starts_with("--")) {
      if (word != "--check-hash-based-pycs") return command;  // it prints something
      ++i;
      continue;
    }
    command.rest = i + 1;
    if (!word.starts_with('-')) {
      command.script = word;
      return command;
    }
    const size_t valued = word.find_first_of("mcXW", 1);
    for (const char letter : word.substr(1, valued - 1))
      if (command.blinding.empty()) command.blinding = blinding(letter);
    if (valued == std::string_view::npos) continue;
    // The value is never the program, even when it looks like it.
    std::string_view value = word.substr(valued + 1);
    if (value.empty() && ++i < words.size()) value = words[i];
    command.rest = i + 1;
    if (word[valued] == 'm') command.module = value;
    if (word[valued] == 'm' || word[valued] == 'c') return command;
  }
  return command;
}

}  // namespace muster::launcher
