#include "launcher/command_line/unsaid.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/command_line/command_line.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

class UnsaidTest : public ::testing::Test {
 protected:
  Options read(Words words) {
    const PodFacts pod{environment_, files_, host_name_};
    auto command_line = read_command_line({Personality::kMuster, "muster", std::move(words)},
                                          environment_, {}, &pod);
    EXPECT_TRUE(command_line) << command_line.error().text;
    return command_line ? command_line->options : Options();
  }
  // Of a job of three nodes with this host file.
  Options read_hosts(const std::string& text, Words more = {}) {
    files_.add_file("hosts", text);
    Words words = {"--nnodes", "3", "--hosts", "@hosts"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "true"});
    return read(std::move(words));
  }
  static bool warns(const Options& options, std::string_view text) {
    return std::ranges::any_of(options.warnings, [text](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  Environment environment_;
  testing::FakeFiles files_;
  std::string host_name_ = "w-1";
};

TEST_F(UnsaidTest, SlotsOfAHostFileAreTheWorkersOfThisNode) {
  const std::string hosts = "w-0 slots=8\nw-1.job.svc slots=4\nw-2 slots=2\n";
  EXPECT_EQ(read_hosts(hosts).workers_per_node.number, 4);
  EXPECT_EQ(read_hosts(hosts, {"--nproc-per-node", "3"}).workers_per_node.number, 3);
  EXPECT_EQ(read_hosts("w-0\nw-1\nw-2\n").workers_per_node.number, 1);
  EXPECT_EQ(
      read_hosts("192.0.2.1 slots=8\n192.0.2.2 slots=4\n192.0.2.3\n", {"--local-addr", "192.0.2.2"})
          .workers_per_node.number,
      4);
}

TEST_F(UnsaidTest, AnExplanationNamesTheFile) {
  const Options options = read_hosts("w-0 slots=8\nw-1 slots=4\nw-2\n");
  const auto row = std::ranges::find(options.explained, "--nproc-per-node", &ExplainedOption::flag);
  ASSERT_NE(row, options.explained.end());
  EXPECT_EQ(row->source, "slots of w-1 in --hosts @hosts");
}

TEST_F(UnsaidTest, WhoIsNotInTheFileHasTheSlotsOfEachOrIsTold) {
  host_name_ = "gpu-7";
  EXPECT_EQ(read_hosts("w-0 slots=8\nw-1 slots=8\nw-2 slots=8\n").workers_per_node.number, 8);
  const Options differ = read_hosts("w-0 slots=8\nw-1 slots=4\nw-2 slots=2\n");
  EXPECT_EQ(differ.workers_per_node.number, 1);
  EXPECT_TRUE(warns(differ, "w-0, w-1, w-2, none of which is known to be this node (gpu-7)"));
}

}  // namespace
}  // namespace muster::launcher
