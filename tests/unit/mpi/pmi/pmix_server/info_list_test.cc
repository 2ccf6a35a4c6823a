#include "mpi/pmi/pmix_server/info_list.h"

#include <gtest/gtest.h>

namespace muster::pmix_server {
namespace {

TEST(InfoList, HoldsEachValueWithItsKeyAndType) {
  InfoList infos;
  infos.text(PMIX_HOSTNAME, "node-1");
  infos.uint32(PMIX_JOB_SIZE, 8);
  infos.uint16(PMIX_LOCAL_RANK, 3);
  infos.rank(PMIX_RANK, 5);
  ASSERT_EQ(infos.size(), 4U);
  const pmix_info_t* data = infos.data();
  EXPECT_STREQ(data[0].key, PMIX_HOSTNAME);
  EXPECT_EQ(data[0].value.type, PMIX_STRING);
  EXPECT_STREQ(data[0].value.data.string, "node-1");
  EXPECT_EQ(data[1].value.data.uint32, 8U);
  EXPECT_EQ(data[2].value.type, PMIX_UINT16);
  EXPECT_EQ(data[2].value.data.uint16, 3);
  EXPECT_EQ(data[3].value.data.rank, 5U);
}

TEST(InfoList, TextsAndListsStayWhereTheyAreWhileItGrows) {
  InfoList infos;
  for (int i = 0; i < 100; ++i) {
    InfoList& one = infos.array(PMIX_PROC_DATA);
    one.text(PMIX_HOSTNAME, "node-" + std::to_string(i));
    one.rank(PMIX_RANK, static_cast<pmix_rank_t>(i));
  }
  const pmix_info_t* data = infos.data();
  for (int i = 0; i < 100; ++i) {
    const pmix_data_array_t* array = data[i].value.data.darray;
    ASSERT_EQ(array->size, 2U);
    EXPECT_EQ(array->type, PMIX_INFO);
    const auto* inner = static_cast<const pmix_info_t*>(array->array);
    EXPECT_EQ(inner[0].value.data.string, "node-" + std::to_string(i));
    EXPECT_EQ(inner[1].value.data.rank, static_cast<pmix_rank_t>(i));
  }
}

}  // namespace
}  // namespace muster::pmix_server
