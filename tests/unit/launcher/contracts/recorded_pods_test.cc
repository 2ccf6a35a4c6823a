// Every pod of tests/data/pods is read as its file `expected` says. They are renewed as the pages
// are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "launcher/contracts/read_contract.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recorded_pods() {
  std::vector<fs::path> pods;
  for (const auto& entry : fs::recursive_directory_iterator(MUSTER_TEST_DATA "/pods"))
    if (entry.path().filename() == "environ") pods.push_back(entry.path().parent_path());
  std::ranges::sort(pods);
  return pods;
}

// "--nnodes  2  LWS: LWS_GROUP_SIZE" a line, and all else that is in it.
std::string text_of_contract(const Contract& contract) {
  std::string text = "contract " + std::string(contract.name) + "  " + contract.controller +
                     ": by " + contract.recognised_by + "\n";
  if (!contract.job.empty()) text += "job " + contract.job + "\n";
  for (const auto& [flag, value, source] : contract.values)
    text += long_name(row_of(flag)) + "  " + value + "  " + source + "\n";
  for (const auto& [flag, problem, always] : contract.gaps)
    text += long_name(row_of(flag)) + " is missing: " + problem + "\n";
  for (const Flag flag : contract.absorbed) text += "absorbed " + long_name(row_of(flag)) + "\n";
  for (const auto& host : contract.hosts) {
    text += "host " + host.host;
    if (contract.says_slots) text += "  " + std::to_string(host.slots);
    text += "\n";
  }
  if (!contract.secret_file.empty()) text += "secret " + contract.secret_file + "\n";
  for (const std::string& name : contract.scrubbed) text += "scrubbed " + name + "\n";
  for (const auto& [name, value] : contract.added) text += "added " + name + "=" + value + "\n";
  if (contract.holds) text += "holds\n";
  return text;
}

std::string read_recorded(const fs::path& folder) {
  const RealFiles root((folder / "root").string());
  RealFiles files;
  Environment environment;
  const auto variables = files.read((folder / "environ").string());
  const auto name = files.read((folder / "hostname").string());
  if (!variables || !name) return "environ or hostname cannot be read\n";
  for (const std::string_view line : split(*variables, '\n')) environment.set_entry(line);
  const auto contract = read_contract({environment, root, std::string(trim(*name))});
  if (!contract) return contract.error().text + "\n";
  return *contract ? text_of_contract(**contract) : "no contract\n";
}

TEST(RecordedPodsPages, AreReadAsExpected) {
  const auto pods = recorded_pods();
  ASSERT_GE(pods.size(), 2U);
  const fs::path data = MUSTER_TEST_DATA;
  for (const fs::path& pod : pods)
    expect_file((fs::relative(pod, data) / "expected").string(), read_recorded(pod));
}

}  // namespace
}  // namespace muster::launcher
