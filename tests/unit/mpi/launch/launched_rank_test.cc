#include "mpi/launch/launched_rank.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace muster::mpi {
namespace {

using Variables = std::initializer_list<std::pair<const char*, const char*>>;

// What the rank finds, "NAME=value" as far as it is asked for.
std::string seen(const Variables& given) {
  Environment environment;
  for (const auto& [name, value] : given) environment.set(name, value);
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kMpi, launched_rank_variables(environment));
  const Environment rank = plan.merge(environment).environment;
  std::string text;
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS"})
    text += std::string(text.empty() ? "" : " ") + std::string(rank.get(name).value_or("-"));
  return text;
}

TEST(LaunchedRank, ItsPlaceIsThatOfOpenMpiOrOfHydra) {
  EXPECT_EQ(seen({{"OMPI_COMM_WORLD_RANK", "3"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
            "3 4 1 2 -");
  EXPECT_EQ(seen({{"PMI_RANK", "3"},
                  {"PMI_SIZE", "4"},
                  {"MPI_LOCALRANKID", "1"},
                  {"MPI_LOCALNRANKS", "2"}}),
            "3 4 1 2 -");
}

TEST(LaunchedRank, WhatTheUserHasSetStays) {
  EXPECT_EQ(seen({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"RANK", "7"}}), "7 4 - - -");
}

TEST(LaunchedRank, ThreadsAreLimitedWhereSeveralShareANodeUnbound) {
  const std::pair<const char*, const char*> unbound{"MUSTER_RANK_UNBOUND", "1"};
  EXPECT_EQ(seen({unbound, {"MPI_LOCALNRANKS", "2"}}), "- - - 2 1");
  EXPECT_EQ(seen({unbound, {"MPI_LOCALNRANKS", "1"}}), "- - - 1 -");
  EXPECT_EQ(seen({unbound, {"MPI_LOCALNRANKS", "2"}, {"OMP_NUM_THREADS", "8"}}), "- - - 2 8");
  EXPECT_EQ(seen({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), "- - - 2 -");
}

}  // namespace
}  // namespace muster::mpi
