#include "launcher/frameworks/lightgbm_words.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

class LightgbmWordsTest : public ::testing::Test {
 protected:
  Words words(const Words& given) {
    return lightgbm_words(given, files_, {"10.0.0.1:4001", "10.0.0.2:4001"}, 4001);
  }

  const Words network_ = {"machines=10.0.0.1:4001,10.0.0.2:4001", "num_machines=2",
                          "local_listen_port=4001"};
  const Words all_ = {"machines=10.0.0.1:4001,10.0.0.2:4001", "num_machines=2",
                      "local_listen_port=4001", "tree_learner=data"};
  testing::FakeFiles files_;
};

TEST_F(LightgbmWordsTest, WithoutANetworkTheJobsIsGiven) {
  EXPECT_EQ(words({"lightgbm"}), all_);
  EXPECT_EQ(words({"lightgbm", "task=train", "num_trees=5", "nonsense"}), all_);
  EXPECT_EQ(words({"lightgbm", "config=/not/there"}), all_);
}

TEST_F(LightgbmWordsTest, OneMachineNeedsNone) {
  EXPECT_EQ(lightgbm_words({"lightgbm"}, files_, {"10.0.0.1:4001"}, 4001), Words());
  EXPECT_EQ(lightgbm_words({"lightgbm"}, files_, {}, 0), Words());
}

TEST_F(LightgbmWordsTest, ALearnerStaysButForSerial) {
  EXPECT_EQ(words({"lightgbm", "tree=feature"}), network_);
  EXPECT_EQ(words({"lightgbm", "tree_learner_type=voting"}), network_);
  EXPECT_EQ(words({"lightgbm", "tree_learner=serial"}), all_);
}

TEST_F(LightgbmWordsTest, TheirOwnNetworkStays) {
  for (const char* word : {"machines=a:1,b:1", "workers=a:1", "nodes=a:1", "mlist=m.txt",
                           "machine_list_filename=m.txt", "num_machine=1", "port=5"}) {
    EXPECT_EQ(words({"lightgbm", word}), Words()) << word;
  }
}

TEST_F(LightgbmWordsTest, AConfigFileIsReadAsLightgbmDoes) {
  files_.add_file("/conf", "# tree_learner = feature\n  tree_learner=voting # comment\nx\n\n");
  EXPECT_EQ(words({"lightgbm", "config=/conf"}), network_);
  EXPECT_EQ(words({"lightgbm", "config_file=/conf", "tree_learner=serial"}), all_);
  files_.add_file("/conf", "num_machines = 2\nmachine_list_file = m.txt\n");
  EXPECT_EQ(words({"lightgbm", "config=/conf"}), Words());
}

}  // namespace
}  // namespace muster::launcher
