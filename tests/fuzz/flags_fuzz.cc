// Fuzz target of the command line: words separated by NUL; the first one's first byte chooses the
// personality, words that begin with '=' are variables ("=PET_NNODES=2"). Whatever is accepted must
// be accepted again when written out as --explain shows it, with the same meaning.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "launcher/options/entry_kind.h"
#include "launcher/options/flag_text.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/workers/worker_command.h"

namespace {

using namespace muster;
using namespace muster::launcher;

constexpr RandomBytes kRandom = {1, 2, 3};

struct Input {
  Invocation invocation;
  Environment environment;
};

Input read_input(std::string_view bytes) {
  Input input;
  const auto words = split(bytes, '\0');
  const bool torchrun = words.front().starts_with('t');
  input.invocation.personality = torchrun ? Personality::kTorchrun : Personality::kMuster;
  input.invocation.called_as = words.front();
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=', 1);
    if (words[i].starts_with('=') && equals != std::string_view::npos) {
      input.environment.set(words[i].substr(1, equals - 1), words[i].substr(equals + 1));
    } else {
      input.invocation.words.emplace_back(words[i]);
    }
  }
  return input;
}

/// The flags as read_command_line() sees them, for a second look at what it accepted.
Result<RawFlags> scan(const Input& input) {
  const bool torchrun = input.invocation.personality == Personality::kTorchrun;
  auto raw = scan_flags(torchrun ? Dialect::kTorchrun : Dialect::kMuster, input.invocation.words,
                        input.environment);
  if (!raw || torchrun || !raw->program) return raw;
  for (int depth = 0; raw && raw->program && depth < kMaxInnerLaunchers; ++depth) {
    const auto inner = find_inner_launcher(entry_kind(*raw), *raw->program, raw->arguments);
    if (!inner) break;
    raw = take_over(*raw, *inner, input.environment);
    if (inner->name != kMusterRun) break;
  }
  return raw;
}

/// Without what --explain shows besides flags, such as the interpreter that was found.
std::vector<ExplainedOption> explained_flags(const Options& options) {
  std::vector<ExplainedOption> flags;
  for (const ExplainedOption& option : options.explained)
    if (option.flag.starts_with('-')) flags.push_back(option);
  return flags;
}

std::vector<std::string> written_out(const Options& options) {
  std::vector<std::string> words;
  for (const ExplainedOption& option : explained_flags(options)) {
    // Standalone mode leaves the port open, which no value of the flag can say.
    const bool open_port = option.flag == "--master-port" && option.value.empty();
    if (option.source != "default" && !open_port) words.push_back(option.flag + "=" + option.value);
  }
  if (options.program.empty() && options.arguments.empty()) return words;
  words.emplace_back("--");
  words.push_back(options.program);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  return words;
}

void check_written_out(const Options& options, Dialect dialect) {
  const auto words = written_out(options);
  const auto raw = scan_flags(dialect, words, Environment());
  MUSTER_CHECK(raw);
  const auto again = resolve_options(*raw, options.personality, kRandom);
  MUSTER_CHECK(again);
  const auto expected = explained_flags(options);
  const auto read = explained_flags(*again);
  MUSTER_CHECK(read.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    MUSTER_CHECK(read[i].flag == expected[i].flag && read[i].value == expected[i].value);
  }
  MUSTER_CHECK(again->entry == options.entry && again->launch_py == options.launch_py);
  MUSTER_CHECK(again->program == options.program && again->arguments == options.arguments);
}

void check_bounds(const Options& options) {
  MUSTER_CHECK(0 < options.min_nodes && options.min_nodes <= options.max_nodes);
  MUSTER_CHECK(options.workers_per_node.number > 0 && options.max_restarts >= 0);
  MUSTER_CHECK(options.grace_period >= Duration::zero() && !options.run_id.empty());
  MUSTER_CHECK(!options.standalone || options.max_nodes == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Input input = read_input({reinterpret_cast<const char*>(data), size});
  const auto command_line = read_command_line(input.invocation, input.environment, kRandom);
  if (!command_line) {
    MUSTER_CHECK(command_line.error().code == Code::kUsage);
    MUSTER_CHECK(!command_line.error().text.empty());
    MUSTER_CHECK(command_line.error().text.find('\n') == std::string::npos);
    return 0;
  }
  const auto raw = scan(input);
  MUSTER_CHECK(raw);
  if (raw->request) return 0;
  const Options& options = command_line->options;
  check_bounds(options);
  check_written_out(options, raw->dialect);
  MUSTER_CHECK(explain_text(options).ends_with('\n'));
  const WorkerCommand command{"x", options.arguments};
  MUSTER_CHECK(command.arguments({7}).size() == options.arguments.size());
  return 0;
}
