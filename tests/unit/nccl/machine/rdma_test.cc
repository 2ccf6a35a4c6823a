#include "nccl/machine/rdma.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

TEST(RdmaRates, AreReadAsTheKernelWritesThem) {
  EXPECT_EQ(parse_rate("400 Gb/sec (4X NDR)").gbits, 400);
  EXPECT_EQ(parse_rate("400 Gb/sec (4X NDR)").lanes, 4);
  EXPECT_EQ(parse_rate("2.5 Gb/sec (1X)").gbits, 2.5);
  EXPECT_EQ(parse_rate("2.5 Gb/sec (1X)").lanes, 1);
  for (const char* text : {"", "400", "400 Gb/sec", "x Gb/sec (4X)", "-1 Gb/sec (4X)"})
    EXPECT_EQ(parse_rate(text).gbits, 0) << text;
}

TEST(RdmaNames, HaveTheirNumbersInOrder) {
  EXPECT_TRUE(natural_less("mlx5_2", "mlx5_10"));
  EXPECT_FALSE(natural_less("mlx5_10", "mlx5_2"));
  EXPECT_TRUE(natural_less("mlx5", "mlx5_0"));
  EXPECT_TRUE(natural_less("bnxt_re7", "mlx5_0"));
  EXPECT_FALSE(natural_less("mlx5_1", "mlx5_1"));
}

TEST(Gids, ArePrintedAsPeopleKnowThem) {
  Gid gid;
  gid.bytes = *parse_gid("0000:0000:0000:0000:0000:ffff:0ac8:010a");
  EXPECT_EQ(to_string(gid), "10.200.1.10");
  EXPECT_TRUE(is_ipv4(gid));
  gid.bytes = *parse_gid("fe80:0000:0000:0000:a288:c2ff:fe3b:506a");
  EXPECT_TRUE(is_link_local(gid));
  for (const char* text : {"", "fe80::1", "0000:0000:0000:0000:0000:ffff:0ac8:010g"})
    EXPECT_FALSE(parse_gid(text)) << text;
}

// A pod that came late has its entry far behind those of others.
TEST(Gids, AnEntryBehindALongGapIsFound) {
  muster::testing::FakeFiles files;
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  files.add_file(port + "state", "4: ACTIVE\n");
  files.add_file(port + "link_layer", "Ethernet\n");
  for (int index = 0; index < 100; ++index)
    files.add_file(port + "gids/" + std::to_string(index),
                   "0000:0000:0000:0000:0000:0000:0000:0000\n");
  files.add_file(port + "gids/80", "0000:0000:0000:0000:0000:ffff:0ac8:010a\n");
  files.add_file(port + "gid_attrs/types/80", "RoCE v2\n");
  const auto devices = read_rdma_devices(files);
  ASSERT_EQ(devices.size(), 1U);
  ASSERT_EQ(devices[0].ports.size(), 1U);
  ASSERT_EQ(devices[0].ports[0].gids.size(), 1U);
  EXPECT_EQ(devices[0].ports[0].gids[0].index, 80);
  EXPECT_TRUE(devices[0].ports[0].has_hole);
}

}  // namespace
}  // namespace muster::nccl
