// The files themselves: tests/integration/test_elastic.py.
#include "launcher/frameworks/mpi/launcher_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "launcher/report/exit_codes.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

TEST(Discovery, IsKnownByItsName) {
  EXPECT_TRUE(is_discovery_name("discover_hosts.sh"));
  EXPECT_TRUE(is_discovery_name("/tmp/muster-1/bin/discover_hosts.sh"));
  EXPECT_FALSE(is_discovery_name("muster"));
  EXPECT_FALSE(is_discovery_name("discover_hosts.sh/muster"));
}

// Exit code and what was printed.
std::pair<int, std::string> discover(const Environment& environment, const Files& files) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  const int code = run_discovery(environment, files, stream, stream);
  std::fclose(stream);
  std::string printed(text, size);
  std::free(text);
  return {code, printed};
}

TEST(Discovery, PrintsTheListAsItIs) {
  testing::FakeFiles files;
  files.add_file("/tmp/hosts", "a:1\nb:2\n");
  files.add_file("/tmp/none", "");
  Environment environment;
  environment.set(kHostListVariable, "/tmp/hosts");
  EXPECT_EQ(discover(environment, files), std::pair(0, std::string("a:1\nb:2\n")));
  environment.set(kHostListVariable, "/tmp/none");
  EXPECT_EQ(discover(environment, files), std::pair(0, std::string()));
}

TEST(Discovery, WithoutAListSaysWhy) {
  testing::FakeFiles files;
  const auto [code, line] = discover(Environment{}, files);
  EXPECT_EQ(code, kExitConfig);
  EXPECT_EQ(line, "discover_hosts.sh: MUSTER_HOST_LIST: it is not set\n");
  Environment environment;
  environment.set(kHostListVariable, "/tmp/hosts");
  EXPECT_EQ(discover(environment, files).first, kExitConfig);
}

}  // namespace
}  // namespace muster::launcher
