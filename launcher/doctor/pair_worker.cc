#include "launcher/doctor/pair_worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/interfaces.h"
#include "base/json.h"
#include "base/process/verb_loop.h"
#include "base/resolver.h"
#include "base/text.h"
#include "base/timed_stream.h"
#include "base/unguessable.h"
#include "launcher/doctor/doctor_text.h"
#include "nccl/pairs/node_traits.h"
#include "nccl/pairs/pair_exchange.h"
#include "nccl/pairs/pair_schedule.h"
#include "rendezvous/store/store_client.h"

namespace muster::launcher {
namespace {

using rendezvous::StoreClient;
using std::chrono::seconds;

constexpr Duration kMeeting = seconds(30);    // until every worker has said where it listens
constexpr Duration kMeasuring = seconds(10);  // of one pair
constexpr Duration kTelling = seconds(5);     // after that, until all pairs have told
constexpr int kMaxNodes = 65536;

TimePoint in(Duration time) { return SystemClock().now() + time; }

std::string node_key(int node) { return fmt::format("pairs/node/{}", node); }
std::string traits_key(int node) { return fmt::format("pairs/traits/{}", node); }
std::string result_key(int round, int low) { return fmt::format("pairs/result/{}/{}", round, low); }

std::string done_key(int round) { return fmt::format("pairs/done/{}", round); }
std::string heard_key(int node) { return fmt::format("pairs/heard/{}", node); }

Result<int> number_of(const Environment& environment, std::string_view name, int most) {
  const auto text = environment.get(name);
  const auto number = text ? parse_integer(*text) : std::nullopt;
  if (number && *number >= 0 && *number <= most) return static_cast<int>(*number);
  return Error{Code::kConfig, 0, std::string(name) + " is no number that a worker has"};
}

// On networks of IPv6 alone MASTER_ADDR is a name, if the nodes have some.
Result<std::string> address_of(const std::string& host) {
  if (auto numeric = parse_numeric_host(host)) return std::move(*numeric);
  const auto verb = VerbLoop::create();
  if (!verb) return Error(verb.error());
  Loop& loop = (*verb)->loop();
  DnsResolver resolver(loop);
  LookupAnswer found;
  const Lookup lookup = resolver.resolve(host, kMeasuring, [&](const LookupAnswer& answer) {
    found = answer;
    loop.stop();
  });
  MUSTER_RETURN_IF_ERROR(loop.run());
  if (found.addresses.empty())
    return Error{Code::kPeer, 0, "MASTER_ADDR=" + one_line(host) + ": " + found.reason};
  return found.addresses.front();
}

class Worker {
 public:
  static Result<Worker> join(const Environment& environment, const std::string& own_traits) {
    const auto rank = number_of(environment, "RANK", kMaxNodes);
    if (!rank) return Error(rank.error());
    const auto size = number_of(environment, "WORLD_SIZE", kMaxNodes);
    if (!size) return Error(size.error());
    const auto port = number_of(environment, "MASTER_PORT", UINT16_MAX);
    if (!port) return Error(port.error());
    const auto host = address_of(std::string(environment.get("MASTER_ADDR").value_or("")));
    if (!host) return Error(host.error());
    const Address master{*host, static_cast<uint16_t>(*port)};
    auto store = StoreClient::connect(master, in(kMeeting));
    if (!store) return std::move(store).error();
    Worker worker(std::move(*store), *rank, *size);
    if (!own_traits.empty()) {
      MUSTER_RETURN_IF_ERROR(worker.store_.set(traits_key(*rank), own_traits, in(kMeeting)));
      worker.tells_of_itself_ = true;
    }
    MUSTER_RETURN_IF_ERROR(worker.listen(master));
    MUSTER_RETURN_IF_ERROR(worker.meet());
    return worker;
  }

