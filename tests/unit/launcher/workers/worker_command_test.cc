// argv of the workers and the choice of their interpreter.
#include "launcher/workers/worker_command.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using testing::FakeFiles;
using Words = std::vector<std::string>;

Environment environment_of(const std::vector<std::pair<std::string, std::string>>& variables) {
  Environment environment;
  environment.set("PATH", "/usr/bin:/bin");
  for (const auto& [name, value] : variables) environment.set(name, value);
  return environment;
}

Options options_for(EntryKind entry, const std::string& program, const Words& arguments = {}) {
  Options options;
  options.entry = entry;
  options.program = program;
  options.arguments = arguments;
  return options;
}

// A machine with python3 in /usr/bin, a tool and scripts.
FakeFiles machine() {
  FakeFiles files;
  for (const char* script : {"/s.py", "/s0.py", "/a/s.py"}) files.add_file(script, "");
  files.add_executable("/usr/bin/python3");
  files.add_executable("/usr/bin/tool");
  return files;
}

std::string interpreter_of(const Options& options, const Environment& environment,
                           const FakeFiles& files) {
  const auto command = plan_worker_command(options, environment, files);
  return command ? command->program : command.error().text;
}

TEST(WorkerCommand, ScriptsAndModulesRunUnbuffered) {
  const FakeFiles files = machine();
  const auto script = plan_worker_command(options_for(EntryKind::kScript, "s.py", {"--lr", "1"}),
                                          environment_of({}), files);
  ASSERT_TRUE(script);
  EXPECT_EQ(script->program, "/usr/bin/python3");
  EXPECT_EQ(script->arguments({0}), (Words{"/usr/bin/python3", "-u", "s.py", "--lr", "1"}));
  const auto module = plan_worker_command(options_for(EntryKind::kModule, "pkg.mod", {"x"}),
                                          environment_of({}), files);
  EXPECT_EQ(module->arguments({0}), (Words{"/usr/bin/python3", "-u", "-m", "pkg.mod", "x"}));
}

TEST(WorkerCommand, ProgramsRunAsTheyAre) {
  const FakeFiles files = machine();
  const auto command = plan_worker_command(options_for(EntryKind::kProgram, "tool", {"-c", "a b"}),
                                           environment_of({}), files);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->program, "/usr/bin/tool");
  EXPECT_EQ(command->arguments({0}), (Words{"tool", "-c", "a b"}));
}

TEST(WorkerCommand, AFolderThatPythonRunsIsAScriptUnlessAProgramHasItsName) {
  FakeFiles files = machine();
  files.add_file("/pkg/__main__.py", "");
  files.add_file("/tool/__main__.py", "");
  files.add_directory("/other");
  const auto words_of = [&files](const std::string& name) {
    const auto command = plan_worker_command(options_for(EntryKind::kProgram, name, {"x"}),
                                             environment_of({}), files);
    return command ? command->arguments({0}) : Words{command.error().text};
  };
  EXPECT_EQ(words_of("/pkg"), (Words{"/usr/bin/python3", "-u", "/pkg", "x"}));
  EXPECT_EQ(words_of("pkg"), (Words{"/usr/bin/python3", "-u", "pkg", "x"}));
  EXPECT_EQ(words_of("tool"), (Words{"tool", "x"}));
  EXPECT_EQ(words_of("/other").size(), 1u);  // an error
}

TEST(WorkerCommand, RunPathCallsRunpyWithTheScriptAsFirstArgument) {
  const FakeFiles files = machine();
  const auto command = plan_worker_command(options_for(EntryKind::kRunPath, "/a/s.py", {"x"}),
                                           environment_of({}), files);
  ASSERT_TRUE(command);
  const Words words = command->arguments({0});
  ASSERT_EQ(words.size(), 6U);
  EXPECT_EQ(words[2], "-c");
  EXPECT_NE(words[3].find("runpy.run_path(sys.argv[0], run_name='__main__')"), std::string::npos);
  EXPECT_EQ(words[4], "/a/s.py");
  EXPECT_EQ(words[5], "x");
}

TEST(WorkerCommand, TheLocalRankIsPutInEveryWordButTheFirst) {
  const FakeFiles files = machine();
  const auto command = plan_worker_command(options_for(EntryKind::kScript, "s$local_rank.py",
                                                       {"${local_rank}", "--dev=cuda:$local_rank"}),
                                           environment_of({}), files);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->arguments({11}),
            (Words{"/usr/bin/python3", "-u", "s11.py", "11", "--dev=cuda:11"}));
  FakeFiles odd;
  odd.add_executable("/bin/$$");
  const auto program =
      plan_worker_command(options_for(EntryKind::kProgram, "$$", {"$$"}), environment_of({}), odd);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->arguments({0}), (Words{"$$", "$"}));
}

TEST(WorkerCommand, SubstitutionIsPythonsSafeSubstitute) {
  // Checked against torchrun 2.13.
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"${local_rank}", "3"},
      {"$local_rank", "3"},
      {"a${local_rank}b$local_rank-$local_rank", "a3b3-3"},
      {"$$local_rank", "$local_rank"},
      {"$${local_rank}", "${local_rank}"},
      {"$$$local_rank", "$3"},
      {"$$x", "$x"},
      {"$$$$", "$$"},
      {"$local_rankx", "$local_rankx"},
      {"$local_rank2", "$local_rank2"},
      {"${local_rankx}", "${local_rankx}"},
      {"${local_rank", "${local_rank"},
      {"${local_rank }", "${local_rank }"},
      {"$LOCAL_RANK", "$LOCAL_RANK"},
      {"${x$local_rank}", "${x3}"},
      {"$", "$"},
      {"x$", "x$"},
      {"$ {local_rank}", "$ {local_rank}"},
      {"${}", "${}"},
      {"$-${nproc}", "$-${nproc}"},
      {"$local_rank\xc3\xa9", "3\xc3\xa9"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(substitute_names(text, {3}), expected) << text;
  }
}

