#include "launcher/options/flag_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "launcher/options/flag_search.h"

namespace muster::launcher {

namespace {

constexpr size_t kHelpColumn = 34;  // fits most names with their placeholder
constexpr size_t kWidestCell = 48;  // a longer value pushes its source aside, not everyone's

constexpr std::string_view kUsageOfMuster =
    "usage: muster run [flags] [--] SCRIPT.py|PROGRAM [arguments]\n";
constexpr std::string_view kUsageOfTorchrun = "usage: torchrun [flags] SCRIPT [arguments]\n";
constexpr std::string_view kHelpFooter = R"(
Values: --flag VALUE or --flag=VALUE; '_' and '-' are alike; a unique beginning of a name will do.
Flags end at the program; what follows it is passed on, with ${local_rank} replaced
(and $$, which becomes $).
Variables: MUSTER_<FLAG> for each flag, else PET_<FLAG> for torchrun's; the command line wins.
MUSTER_JOB_SECRET_FILE names a file with the job's secret, the same on all nodes: only who has it
can join the job, ask it or run commands in it.
)";

/// "-r, --redirects MASK".
std::string synopsis(const FlagRow& row) {
  std::string text = row.letter == 0 ? "    " : fmt::format("-{}, ", row.letter);
  text += long_name(row);
  if (!row.placeholder.empty()) text += fmt::format(" {}", row.placeholder);
  return text;
}

/// " (default 30, variable X)" or "".
std::string remark(const FlagRow& row, Dialect dialect) {
  std::vector<std::string> parts;
  const std::string_view value = default_text(row, dialect);
  if (!value.empty() && row.no_effect.why.empty()) {
    parts.push_back(fmt::format("default {}", value));
  }
  for (const std::string_view name : {row.other_variable, row.foreign.variable}) {
    if (!name.empty()) parts.push_back(fmt::format("variable {}", name));
  }
  return parts.empty() ? "" : " (" + join(parts, ", ") + ")";
}

std::string help_line(const FlagRow& row, Dialect dialect) {
  const std::string left = "  " + synopsis(row);
  const std::string gap = left.size() + 2 > kHelpColumn
                              ? "\n" + std::string(kHelpColumn, ' ')
                              : std::string(kHelpColumn - left.size(), ' ');
  return left + gap + std::string(row.help) + remark(row, dialect) + "\n";
}

std::string markdown_code(std::string_view text) {
  if (text.empty()) return "";
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return "`" + escaped + "`";
}

std::string markdown_default(const FlagRow& row) {
  const std::string_view ours = default_text(row, Dialect::kMuster);
  const std::string_view theirs = default_text(row, Dialect::kTorchrun);
  if (ours == theirs) return markdown_code(ours);
  return (ours.empty() ? "none" : markdown_code(ours)) + ", as torchrun " + markdown_code(theirs);
}

std::string markdown_row(const FlagRow& row) {
  std::string flag = row.letter == 0 ? "" : fmt::format("`-{}`, ", row.letter);
  flag += markdown_code(long_name(row) + (row.placeholder.empty() ? "" : " ") +
                        std::string(row.placeholder));
  std::vector<std::string> variables;
  for (const std::string& name :
       {muster_variable(row), torchrun_variable(row), std::string(row.other_variable),
        std::string(row.foreign.variable)}) {
    if (!name.empty()) variables.push_back(markdown_code(name));
  }
  return fmt::format("| {} | {} | {} | {} |\n", flag, row.help, markdown_default(row),
                     join(variables, ", "));
}

using Line = std::array<std::string, 3>;

std::string_view kind_word(EntryKind kind) {
  switch (kind) {
    case EntryKind::kScript:
      return "script";
    case EntryKind::kModule:
      return "module";
    case EntryKind::kProgram:
      return "program";
    case EntryKind::kRunPath:
      return "script, by runpy";
  }
  return "";
}

std::vector<Line> explain_lines(const Options& options) {
  std::vector<Line> lines = {{"flag", "value", "source"}};
  for (const ExplainedOption& option : options.explained) {
    const std::string value = option.value.empty() ? "-" : quote_if_needed(option.value);
    lines.push_back({option.flag, value, option.source});
  }
  if (!options.program.empty()) {
    std::vector<std::string> command = {options.program};
    command.insert(command.end(), options.arguments.begin(), options.arguments.end());
    const std::string text = shell_join(command);
    const bool printable = std::ranges::none_of(text, [](char c) { return c >= 0 && c < ' '; });
    lines.push_back({"command", printable ? text : quote_if_needed(text),
                     std::string(kind_word(options.entry))});
  }
  return lines;
}

size_t column_width(const std::vector<Line>& lines, size_t column) {
  size_t width = 0;
  for (const Line& line : lines)
    width = std::max(width, std::min(line[column].size(), kWidestCell));
  return width;
}

}  // namespace

std::string help_text(Dialect dialect) {
  std::string text(dialect == Dialect::kMuster ? kUsageOfMuster : kUsageOfTorchrun);
  std::string_view title;
  for (const FlagGroup* group : flag_groups()) {
    if (title != group->title) text += fmt::format("\n{}:\n", group->title);
    title = group->title;
    for (const FlagRow& row : group->rows) {
      if (is_known(row, dialect)) text += help_line(row, dialect);
    }
  }
  return text + std::string(kHelpFooter);
}

std::string help_markdown() {
  std::string text = "| Flag | Meaning | Default | Variables |\n|---|---|---|---|\n";
  for (const FlagRow& row : flag_table()) {
    if (is_known(row, Dialect::kMuster)) text += markdown_row(row);
  }
  return text;
}

std::string version_text(Personality personality) {
  return personality == Personality::kTorchrun ? "torchrun (muster " MUSTER_VERSION ")\n"
                                               : "muster " MUSTER_VERSION "\n";
}

std::string explain_text(const Options& options) {
  const std::vector<Line> lines = explain_lines(options);
  const size_t flag_width = column_width(lines, 0);
  const size_t value_width = column_width(lines, 1);
  std::string text;
  for (const auto& [flag, value, source] : lines) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", flag, flag_width, value, value_width, source);
  }
  for (const std::string& warning : options.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace muster::launcher