  Result<std::string> work() {
    for (int round = 0; round < nccl::pair_rounds(size_); ++round) {
      if (const auto partner = nccl::partner_of(rank_, size_, round))
        MUSTER_RETURN_IF_ERROR(measure(*partner, round));
      // All begin the next one together: what still goes on would be measured as well.
      const std::string key = done_key(round);
      if (rank_ == 0) {
        MUSTER_RETURN_IF_ERROR(gather(round));
        MUSTER_RETURN_IF_ERROR(store_.set(key, "done", in(kTelling)));
      } else if (const auto done = store_.get(key, in(kMeeting)); !done) {
        return Error(done.error());
      }
    }
    if (rank_ != 0) return hear_report();
    nccl::PairVerdict verdict = nccl::judge_pairs(report_.pairs, report_.nodes);
    report_.findings = std::move(verdict.findings);
    report_.faulty = std::move(verdict.faulty);
    if (tells_of_itself_) MUSTER_RETURN_IF_ERROR(compare());
    std::string json = doctor_json(report_.findings, report_);
    MUSTER_RETURN_IF_ERROR(store_.set("pairs/report", json, in(kTelling)));
    // All know it: what is left in the store is no reason to know less here.
    (void)clear_store();
    return json;
  }

 private:
  Worker(StoreClient store, int rank, int size)
      : store_(std::move(store)), rank_(rank), size_(size) {}

  Status listen(const Address& master) {
    // Node rank 0 is at the address that the others dial.
    std::string own = master.host;
    if (rank_ != 0) {
      auto source = source_host(master);
      if (!source) return std::move(source).error();
      own = std::move(*source);
    }
    RealNetwork network;
    auto listener = network.listen({own, 0});
    if (!listener) return std::move(listener).error();
    listener_ = std::move(*listener);
    const auto address = network.local_address(listener_.get());
    if (!address) return Error(address.error());
    const auto name = host_name();
    return store_.set(node_key(rank_),
                      address->host + " " + std::to_string(address->port) + " " +
                          one_line(name ? *name : address->host),
                      in(kMeeting));
  }

  // Node rank 0 alone asks for each node, and makes one table for all.
  Status meet() {
    if (rank_ == 0) MUSTER_RETURN_IF_ERROR(make_table());
    const auto table = store_.get("pairs/table", in(2 * kMeeting));
    if (!table) return Error(table.error());
    const Error wrong{Code::kProtocol, 0, "the table of the nodes is not readable"};
    const auto lines = split(*table, '\n');
    if (lines.size() != static_cast<size_t>(size_) + 1) return wrong;
    token_ = lines[0];
    if (token_.size() != nccl::kPairTokenBytes) return wrong;
    for (size_t node = 1; node < lines.size(); ++node) {
      const auto words = words_of(lines[node]);
      const auto port = words.size() != 3 ? std::nullopt : parse_integer(words[1]);
      if (!port || *port < 0 || *port > UINT16_MAX) return wrong;
      addresses_.push_back({std::string(words[0]), static_cast<uint16_t>(*port)});
      report_.nodes.emplace_back(words[2]);
    }
    name_apart();
    return {};
  }

  Status make_table() {
    const auto token = unguessable_digits();
    if (!token) return Error(token.error());
    std::string table = token->substr(0, nccl::kPairTokenBytes);
    const TimePoint deadline = in(kMeeting);
    for (int node = 0; node < size_; ++node) {
      const auto line = wait_for(node_key(node), deadline);
      if (!line) return Error(line.error());
      table += "\n" + (*line ? one_line(**line) : fmt::format("- 0 node-{}", node));
    }
    return store_.set("pairs/table", table, in(kTelling));
  }

  Result<std::string> hear_report() {
    auto report = store_.get("pairs/report", in(kMeeting));
    if (report) MUSTER_RETURN_IF_ERROR(store_.set(heard_key(rank_), "heard", in(kTelling)));
    return report;
  }

