#include "launcher/options/front_end.h"

#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/options/python_command.h"

namespace muster::launcher {

namespace {

struct FrontEnd {
  std::string_view program;
  std::string_view module;   // the same as a module; "" = there is none
  std::string_view command;  // its first word that launches; "" = any
};

// Each was read: it ends in torch.distributed.run or elastic_launch.
constexpr FrontEnd kFrontEnds[] = {{"accelerate", "accelerate.commands.accelerate_cli", "launch"},
                                   {"accelerate-launch", "accelerate.commands.launch", ""},
                                   {"fabric", "lightning.fabric.cli", "run"},
                                   {"lightning", "lightning", "run"},
                                   {"trl", "trl.cli", ""},
                                   {"tune", "torchtune._cli.tune", "run"}};

std::optional<std::string> find(std::string_view name, const std::vector<std::string>& words,
                                std::string_view FrontEnd::*of) {
  for (const FrontEnd& known : kFrontEnds) {
    if (name.empty() || known.*of != name) continue;
    if (known.command.empty()) return std::string(known.program);
    if (words.empty() || words.front() != known.command) return std::nullopt;
    return std::string(known.program) + " " + std::string(known.command);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> front_end_name(EntryKind kind, const std::string& program,
                                          const std::vector<std::string>& arguments) {
  if (kind == EntryKind::kModule) return find(program, arguments, &FrontEnd::module);
  if (kind != EntryKind::kProgram) return std::nullopt;
  if (!is_python(program)) return find(base_name(program), arguments, &FrontEnd::program);
  const PythonCommand command = read_python_command(arguments);
  if (command.module.empty()) return std::nullopt;
  const auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(command.rest);
  return find(command.module, std::vector<std::string>(rest, arguments.end()), &FrontEnd::module);
}

}  // namespace muster::launcher
