#include "launcher/options/foreign_launcher.h"

#include <gtest/gtest.h>

#include "launcher/options/front_end.h"
#include "launcher/options/inner_launcher.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(ForeignLauncher, DeepspeedsScriptGetsItsLocalRank) {
  const auto command = read_foreign_program(
      "/usr/bin/deepspeed",
      Words{"--num_gpus=4", "--master_port", "1", "--no_ssh", "x.py", "--lr", "1"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->problem, "");
  EXPECT_EQ(command->arguments, (Words{"--nproc-per-node", "4", "--", "x.py",
                                       "--local_rank=${local_rank}", "--lr", "1"}));
  EXPECT_EQ(command->ignored, (Words{"--master-port", "--no-ssh"}));
  const auto module =
      read_foreign_program("deepspeed", Words{"--no_local_rank", "--module", "a.b", "x"});
  EXPECT_EQ(module->arguments, (Words{"--module", "--", "a.b", "x"}));
}

TEST(ForeignLauncher, HorovodrunCountsTheWorkersOfAllNodes) {
  const auto command = read_foreign_program(
      "horovodrun",
      Words{"-np", "4", "-H", "a:2,b:2", "--cycle-time-ms", "3", "--autotune", "python", "x.py"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->total_workers, 4);
  EXPECT_EQ(command->arguments,
            (Words{"--framework", "horovod", "--no-python", "--", "python", "x.py"}));
  EXPECT_EQ(command->environment, (Pairs{{"HOROVOD_CYCLE_TIME", "3"}, {"HOROVOD_AUTOTUNE", "1"}}));
  EXPECT_FALSE(read_foreign_program("horovodrun", Words{"--check-build"}));
  EXPECT_FALSE(
      read_foreign_program("horovodrun", Words{"-np", "2", "--host-discovery-script", "d"}));
}

TEST(ForeignLauncher, PaddlesDevicesAreWorkers) {
  const auto command = read_foreign_module("paddle.distributed.launch",
                                           Words{"--gpus", "2,3", "--log_dir", "l", "x.py"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->arguments, (Words{"--nproc-per-node", "2", "--log-dir", "l", "--framework",
                                       "paddle", "--", "x.py"}));
  EXPECT_EQ(command->environment, (Pairs{{"CUDA_VISIBLE_DEVICES", "2,3"}}));
}

TEST(ForeignLauncher, WhatCannotBeHadIsRefusedByName) {
  for (const auto& [words, problem] : std::vector<std::pair<Words, std::string>>{
           {{"--include", "a:0", "x.py"}, "--include is not supported here"},
           {{"--nosuch", "x.py"}, "--nosuch is not known here"},
           {{"--hostfile"}, "--hostfile: a value must follow"},
           {{"--num_gpus", "1"}, "it names no program"}}) {
    const auto command = read_foreign_program("deepspeed", words);
    ASSERT_TRUE(command);
    EXPECT_EQ(command->problem, problem);
  }
  const auto number = read_foreign_program("horovodrun", Words{"-np", "many", "x"});
  EXPECT_EQ(number->problem, "-np 'many': no number");
  EXPECT_FALSE(read_foreign_program("torchrun", Words{"x.py"}));
  EXPECT_FALSE(read_foreign_program("", Words{"x.py"}));
}

TEST(ForeignLauncher, WorkersOfAllNodesAreSharedOut) {
  const auto outer = scan_flags(Dialect::kMuster, Words{"--nnodes", "2", "x"}, {});
  const auto inner = find_inner_launcher(EntryKind::kProgram, "horovodrun", {"-np", "4", "x"});
  ASSERT_TRUE(inner);
  const auto merged = take_over(*outer, *inner, {});
  ASSERT_TRUE(merged) << merged.error().text;
  EXPECT_EQ(merged->find(flag::kNprocPerNode)->text, "2");
  EXPECT_EQ(merged->find(flag::kNnodes)->text, "2");
  ASSERT_EQ(merged->warnings.size(), 1U);
  const auto odd = find_inner_launcher(EntryKind::kProgram, "horovodrun", {"-np", "3", "x"});
  EXPECT_FALSE(take_over(*outer, *odd, {}));
}

TEST(FrontEnd, IsKnownByItsNameAndItsWord) {
  EXPECT_EQ(front_end_name(EntryKind::kProgram, "/venv/bin/accelerate", {"launch", "x.py"}),
            "accelerate launch");
  EXPECT_EQ(front_end_name(EntryKind::kProgram, "python3",
                           {"-u", "-m", "accelerate.commands.launch", "x"}),
            "accelerate-launch");
  EXPECT_EQ(front_end_name(EntryKind::kProgram, "python3", {"-Im", "accelerate.commands.launch"}),
            "accelerate-launch");
  EXPECT_FALSE(
      front_end_name(EntryKind::kProgram, "python3", {"x.py", "-m", "accelerate.commands.launch"}))
      << "an option of the script";
  EXPECT_EQ(front_end_name(EntryKind::kModule, "lightning.fabric.cli", {"run", "x.py"}),
            "fabric run");
  EXPECT_FALSE(front_end_name(EntryKind::kProgram, "accelerate", {"config"}));
  EXPECT_FALSE(front_end_name(EntryKind::kScript, "accelerate", {"launch"}));
  EXPECT_FALSE(front_end_name(EntryKind::kProgram, "python3", {"x.py"}));
  EXPECT_FALSE(front_end_name(EntryKind::kProgram, "bash", {"launch"}));
}

}  // namespace
}  // namespace muster::launcher