TEST(WorkerCommand, TheOldLauncherPassesTheLocalRankBeforeTheArguments) {
  const FakeFiles files = machine();
  Options options = options_for(EntryKind::kScript, "s.py", {"--lr", "1"});
  options.launch_py = true;
  const auto command = plan_worker_command(options, environment_of({}), files);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->arguments({2}),
            (Words{"/usr/bin/python3", "-u", "s.py", "--local-rank=2", "--lr", "1"}));
}

TEST(WorkerCommand, TheInterpreterIsTheFirstOfItsFiveSources) {
  FakeFiles files = machine();
  files.add_executable("/opt/exec/python");
  files.add_executable("/bin/python3.9");
  files.add_executable("/opt/tool/bin/python3");
  files.add_executable("/opt/venv/bin/python3");
  Options options = options_for(EntryKind::kScript, "s.py");
  options.interpreter = "python3.9";
  options.torchrun_path = "/opt/tool/bin/torchrun";
  Environment environment =
      environment_of({{"PYTHON_EXEC", "/opt/exec/python"}, {"VIRTUAL_ENV", "/opt/venv"}});
  EXPECT_EQ(interpreter_of(options, environment, files), "/opt/exec/python");
  environment.unset("PYTHON_EXEC");
  EXPECT_EQ(interpreter_of(options, environment, files), "/bin/python3.9");
  options.interpreter.clear();
  EXPECT_EQ(interpreter_of(options, environment, files), "/opt/tool/bin/python3");
  files.remove("/opt/tool/bin/python3");
  EXPECT_EQ(interpreter_of(options, environment, files), "/opt/venv/bin/python3");
  files.remove("/opt/venv/bin/python3");
  EXPECT_EQ(interpreter_of(options, environment, files), "/usr/bin/python3");
}

TEST(WorkerCommand, PlainPythonIsTakenWherePython3IsMissing) {
  FakeFiles files;
  files.add_executable("/bin/python");
  files.add_file("/s.py", "");
  const Options options = options_for(EntryKind::kScript, "s.py");
  EXPECT_EQ(interpreter_of(options, environment_of({}), files), "/bin/python");
  files.add_executable("/v/bin/python");
  EXPECT_EQ(interpreter_of(options, environment_of({{"VIRTUAL_ENV", "/v"}}), files),
            "/v/bin/python");
}

TEST(WorkerCommand, EmptyVariablesNameNoInterpreter) {
  const FakeFiles files = machine();
  EXPECT_EQ(interpreter_of(options_for(EntryKind::kScript, "s.py"),
                           environment_of({{"PYTHON_EXEC", ""}, {"VIRTUAL_ENV", ""}}), files),
            "/usr/bin/python3");
}

TEST(WorkerCommand, WithoutPathTheUsualFoldersAreSearched) {
  const FakeFiles files = machine();
  EXPECT_EQ(interpreter_of(options_for(EntryKind::kScript, "s.py"), Environment(), files),
            "/usr/bin/python3");
}

TEST(WorkerCommand, ANamedInterpreterMustExist) {
  const FakeFiles files = machine();
  Options options = options_for(EntryKind::kScript, "s.py");
  const auto missing =
      plan_worker_command(options, environment_of({{"PYTHON_EXEC", "python9"}}), files);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text, "PYTHON_EXEC: exec 'python9': not found on PATH");
  EXPECT_EQ(missing.error().os_errno, ENOENT);
  options.interpreter = "python9";
  EXPECT_EQ(interpreter_of(options, environment_of({}), files),
            "interpreter of the inner launcher: exec 'python9': not found on PATH");
}

TEST(WorkerCommand, AMachineWithoutPythonSaysWhatWasTried) {
  const FakeFiles files;
  const auto command =
      plan_worker_command(options_for(EntryKind::kModule, "pkg"), environment_of({}), files);
  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().text,
            "no Python interpreter: neither python3 nor python is on PATH '/usr/bin:/bin'; set "
            "PYTHON_EXEC");
  EXPECT_EQ(command.error().code, Code::kExec);
  EXPECT_EQ(command.error().os_errno, ENOENT);
}

TEST(WorkerCommand, AProgramThatIsMissingOrNotExecutableIsToldApart) {
  FakeFiles files = machine();
  files.add_file("/bin/data", "");
  const auto missing =
      plan_worker_command(options_for(EntryKind::kProgram, "nothing"), environment_of({}), files);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kExec);
  EXPECT_EQ(missing.error().os_errno, ENOENT);
  EXPECT_EQ(missing.error().text, "exec 'nothing': not found on PATH");
  const auto refused =
      plan_worker_command(options_for(EntryKind::kProgram, "data"), environment_of({}), files);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_errno, EACCES);
}

TEST(WorkerCommand, AScriptThatIsMissingIsToldBeforePythonIsAsked) {
  const FakeFiles files = machine();
  for (const EntryKind kind : {EntryKind::kScript, EntryKind::kRunPath}) {
    const Status missing = check_script(options_for(kind, "/no/where.py"), files);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kExec);
    EXPECT_EQ(missing.error().os_errno, ENOENT);
    EXPECT_EQ(missing.error().text, "no script '/no/where.py'");
  }
  EXPECT_TRUE(check_script(options_for(EntryKind::kScript, "-"), files));
  EXPECT_TRUE(check_script(options_for(EntryKind::kModule, "no.where"), files));
}

}  // namespace
}  // namespace muster::launcher
