// The script for completion. What bash makes of it: tests/integration/test_completion.py.
#include "launcher/options/completion.h"

#include <gtest/gtest.h>

#include <string>

#include "launcher/options/flag_search.h"
#include "launcher/options/verb_table.h"

namespace muster::launcher {
namespace {

std::string script(std::string_view shell, Dialect dialect) {
  auto text = completion_script(shell, dialect);
  return text ? *std::move(text) : "error: " + text.error().text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Completion, KnowsEveryFlagOfItsDialect) {
  for (const Dialect dialect : {Dialect::kMuster, Dialect::kTorchrun}) {
    const std::string text = script("bash", dialect) + " ";
    for (const FlagRow& row : flag_table()) {
      const bool known = has(text, long_name(row) + " ") || has(text, long_name(row) + "\"");
      EXPECT_EQ(known, is_known(row, dialect)) << row.name;
    }
  }
}

TEST(Completion, KnowsTheVerbsOfMusterOnly) {
  const std::string muster = script("bash", Dialect::kMuster);
  const std::string torchrun = script("bash", Dialect::kTorchrun);
  for (const VerbRow& verb : verb_table()) {
    EXPECT_TRUE(has(muster, "    " + std::string(verb.name) + ") flags=")) << verb.name;
    EXPECT_FALSE(has(torchrun, "    " + std::string(verb.name) + ") flags=")) << verb.name;
  }
  EXPECT_TRUE(muster.ends_with("complete -o bashdefault -o default -F _muster muster\n"));
  EXPECT_TRUE(torchrun.ends_with("complete -o bashdefault -o default -F _torchrun torchrun\n"));
}

TEST(Completion, KnowsTheWordsOfFlags) {
  EXPECT_TRUE(has(script("bash", Dialect::kMuster),
                  "    --framework) echo \"auto pytorch mpi xgboost tensorflow jax horovod "
                  "lightgbm paddle plain\" ;;\n"));
  EXPECT_TRUE(has(script("bash", Dialect::kTorchrun),
                  "    --start-method) echo \"spawn fork forkserver\""));
}

TEST(Completion, ZshRunsTheSameScript) {
  EXPECT_EQ(script("zsh", Dialect::kMuster),
            "autoload -U +X bashcompinit && bashcompinit\n" + script("bash", Dialect::kMuster));
  EXPECT_EQ(script("fish", Dialect::kMuster), "error: 'fish' is not supported");
}

TEST(Completion, TheHelpNamesEveryVerbInAColumn) {
  const std::string help = verbs_help();
  EXPECT_TRUE(help.starts_with("usage: muster VERB [flags] ...\n\n  run [flags] "));
  EXPECT_TRUE(has(help, "\n  store [--port N] [--host ADDRESS]             only the TCPStore-"));
  for (const VerbRow& verb : verb_table())
    EXPECT_TRUE(has(help, "\n  " + std::string(verb.name) + " ")) << verb.name;
}

}  // namespace
}  // namespace muster::launcher
