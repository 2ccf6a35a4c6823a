#include "launcher/options/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "launcher/options/flag_search.h"
#include "launcher/options/verb_table.h"

namespace muster::launcher {

namespace {

// zsh runs functions for bash, once it is asked to.
constexpr std::string_view kZshHead = "autoload -U +X bashcompinit && bashcompinit\n";

// Walks over the words from `first` on, up to the program, whose arguments are not ours. Then
// either the value of `flag` is wanted, or a flag, or a file. bash takes "--flag=value" for three
// words, zsh for one.
constexpr std::string_view kWalk = R"sh(
  local word="${COMP_WORDS[COMP_CWORD]}" flag="" i=$first
  COMPREPLY=()
  while (( i < COMP_CWORD )); do
    flag="${COMP_WORDS[i]//_/-}"
    case "$flag" in
      --) return ;;
      =) (( i += 1 )) ;;
      -*)
        case " $with_value " in
          *" $flag "*)
            (( i += 1 ))
            if [[ "${COMP_WORDS[i]}" == "=" ]]; then (( i += 1 )); fi ;;
        esac ;;
      *) if [[ -n $program ]]; then return; fi ;;
    esac
    (( i += 1 ))
  done
  if (( i > COMP_CWORD )); then
    if [[ $word == "=" ]]; then word=""; fi
    COMPREPLY=( $(compgen -W "$(_%NAME%_values "$flag")" -- "$word") )
  elif [[ $word == --*=* ]]; then
    flag="${word%%=*}"
    COMPREPLY=( $(compgen -P "$flag=" -W "$(_%NAME%_values "${flag//_/-}")" -- "${word#*=}") )
  elif [[ $word == -* ]]; then
    COMPREPLY=( $(compgen -W "$flags" -- "${word//_/-}") )
  elif [[ -n $words ]]; then
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
  fi
}
complete -o bashdefault -o default -F _%NAME% %NAME%
)sh";

struct FlagLists {
  std::vector<std::string> names;
  std::vector<std::string> with_value;
};

FlagLists run_flags(Dialect dialect) {
  FlagLists lists;
  for (const FlagRow& row : flag_table()) {
    if (!is_known(row, dialect)) continue;
    std::vector<std::string> spelled = {long_name(row)};
    if (row.letter != 0) spelled.push_back(fmt::format("-{}", row.letter));
    lists.names.insert(lists.names.end(), spelled.begin(), spelled.end());
    if (!row.placeholder.empty())
      lists.with_value.insert(lists.with_value.end(), spelled.begin(), spelled.end());
  }
  return lists;
}

FlagLists flags_of(const VerbRow& verb) {
  FlagLists lists;
  if (verb.takes_run_flags) lists = run_flags(Dialect::kMuster);
  for (const VerbFlag& flag : verb.flags) {
    lists.names.emplace_back(flag.name);
    if (flag.takes_value) lists.with_value.emplace_back(flag.name);
  }
  if (!verb.takes_run_flags) lists.names.emplace_back("--help");
  return lists;
}

std::string values_function(Dialect dialect, std::string_view name) {
  std::string text = fmt::format("_{}_values() {{\n  case \"$1\" in\n", name);
  for (const FlagRow& row : flag_table()) {
    if (!is_known(row, dialect) || row.into.words.empty()) continue;
    const std::vector<std::string> words(row.into.words.begin(), row.into.words.end());
    text += fmt::format("    {}) echo \"{}\" ;;\n", long_name(row), join(words, " "));
  }
  return text + "  esac\n}\n";
}

/// `program`: the first word that is no flag ends the flags.
std::string assignments(const FlagLists& lists, bool program, const std::string& words) {
  return fmt::format("flags=\"{}\" with_value=\"{}\" program={} words=\"{}\"",
                     join(lists.names, " "), join(lists.with_value, " "), program ? "yes" : "",
                     words);
}

std::string choose_verb() {
  std::string text = R"sh(  if (( COMP_CWORD == 1 )); then
    COMPREPLY=( $(compgen -W "%VERBS% help --help --version" -- "${COMP_WORDS[1]}") )
    return
  fi
  local first=2 flags="" with_value="" program="" words=""
  case "${COMP_WORDS[1]}" in
)sh";
  std::vector<std::string> names;
  for (const VerbRow& verb : verb_table()) {
    names.emplace_back(verb.name);
    const std::vector<std::string> words(verb.words.begin(), verb.words.end());
    const bool runs_program = verb.takes_run_flags || (verb.flags.empty() && words.empty());
    text += fmt::format("    {}) {} ;;\n", verb.name,
                        assignments(flags_of(verb), runs_program, join(words, " ")));
  }
  const std::string_view mark = "%VERBS%";
  text.replace(text.find(mark), mark.size(), join(names, " "));
  return text + "  esac";
}

std::string walk(std::string_view name) {
  constexpr std::string_view kMark = "%NAME%";
  std::string text(kWalk);
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at))
    text.replace(at, kMark.size(), name);
  return text;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell, Dialect dialect) {
  if (std::ranges::find(kCompletedShells, shell) == kCompletedShells.end())
    return Error{Code::kUsage, 0, "'" + std::string(shell) + "' is not supported"};
  const bool muster = dialect == Dialect::kMuster;
  const std::string name = muster ? "muster" : "torchrun";
  const std::string begin =
      muster ? choose_verb() : "  local first=1 " + assignments(run_flags(dialect), true, "");
  return std::string(shell == "zsh" ? kZshHead : "") + values_function(dialect, name) + "_" + name +
         "() {\n" + begin + walk(name);
}

}  // namespace muster::launcher
