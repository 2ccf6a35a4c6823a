#include "launcher/frameworks/python_hook.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::launcher {
namespace {

class PythonHookTest : public ::testing::Test {
 protected:
  Status check(const std::string& program, std::vector<std::string> arguments,
               EntryKind entry = EntryKind::kProgram) {
    Options options;
    options.entry = entry;
    options.program = program;
    options.arguments = std::move(arguments);
    return hook_.check(options);
  }

  PythonHook hook_{"jax", "--jax-hook off"};
};

TEST_F(PythonHookTest, OptionsThatTurnItOffAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"-I", "x.py"}, "-I"},
      {{"-u", "-E", "x.py"}, "-E"},
      {{"-uBS", "x.py"}, "-S"},
      {{"-W", "ignore", "-I", "x.py"}, "-I"},
      {{"-Wignore", "-S"}, "-S"},
      {{"-X", "dev", "-bE", "-c", "1"}, "-E"},
      {{"--check-hash-based-pycs", "always", "x.py"}, ""},
      {{"x.py", "-I"}, ""},
      {{"-c", "1", "-I"}, ""},
      {{"-mx", "-I"}, ""},
      {{"-um", "x", "-E"}, ""},
      {{"-", "-I"}, ""},
      {{"-W", "-I", "x.py"}, ""},
      {{"-XI", "x.py"}, ""},
      {{}, ""}};
  for (const auto& [arguments, option] : table) {
    const Status status = check("/usr/bin/python3.11", arguments);
    ASSERT_EQ(status.operator bool(), option.empty()) << option;
    if (option.empty()) continue;
    EXPECT_EQ(status.error().code, Code::kConfig);
    EXPECT_EQ(status.error().text, "'/usr/bin/python3.11 " + option +
                                       "' takes no notice of the hook for jax: leave " + option +
                                       " out, or say --jax-hook off");
  }
}

TEST_F(PythonHookTest, OtherProgramsAndScriptsHaveOptionsOfTheirOwn) {
  EXPECT_TRUE(check("/usr/bin/perl", {"-I", "x"}));
  EXPECT_TRUE(check("python.sh", {"-I"}));
  EXPECT_TRUE(check("python3", {"-I"}, EntryKind::kScript));
}

TEST_F(PythonHookTest, ItsFolderIsFirstAndGoesWithIt) {
  char place[] = "/tmp/python-hook-test-XXXXXX";
  ASSERT_NE(mkdtemp(place), nullptr);
  const std::string folder = std::string(place) + "/hook";
  Environment user;
  user.set("PYTHONPATH", "/mine:/ours");
  {
    PythonHook hook("jax", "--jax-hook off");
    ASSERT_TRUE(hook.open(folder));
    EXPECT_FALSE(PythonHook("jax", "").open(folder));  // somebody else's may be there
    const auto variables = hook.variables(user);
    ASSERT_EQ(variables.size(), 2U);
    EXPECT_EQ(variables[0].value, folder + "/hook:/mine:/ours");
    EXPECT_EQ(hook.variables({})[0].value, folder + "/hook");
    EXPECT_EQ(variables[1].name, "MUSTER_PYTHON_HOOK");
    EXPECT_EQ(variables[1].value, "jax");
    struct stat status {};
    ASSERT_EQ(stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    ASSERT_FALSE(hook_files().empty());
    for (const HookFile& file : hook_files()) {
      std::ifstream stream(folder + "/hook/" + std::string(file.name));
      std::stringstream text;
      text << stream.rdbuf();
      EXPECT_EQ(text.str(), file.text) << file.name;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::filesystem::remove_all(place);
}

TEST_F(PythonHookTest, AFolderThatIsThereMustBePrivate) {
  char place[] = "/tmp/python-hook-test-XXXXXX";
  ASSERT_NE(mkdtemp(place), nullptr);
  {
    PythonHook hook("jax", "");
    EXPECT_TRUE(hook.open(place));
  }
  EXPECT_TRUE(std::filesystem::is_empty(place));
  ASSERT_EQ(chmod(place, 0755), 0);
  EXPECT_FALSE(hook_.open(place));
  std::filesystem::remove_all(place);
}

TEST_F(PythonHookTest, BeforeItIsOpenTheFolderIsMadeLater) {
  EXPECT_EQ(hook_.variables({})[0].value, "/made-at-start/hook");
}

}  // namespace
}  // namespace muster::launcher
