#include "launcher/doctor/probes.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

class ProbesTest : public ::testing::Test {
 protected:
  ProbesTest() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &child, &setup_.original_mask), 0);
    node_.fabric.machine.own_addresses = "10.0.0.1";  // nobody needs to be asked
  }
  ~ProbesTest() override { (void)pthread_sigmask(SIG_SETMASK, &setup_.original_mask, nullptr); }

  void add_rdma_device(const std::string& driver) {
    nccl::RdmaDevice device;
    device.name = "mlx5_0";
    device.driver = driver;
    device.has_device_node = true;
    device.ports.push_back({});
    device.ports.back().state = "ACTIVE";
    node_.fabric.machine.rdma.push_back(device);
  }
  // `program` stands for our own binary.
  nccl::ProbeResults run(const std::string& program) {
    files_.add_executable(program);
    files_.add_link("/proc/self/exe", program);
    return run_probes(node_, files_, {}, setup_);
  }

  nccl::NodeFacts node_;
  muster::testing::FakeFiles files_;
  ProcessSetup setup_;
};

TEST_F(ProbesTest, WithoutRdmaNothingIsTried) {
  const auto results = run("/bin/false");
  EXPECT_FALSE(results.locked || results.huge_page_signal || results.own_name_problem);
}

TEST_F(ProbesTest, TheExitCodeOfTheChildIsTheErrno) {
  add_rdma_device("mlx5_core");
  auto results = run("/bin/true");
  ASSERT_TRUE(results.locked);
  EXPECT_EQ(results.locked->os_errno, 0);
  EXPECT_FALSE(results.huge_page_signal) << "only EFA wants huge pages";
  results = run("/bin/false");
  ASSERT_TRUE(results.locked);
  EXPECT_EQ(results.locked->os_errno, EPERM);
}

TEST_F(ProbesTest, WithEfaAHugePageIsTouched) {
  add_rdma_device("efa");
  const auto results = run("/bin/true");
  ASSERT_TRUE(results.huge_page_signal);
  EXPECT_EQ(*results.huge_page_signal, 0);
}

TEST_F(ProbesTest, WhereMemoryIsShortNothingIsLocked) {
  add_rdma_device("mlx5_core");
  node_.container.memory_bytes = 300 << 20;
  EXPECT_FALSE(run("/bin/false").locked);
}

TEST_F(ProbesTest, AChildThatCannotBeStartedSaysNothing) {
  add_rdma_device("mlx5_core");
  EXPECT_FALSE(run("/nowhere/muster").locked);
}

}  // namespace
}  // namespace muster::launcher