  // Once all have heard it, or had the time to: the workers of a job may use this store next.
  // Whoever is called by a node that cannot reach it waits for that until its time is over, and
  // asks then.
  Status clear_store() {
    std::vector<std::string> heard;
    for (int node = 1; node < size_; ++node)
      if (has_come(node)) heard.push_back(heard_key(node));
    if (!heard.empty()) (void)store_.wait(heard, in(kMeasuring + kTelling));
    std::vector<std::string> keys = std::move(heard);
    keys.insert(keys.end(), {"pairs/table", "pairs/report"});
    for (int node = 0; node < size_; ++node) {
      keys.push_back(node_key(node));
      if (tells_of_itself_) keys.push_back(traits_key(node));
    }
    for (int round = 0; round < nccl::pair_rounds(size_); ++round) {
      keys.push_back(done_key(round));
      for (const auto& pair : nccl::pairs_of(size_, round))
        keys.push_back(result_key(round, pair.first));
    }
    for (const std::string& key : keys) MUSTER_RETURN_IF_ERROR(store_.remove(key, in(kTelling)));
    return {};
  }

  // On one machine, and in pods without names of their own, the address tells them apart.
  void name_apart() {
    const std::multiset<std::string> names(report_.nodes.begin(), report_.nodes.end());
    for (size_t node = 0; node < report_.nodes.size(); ++node) {
      if (names.count(report_.nodes[node]) > 1)
        report_.nodes[node] += " (" + addresses_[node].host + ")";
    }
  }

  [[nodiscard]] bool has_come(int node) const {
    return addresses_[static_cast<size_t>(node)].port != 0;
  }

  // The lower one calls, and tells what came out.
  Status measure(int partner, int round) {
    // A call of the first round that nobody took must not count in the second.
    const std::string token = std::to_string(round) + token_.substr(1);
    const nccl::PairExchange exchange{.token = token, .deadline = in(kMeasuring)};
    if (partner < rank_) {
      // What goes wrong the other side sees as well.
      (void)nccl::serve_pair(listener_.get(), exchange);
      return {};
    }
    if (!has_come(partner)) return {};
    const auto measured = nccl::call_pair(addresses_[static_cast<size_t>(partner)], exchange);
    const std::string told =
        measured ? fmt::format("{} {}", measured->latency_us, measured->bytes_per_second)
                 : "failed " + one_line(measured.error().text);
    return store_.set(result_key(round, rank_), told, in(kTelling));
  }

  Status gather(int round) {
    int come = 0;
    for (int node = 0; node < size_; ++node) come += has_come(node) ? 1 : 0;
    const TimePoint deadline = in(kMeasuring + kTelling);
    for (const auto& [low, high] : nccl::pairs_of(size_, round)) {
      nccl::PairResult result;
      result.low = low;
      result.high = high;
      for (const int node : {low, high}) {
        if (has_come(node)) continue;
        result.failure = name_of(node) + " did not come to the job's store";
        // If nobody came the fault may as well be at the store.
        if (come > 1) result.absent = node;
      }
      if (result.failure.empty()) {
        const auto told = wait_for(result_key(round, low), deadline);
        if (!told) return Error(told.error());
        take(*told, result);
      }
      report_.pairs.push_back(std::move(result));
    }
    return {};
  }

  // All have told of themselves before they said where they listen.
  Status compare() {
    std::vector<nccl::NodeTraits> traits;
    std::vector<std::string> names;
    for (int node = 0; node < size_; ++node) {
      if (!has_come(node)) continue;
      const auto told = store_.get(traits_key(node), in(kTelling));
      if (!told) return Error(told.error());
      auto parsed = nccl::parse_traits(*told);
      if (!parsed) return std::move(parsed).error();
      traits.push_back(std::move(*parsed));
      names.push_back(name_of(node));
    }
    for (nccl::Finding& finding : nccl::judge_traits(traits, names))
      report_.findings.push_back(std::move(finding));
    return {};
  }

  // What the lower node of the pair has told, if anything.
  void take(const std::optional<std::string>& told, nccl::PairResult& result) const {
    constexpr std::string_view kFailed = "failed ";
    if (!told) {
      result.failure = name_of(result.low) + " has told nothing";
    } else if (told->starts_with(kFailed)) {
      result.failure = told->substr(kFailed.size());
    } else {
      const auto words = words_of(*told);
      const auto latency = words.size() == 2 ? parse_number(words[0]) : std::nullopt;
      const auto rate = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
      if (!latency || !rate) result.failure = "what came out is not readable";
      result.latency_us = latency.value_or(0);
      result.bytes_per_second = rate.value_or(0);
    }
  }
  [[nodiscard]] const std::string& name_of(int node) const {
    return report_.nodes[static_cast<size_t>(node)];
  }

