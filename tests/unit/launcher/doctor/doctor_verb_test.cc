#include "launcher/doctor/doctor_verb.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "base/json.h"
#include "launcher/doctor/doctor_text.h"
#include "launcher/doctor/probes.h"
#include "nccl/checks/catalogue.h"
#include "tests/support/fake_files.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

class DoctorVerbTest : public ::testing::Test {
 protected:
  int run(const std::vector<std::string>& words) {
    std::FILE* output = std::tmpfile();
    std::FILE* errors = std::tmpfile();
    const int code = run_doctor_verb({words, environment_, files_, setup_}, output, errors);
    output_ = text_of(output);
    errors_ = text_of(errors);
    return code;
  }
  static std::string text_of(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::getc(file); c != EOF; c = std::getc(file)) text += static_cast<char>(c);
    (void)std::fclose(file);
    return text;
  }

  muster::testing::FakeFiles files_;
  Environment environment_;
  ProcessSetup setup_;
  std::string output_;
  std::string errors_;
};

TEST_F(DoctorVerbTest, AWrongCommandLineIsOneLine) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--frob"},
                                                {"extra"},
                                                {"--root"},
                                                {"--root", ""},
                                                {"--capture="},
                                                {"--nproc-per-node", "0"},
                                                {"--nproc-per-node", "x"},
                                                {"--nnodes", "-1"},
                                                {"--json", "--capture", "/tmp/new"}}) {
    EXPECT_EQ(run(words), kExitUsage) << words[0];
    EXPECT_EQ(output_, "");
    EXPECT_EQ(std::ranges::count(errors_, '\n'), 1) << errors_;
    EXPECT_TRUE(errors_.starts_with("muster doctor: ")) << errors_;
  }
  EXPECT_EQ(run({"--root", "/nowhere/at/all"}), kExitConfig);
}

TEST_F(DoctorVerbTest, HelpTellsEveryFlag) {
  EXPECT_EQ(run({"--help"}), kExitSuccess);
  for (const char* flag : {"--json", "--root", "--capture", "--nnodes", "--nproc-per-node"})
    EXPECT_NE(output_.find(flag), std::string::npos) << flag;
}

TEST_F(DoctorVerbTest, AFolderThatIsNotEmptyIsLeftAlone) {
  files_.add_file("/full/file", "mine");
  EXPECT_EQ(run({"--capture", "/full"}), kExitConfig);
  EXPECT_EQ(errors_, "muster doctor: --capture: '/full' is not empty\n");
  EXPECT_EQ(files_.content("/full/file"), "mine");
  files_.add_file("/plain", "a file");
  EXPECT_EQ(run({"--capture", "/plain"}), kExitConfig);
}

TEST_F(DoctorVerbTest, FindingsAreBlocksAndALineThatCounts) {
  const std::vector<nccl::Finding> findings = {
      {"memlock", nccl::Severity::kError, "memlock is 8 MiB", "raise it"},
      {"stack", nccl::Severity::kWarning, "a\nb", ""},
      {"gid_varies", nccl::Severity::kInfo, "three", "none"}};
  EXPECT_EQ(doctor_text(findings, "DGXH100"),
            "error memlock: memlock is 8 MiB\n"
            "    raise it\n"
            "warning stack: a\\nb\n"
            "info gid_varies: three\n"
            "    none\n"
            "1 error, 1 warning: DGXH100\n");
  EXPECT_TRUE(has_errors(findings));
  EXPECT_EQ(doctor_text({}, "no GPU"), "no problem found: no GPU\n");
  const auto json = parse_json(doctor_json(findings));
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["findings"].size(), 3U);
  EXPECT_EQ((*json)["findings"][1],
            (nlohmann::json{
                {"id", "stack"}, {"severity", "warning"}, {"what", "a\\nb"}, {"remedy", ""}}));
  EXPECT_EQ(doctor_json({}), "{\"findings\":[]}\n");
}

TEST_F(DoctorVerbTest, ThereAreTwoProbesOfMemory) {
  EXPECT_EQ(run_probe("huge-pages"), kExitUsage);
  EXPECT_NE(run_probe("huge-page"), kExitUsage);
  EXPECT_NE(run_probe("lock"), kExitUsage);
}

TEST(DoctorPage, PageOfTheChecks) {
  std::string text = made_from("nccl/checks/catalogue.cc") +
                     "# The checks of `muster doctor`\n\n"
                     "Each looks at one node, without privileges, in well under a second. The "
                     "severity is the gravest that it\nmay have. How the verb is called: "
                     "[fabric-checks.md](../fabric-checks.md).\n\n"
                     "| Id | What is wrong | Looks at | At most |\n|---|---|---|---|\n";
  for (const nccl::CheckRow& row : nccl::check_catalogue()) {
    text += "| `" + std::string(row.id) + "` | " + std::string(row.subject) + " | " +
            std::string(row.looks_at) + " | " + std::string(nccl::to_string(row.most)) + " |\n";
  }
  expect_page("checks.md", text);
}

}  // namespace
}  // namespace muster::launcher
