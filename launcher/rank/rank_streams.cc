#include "launcher/rank/rank_streams.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

constexpr const char* kOtherwise = "otherwise";

int mask_of(const Streams& streams) { return (streams.out ? 1 : 0) | (streams.err ? 2 : 0); }
Streams streams_of(int mask) { return {.out = (mask & 1) != 0, .err = (mask & 2) != 0}; }

nlohmann::json encode(const StreamsByRank& streams) {
  nlohmann::json json = {{kOtherwise, mask_of(streams.otherwise)}};
  for (const auto& [local_rank, own] : streams.by_local_rank)
    json[std::to_string(local_rank)] = mask_of(own);
  return json;
}

StreamsByRank decode(const nlohmann::json& json) {
  StreamsByRank streams;
  for (const auto& [key, mask] : json.items()) {
    const auto local_rank = parse_integer(key);
    const Streams own = streams_of(mask.get<int>());
    if (local_rank) streams.by_local_rank[static_cast<int>(*local_rank)] = own;
    if (key == kOtherwise) streams.otherwise = own;
  }
  return streams;
}

bool are_numbers(const nlohmann::json& list) {
  return list.is_structured() &&
         std::ranges::all_of(list, [](const nlohmann::json& item) { return item.is_number(); });
}

// Its fields are there, each of its type.
bool is_encoded(const nlohmann::json& json) {
  if (!json.is_object()) return false;
  const auto has = [&json](const char* key, auto is_fine) {
    const auto field = json.find(key);
    return field != json.end() && is_fine(*field);
  };
  const auto is_masks = [](const nlohmann::json& field) {
    return field.is_object() && are_numbers(field);
  };
  const auto is_list = [](const nlohmann::json& field) {
    return field.is_array() && are_numbers(field);
  };
  const auto is_text = [](const nlohmann::json& field) { return field.is_string(); };
  const auto is_switch = [](const nlohmann::json& field) { return field.is_boolean(); };
  return has("redirects", is_masks) && has("tee", is_masks) && has("shown", is_list) &&
         has("role", is_text) && has("prefix", is_text) && has("prefix_tee_only", is_switch) &&
         has("prefix_several_only", is_switch);
}

}  // namespace

std::string encode(const RankStreams& streams) {
  return dump_json({{"redirects", encode(streams.redirects)},
                    {"tee", encode(streams.tee)},
                    {"shown", streams.shown},
                    {"role", streams.role},
                    {"prefix", streams.prefix},
                    {"prefix_tee_only", streams.prefix_tee_only},
                    {"prefix_several_only", streams.prefix_several_only}});
}

Result<RankStreams> parse_rank_streams(std::string_view text) {
  const auto json = parse_json(text);
  const auto wrong = [](const std::string& why) {
    return Error{Code::kConfig, 0, std::string(mpi::kRankStreamsVariable) + ": " + why};
  };
  if (!json) return wrong(json.error().text);
  if (!is_encoded(*json)) return wrong("not as `muster run` writes it");
  RankStreams streams;
  streams.redirects = decode((*json)["redirects"]);
  streams.tee = decode((*json)["tee"]);
  streams.shown = (*json)["shown"].get<std::vector<int>>();
  streams.role = (*json)["role"].get<std::string>();
  streams.prefix = (*json)["prefix"].get<std::string>();
  streams.prefix_tee_only = (*json)["prefix_tee_only"].get<bool>();
  streams.prefix_several_only = (*json)["prefix_several_only"].get<bool>();
  return streams;
}

OutputOptions output_options(const RankStreams& streams, int world_size, std::string attempt_dir) {
  OutputOptions options;
  options.log_dir = "/dev/null";
  options.attempt_dir = std::move(attempt_dir);
  options.by_rank = true;
  options.redirects = streams.redirects;
  options.tee = streams.tee;
  options.like_ours = true;
  options.unfinished_after = kRankUnfinishedShownAfter;
  if (world_size > 1 || !streams.prefix_several_only) options.prefix_template = streams.prefix;
  options.prefix_tee_only = streams.prefix_tee_only;
  options.local_ranks_filter = streams.shown;
  return options;
}

}  // namespace muster::launcher
