// A pod that comes back at its own place.
#include "rendezvous/leader/node_places.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

Join from(const std::string& host, uint64_t incarnation) {
  Join join;
  join.identity = {"worker", std::nullopt, incarnation};
  join.host = host;
  join.port = 29400;
  return join;
}

TEST(NodePlaces, TellsWhoWasThereLast) {
  NodePlaces places;
  EXPECT_EQ(places.last_at(from("10.0.0.1", 7)), std::nullopt);
  places.take(from("10.0.0.1", 7), {}, {});
  EXPECT_EQ(places.last_at(from("10.0.0.1", 8)), 7u);
  EXPECT_EQ(places.last_at(from("10.0.0.2", 8)), std::nullopt);
}

TEST(NodePlaces, AreLeftOnlyByWhoIsThere) {
  NodePlaces places;
  places.take(from("10.0.0.1", 7), {}, {});
  places.leave(from("10.0.0.1", 8));
  EXPECT_EQ(places.last_at(from("10.0.0.1", 8)), 7u);
  places.leave(from("10.0.0.1", 7));
  EXPECT_EQ(places.last_at(from("10.0.0.1", 8)), std::nullopt);
}

TEST(NodePlaces, OfStrangersAreForgottenWhenThereAreTooMany) {
  NodePlaces places;
  NodeTable nodes;
  nodes.add(1);
  places.take(from("10.0.0.1", 1), nodes, {});
  for (uint64_t stranger = 2; stranger <= kMaxPlaces + 1; ++stranger)
    places.take(from("host-" + std::to_string(stranger), stranger), nodes, {});
  EXPECT_EQ(places.last_at(from("10.0.0.1", 9)), 1u);
  EXPECT_EQ(places.last_at(from("host-2", 9)), std::nullopt);
}

}  // namespace
}  // namespace muster::rendezvous
