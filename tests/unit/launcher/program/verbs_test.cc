#include "launcher/program/verbs.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace muster::launcher {
namespace {

struct Said {
  int exit_code = 0;
  std::string errors;
};

// Only of what is refused: whatever runs prepares this process for it.
Said refused(const std::vector<std::string>& words) {
  char* bytes = nullptr;
  size_t size = 0;
  std::FILE* errors = open_memstream(&bytes, &size);
  Said said;
  said.exit_code = run_verb(words, Environment(), stdout, errors);
  (void)std::fclose(errors);  // a buffer in memory
  said.errors.assign(bytes, size);
  std::free(bytes);
  return said;
}

TEST(Verbs, WhatIsNoneIsExplained) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "no verb given"},
      {{"muster"}, "no verb given"},
      {{"/usr/bin/muster", "frob"}, "unknown verb 'frob'"},
      {{"muster", "--nnodes", "2"}, "'--nnodes' is no verb: `muster run --nnodes ...`?"},
      {{"muster", "train.py"}, "'train.py' is no verb: `muster run train.py ...`?"},
      {{"muster", ""}, "no verb given"},
  };
  for (const auto& [words, complaint] : cases) {
    const Said said = refused(words);
    EXPECT_EQ(said.exit_code, 64);
    EXPECT_EQ(said.errors, "muster: " + complaint + "; `muster help` lists the verbs\n");
  }
}

TEST(Verbs, TheGuardiansIsNotForPeople) {
  EXPECT_EQ(refused({"muster", "guard"}).errors,
            "muster: unknown verb 'guard'; `muster help` lists the verbs\n");
}

TEST(Verbs, AwaitAndTendExplainThemselvesInVain) {
  for (const std::string verb : {"await", "tend"}) {
    const Said said = refused({"muster", verb});
    EXPECT_EQ(said.exit_code, 64);
    EXPECT_EQ(said.errors, "muster: the verb " + verb + " is for muster's own use\n");
  }
}

}  // namespace
}  // namespace muster::launcher
