#include "nccl/machine/pci_links.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

TEST(PciLinks, SpeedAndWidth) {
  testing::FakeFiles files;
  const std::string folder = "/sys/bus/pci/devices/0000:1b:00.0/";
  files.add_file(folder + "current_link_speed", "16.0 GT/s PCIe\n");
  files.add_file(folder + "max_link_speed", "32.0 GT/s PCIe\n");
  files.add_file(folder + "current_link_width", "8\n");
  files.add_file(folder + "max_link_width", "255\n");
  const auto links = read_pci_links(files, {"0000:1b:00.0", "0000:99:00.0"});
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].gigatransfers, 16);
  EXPECT_EQ(links[0].most_gigatransfers, 32);
  EXPECT_EQ(links[0].width, 8);
  EXPECT_EQ(links[0].most_width, 0) << "255 means unknown";
  EXPECT_EQ(links[1].width, 0);
}

TEST(PciLinks, UnknownSpeedsAreNone) {
  for (const char* text : {"Unknown", "", "GT/s", "-1 GT/s", "8.0 MB/s", "nan GT/s"})
    EXPECT_EQ(parse_link_speed(text), 0) << text;
}

}  // namespace
}  // namespace muster::nccl