  // None: nobody has said it in time.
  Result<std::optional<std::string>> wait_for(const std::string& key, TimePoint deadline) {
    const auto there = store_.check({key}, in(kTelling));
    if (!there) return Error(there.error());
    auto told = store_.get(key, *there ? in(kTelling) : deadline);
    if (told) return std::optional(std::move(*told));
    if (told.error().code == Code::kTimeout) return std::optional<std::string>();
    return std::move(told).error();
  }

  StoreClient store_;
  int rank_;
  int size_;
  bool tells_of_itself_ = false;
  std::string token_;
  UniqueFd listener_;
  std::vector<Address> addresses_;
  PeersReport report_;
};

// What is missing, and what is of another kind, is empty.
nlohmann::json list_of(const nlohmann::json& object, const char* key) {
  const bool there = object.is_object() && object.contains(key) && object[key].is_array();
  return there ? object[key] : nlohmann::json::array();
}
std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}
std::string text_of(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) ? text_of(object[key]) : "";
}
double number_in(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : 0;
}
double number_of(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) ? number_in(object[key]) : 0;
}

nccl::Severity severity_of(const std::string& text) {
  using enum nccl::Severity;
  for (const auto severity : {kInfo, kWarning}) {
    if (nccl::to_string(severity) == text) return severity;
  }
  return kError;
}

double median_of(const PeersReport& report, double nccl::PairResult::*field) {
  std::vector<double> values;
  for (const auto& pair : report.pairs) {
    if (pair.failure.empty()) values.push_back(pair.*field);
  }
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

Result<PeersReport> parse_peers_report(std::string_view text) {
  const Error wrong{Code::kProtocol, 0, "the report of the peers is not readable"};
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return wrong;
  PeersReport report;
  for (const auto& node : list_of(*json, "nodes")) report.nodes.push_back(text_of(node));
  for (const auto& pair : list_of(*json, "pairs")) {
    const auto nodes = list_of(pair, "nodes");
    if (nodes.size() != 2) return wrong;
    report.pairs.push_back({.low = static_cast<int>(number_in(nodes[0])),
                            .high = static_cast<int>(number_in(nodes[1])),
                            .failure = text_of(pair, "failure"),
                            .latency_us = number_of(pair, "latency_us"),
                            .bytes_per_second = number_of(pair, "bytes_per_s")});
  }
  for (const auto& faulty : list_of(*json, "faulty"))
    report.faulty.push_back({static_cast<int>(number_of(faulty, "node")), text_of(faulty, "why")});
  for (const auto& finding : list_of(*json, "findings")) {
    report.findings.push_back({text_of(finding, "id"), severity_of(text_of(finding, "severity")),
                               text_of(finding, "what"), text_of(finding, "remedy")});
  }
  return report;
}

std::string peers_title(const PeersReport& report) {
  return fmt::format("{}, {}: {} and {:.0f} us, the medians",
                     counted(report.nodes.size(), "node", "nodes"),
                     counted(report.pairs.size(), "pair", "pairs"),
                     nccl::format_rate(median_of(report, &nccl::PairResult::bytes_per_second)),
                     median_of(report, &nccl::PairResult::latency_us));
}

Status run_pair_worker(const Environment& environment, const std::string& file) {
  RealFiles files;
  const bool has_file = file != kToStandardOutput;
  const auto own = has_file ? files.read(file + std::string(kOwnTraits), nccl::kMaxTraitsBytes)
                            : Result<std::string>("");
  if (!own) return Error(own.error());
  auto worker = Worker::join(environment, *own);
  if (!worker) return std::move(worker).error();
  auto report = worker->work();
  if (!report) return std::move(report).error();
  if (!has_file) {
    const bool is_written =
        std::fwrite(report->data(), 1, report->size(), stdout) == report->size();
    return is_written ? Status() : os_error("writing the report");
  }
  return files.write(file, *report);
}

}  // namespace muster::launcher
