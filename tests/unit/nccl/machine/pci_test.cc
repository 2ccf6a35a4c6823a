#include "nccl/machine/pci.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

PciFunction function(const std::string& address, std::vector<std::string> above, int node) {
  PciFunction made;
  made.address = address;
  made.above = std::move(above);
  made.numa_node = node;
  return made;
}

TEST(PciDistance, CountsSwitchesAsNcclDoes) {
  const std::vector<std::string> trunk = {"pci0000:15", "0000:15:01.0", "0000:16:00.0"};
  auto below = [&trunk](const std::string& port) {
    auto above = trunk;
    above.push_back(port);
    return above;
  };
  const auto gpu = function("0000:1b:00.0", below("0000:17:02.0"), 0);
  EXPECT_EQ(distance(gpu, function("0000:18:00.0", below("0000:17:00.0"), 0)), PciDistance::kPix);
  auto deeper = below("0000:17:01.0");
  deeper.insert(deeper.end(), {"0000:19:00.0", "0000:20:00.0"});
  EXPECT_EQ(distance(gpu, function("0000:21:00.0", deeper, 0)), PciDistance::kPxb);
  EXPECT_EQ(distance(gpu, function("0000:30:00.0", {"pci0000:15", "0000:15:02.0"}, 0)),
            PciDistance::kHostBridge);
  EXPECT_EQ(distance(gpu, function("0000:40:00.0", {"pci0000:3a", "0000:3a:01.0"}, 0)),
            PciDistance::kHostBridge);
  EXPECT_EQ(distance(gpu, function("0000:c0:00.0", {"pci0000:b7", "0000:b7:01.0"}, 1)),
            PciDistance::kSystem);
  EXPECT_EQ(distance(gpu, function("0000:1b:00.1", below("0000:17:02.0"), 0)),
            PciDistance::kSameCard);
  EXPECT_EQ(distance(PciFunction(), PciFunction()), PciDistance::kSystem);
}

TEST(Pci, TheTreeIsReadFromTheLink) {
  muster::testing::FakeFiles files;
  const std::string real = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:1b:00.0";
  files.add_file(real + "/class", "0x030200\n");
  files.add_file(real + "/vendor", "0x10de\n");
  files.add_file(real + "/device", "nonsense\n");
  files.add_file(real + "/numa_node", "-1\n");
  files.add_link("/sys/bus/pci/devices/0000:1b:00.0", "../../.." + real.substr(4));
  const auto read = read_pci_function(files, "0000:1b:00.0");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->above, (std::vector<std::string>{"pci0000:15", "0000:15:01.0", "0000:16:00.0"}));
  EXPECT_EQ(read->vendor, pci_vendor::kNvidia);
  EXPECT_EQ(read->device, 0);
  EXPECT_EQ(read->numa_node, std::nullopt);
  EXPECT_FALSE(is_flattened(*read));
  EXPECT_FALSE(read_pci_function(files, "0000:1c:00.0"));
}

TEST(Pci, HexadecimalNumbers) {
  EXPECT_EQ(parse_hexadecimal("0x15b3"), 0x15b3);
  EXPECT_EQ(parse_hexadecimal("0xffffffff"), 0xffffffff);
  for (const char* text : {"", "0x", "15b3", "0x123456789", "0x1g"})
    EXPECT_FALSE(parse_hexadecimal(text)) << text;
}

}  // namespace
}  // namespace muster::nccl
