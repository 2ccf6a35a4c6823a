#include "launcher/frameworks/mpi/mpi_hosts.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Hosts = std::vector<mpi::HostSlots>;

rendezvous::RosterEntry entry(const std::string& name, int workers) {
  rendezvous::RosterEntry entry;
  entry.identity.name = name;
  entry.workers = workers;
  return entry;
}

TEST(RoundHosts, TheLaunchersOwnNodeIsNoneWithoutRanks) {
  const std::vector roster = {entry("launcher", 0), entry("w-0", 2), entry("w-1", 3)};
  EXPECT_EQ(round_hosts(roster, {}),
            (Hosts{{.host = "w-0", .slots = 2}, {.host = "w-1", .slots = 3}}));
}

TEST(RoundHosts, SlotsOfTheControllersListCountMore) {
  const std::vector roster = {entry("w-0", 1), entry("w-1", 1), entry("w-10", 1)};
  const Hosts listed = {{.host = "w-1.job.ns.svc", .slots = 8}, {.host = "w-0", .slots = 4}};
  ASSERT_EQ(slots_of_each(listed), 0);
  EXPECT_EQ(round_hosts(roster, listed), (Hosts{{.host = "w-0", .slots = 4},
                                                {.host = "w-1", .slots = 8},
                                                {.host = "w-10", .slots = 1}}));
}

TEST(RoundHosts, AHostWithoutSlotsIsNone) {
  const Hosts listed = {{.host = "w-0", .slots = 0}, {.host = "w-1", .slots = 2}};
  EXPECT_EQ(round_hosts({entry("w-0", 1), entry("w-1", 1)}, listed),
            (Hosts{{.host = "w-1", .slots = 2}}));
}

TEST(RoundHosts, ANodeThatIsNotListedHasTheSlotsOfTheOthers) {
  const Hosts listed = {{.host = "w-0", .slots = 4}};
  EXPECT_EQ(round_hosts({entry("w-0", 1), entry("w-1", 1)}, listed),
            (Hosts{{.host = "w-0", .slots = 4}, {.host = "w-1", .slots = 4}}));
  EXPECT_EQ(slots_of_each(listed), 4);
  EXPECT_EQ(slots_of_each({{.host = "w-0", .slots = 4}, {.host = "w-1", .slots = 2}}), 0);
  EXPECT_EQ(slots_of_each({}), 0);
  EXPECT_FALSE(has_dotted_names(listed));
  EXPECT_TRUE(has_dotted_names({{.host = "w-0", .slots = 4}, {.host = "w-1.zone", .slots = 4}}));
}

TEST(RoundHosts, AnAddressInTheListIsTheNodeThatHasIt) {
  auto node = entry("gpu-7", 1);
  node.host = "10.0.0.2";
  const Hosts listed = {{.host = "10.0.0.1", .slots = 2}, {.host = "10.0.0.2", .slots = 4}};
  EXPECT_EQ(round_hosts({node}, listed), (Hosts{{.host = "gpu-7", .slots = 4}}));
  EXPECT_TRUE(check_listed({node}, listed));
}

TEST(CheckListed, ANodeOfAnotherNameMayHaveTheSlotsThatAllHave) {
  const std::vector roster = {entry("gpu-9", 0), entry("gpu-0", 1), entry("w-1", 1)};
  EXPECT_TRUE(check_listed(roster, {{.host = "w-0", .slots = 2}, {.host = "w-1", .slots = 2}}));
  EXPECT_TRUE(check_listed(roster, {}));
  const auto wrong =
      check_listed(roster, {{.host = "w-0", .slots = 2}, {.host = "w-1", .slots = 4}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kConfig);
  EXPECT_EQ(wrong.error().text,
            "how many ranks gpu-0 may have is not known: the controller's list has w-0, w-1, with "
            "different numbers of slots; --node-name names a node as the list does");
}

TEST(WithRanks, LeavesOutHostsWithoutSlotsButNotAll) {
  const Hosts hosts = {{.host = "w-0", .slots = 0}, {.host = "w-1", .slots = 2}};
  EXPECT_EQ(*with_ranks(hosts), (Hosts{{.host = "w-1", .slots = 2}}));
  const auto none = with_ranks({{.host = "w-0", .slots = 0}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kConfig);
  EXPECT_NE(none.error().text.find("slots=0 for all"), std::string::npos) << none.error().text;
}

TEST(CheckWorkers, WhereNoMpirunGivesSlotsToOthersTheyMustAgree) {
  const Hosts listed = {{.host = "w-0.job", .slots = 4}};
  EXPECT_TRUE(check_workers({entry("launcher", 0), entry("w-0", 4), entry("w-1", 4)}, listed));
  EXPECT_FALSE(check_workers({entry("w-0", 4), entry("w-1", 1)}, listed));
  const auto wrong = check_workers({entry("launcher", 0), entry("w-0", 1)}, listed);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kConfig);
  EXPECT_EQ(wrong.error().text,
            "w-0 starts 1 rank, the controller's list has 4 slots for it, which only mpirun can "
            "give to others: say --nproc-per-node 4 on every node");
  EXPECT_TRUE(check_workers({entry("w-0", 1)}, {}));
  EXPECT_FALSE(check_workers({entry("w-0", 1)}, {{.host = "w-0", .slots = 0}}));
}

class MpiHostListTest : public ::testing::Test {
 protected:
  MpiHostListTest() {
    contract_.controller = "mpi-operator";
    contract_.hostfile = "/etc/mpi/hostfile";
    contract_.says_slots = true;
    contract_.hosts = {{.host = "w-0", .slots = 2}};
    files_.add_file(contract_.hostfile, "w-0 slots=2\n");
  }
  void begin() {
    list_.emplace(*loop_, files_, contract_, [this](int hosts) { told_.push_back(hosts); });
    EXPECT_TRUE(loop_->run_until_idle());
  }
  void look() {
    clock_.advance(kHostfileLook);
    EXPECT_TRUE(loop_->run_until_idle());
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeFiles files_;
  Contract contract_;
  std::vector<int> told_;
  std::optional<MpiHostList> list_;
};

TEST_F(MpiHostListTest, TellsTheFirstListAndEveryOther) {
  begin();
  look();
  EXPECT_EQ(told_, std::vector<int>{1});
  files_.add_file(contract_.hostfile, "w-0 slots=2\nw-1 slots=2\n");
  look();
  look();
  EXPECT_EQ(told_, (std::vector<int>{1, 2}));
  EXPECT_EQ(list_->with_slots().size(), 2U);
}

TEST_F(MpiHostListTest, AFileThatCannotBeReadChangesNothing) {
  begin();
  files_.remove(contract_.hostfile);
  look();
  files_.add_file(contract_.hostfile, "w-0 slots=many\n");
  look();
  EXPECT_EQ(told_, std::vector<int>{1});
  EXPECT_EQ(list_->with_slots(), contract_.hosts);
}

TEST_F(MpiHostListTest, AListInAVariableIsTakenOnceAndWithoutSlots) {
  contract_.hostfile.clear();
  contract_.says_slots = false;
  begin();
  look();
  EXPECT_EQ(told_, std::vector<int>{1});
  EXPECT_EQ(list_->with_slots(), Hosts{});
}

}  // namespace
}  // namespace muster::launcher
