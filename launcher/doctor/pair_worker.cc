#include "launcher/doctor/pair_worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/interfaces.h"
#include "base/process/verb_loop.h"
#include "base/resolver.h"
#include "base/text.h"
#include "base/timed_stream.h"
#include "base/unguessable.h"
#include "launcher/doctor/doctor_text.h"
#include "launcher/doctor/library_probe.h"
#include "launcher/doctor/peers_report.h"
#include "launcher/doctor/provider_probe.h"
#include "nccl/pairs/node_traits.h"
#include "nccl/pairs/pair_exchange.h"
#include "nccl/pairs/pair_schedule.h"
#include "nccl/pairs/provider_choice.h"
#include "rendezvous/store/store_client.h"

namespace muster::launcher {
namespace {

using rendezvous::StoreClient;
using std::chrono::seconds;

constexpr Duration kMeeting = seconds(30);    // until every worker has said where it listens
constexpr Duration kMeasuring = seconds(10);  // of one pair
constexpr Duration kProviding = seconds(10);  // of one pair, over a provider
constexpr Duration kTelling = seconds(5);     // after that, until all pairs have told
constexpr int kMaxNodes = 65536;

TimePoint in(Duration time) { return SystemClock().now() + time; }

std::string node_key(int node) { return fmt::format("pairs/node/{}", node); }
std::string traits_key(int node) { return fmt::format("pairs/traits/{}", node); }
std::string result_key(int round, int low) { return fmt::format("pairs/result/{}/{}", round, low); }

std::string port_key(int round, int low) { return fmt::format("pairs/port/{}/{}", round, low); }
std::string served_key(int round, int low) { return fmt::format("pairs/served/{}/{}", round, low); }
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

constexpr std::string_view kFailed = "failed ";
constexpr std::string_view kNoProvider = "-";

std::string told_of(const Result<nccl::PairMeasure>& measured) {
  return measured ? fmt::format("{} {}", measured->latency_us, measured->bytes_per_second)
                  : std::string(kFailed) + one_line(measured.error().text);
}

// The other way round.
Result<nccl::PairMeasure> parse_told(std::string_view told) {
  if (told.starts_with(kFailed))
    return Error{Code::kPeer, 0, std::string(told.substr(kFailed.size()))};
  const auto words = words_of(told);
  const auto latency = words.size() == 2 ? parse_number(words[0]) : std::nullopt;
  const auto rate = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
  if (!latency || !rate) return Error{Code::kProtocol, 0, "what came out is not readable"};
  return nccl::PairMeasure{*latency, *rate};
}

// What this node has of libfabric, and what was asked for.
struct OwnProviders {
  std::optional<ProbeProgram> program;  // none = there is no muster-probe
  nccl::NodeProviders offered;
  std::string asked;  // "" = nothing
};

class Worker {
 public:
  static Result<Worker> join(const Environment& environment, const std::string& own_traits,
                             OwnProviders providers) {
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
    Worker worker(std::move(*store), *rank, *size, std::move(providers));
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
      } else if (const auto done = store_.get(key, in(2 * kMeeting)); !done) {
        return Error(done.error());
      }
    }
    if (rank_ != 0) return hear_report();
    nccl::PairVerdict verdict = nccl::judge_pairs(report_.pairs, report_.nodes);
    report_.findings = std::move(verdict.findings);
    report_.faulty = std::move(verdict.faulty);
    judge_provider();
    if (tells_of_itself_) MUSTER_RETURN_IF_ERROR(compare());
    std::string json = doctor_json(report_.findings, report_);
    MUSTER_RETURN_IF_ERROR(store_.set("pairs/report", json, in(kTelling)));
    // All know it: what is left in the store is no reason to know less here.
    (void)clear_store();
    return json;
  }

 private:
  Worker(StoreClient store, int rank, int size, OwnProviders providers)
      : store_(std::move(store)), rank_(rank), size_(size), own_(std::move(providers)) {}

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
                          one_line(name ? *name : address->host) + " " + encode(own_.offered),
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
    const auto agreed = words_of(lines[0]);
    if (agreed.size() != 2 || agreed[0].size() != nccl::kPairTokenBytes) return wrong;
    if (!nccl::is_provider_name(agreed[1])) return wrong;
    token_ = agreed[0];
    if (agreed[1] != kNoProvider) provider_ = agreed[1];
    for (size_t node = 1; node < lines.size(); ++node) {
      const auto words = words_of(lines[node]);
      const auto port = words.size() != 4 ? std::nullopt : parse_integer(words[1]);
      if (!port || *port < 0 || *port > UINT16_MAX) return wrong;
      auto offered = nccl::parse_providers(words[3]);
      if (!offered) return wrong;
      addresses_.push_back({std::string(words[0]), static_cast<uint16_t>(*port)});
      report_.nodes.emplace_back(words[2]);
      offered_.push_back(std::move(*offered));
    }
    name_apart();
    return {};
  }

  Status make_table() {
    const auto token = unguessable_digits();
    if (!token) return Error(token.error());
    std::string table;
    std::vector<nccl::NodeProviders> offered;
    const TimePoint deadline = in(kMeeting);
    for (int node = 0; node < size_; ++node) {
      const auto line = wait_for(node_key(node), deadline);
      if (!line) return Error(line.error());
      table += "\n" + (*line ? one_line(**line) : fmt::format("- 0 node-{} -", node));
      if (!*line) continue;
      const auto words = words_of(**line);
      const auto told = words.empty() ? std::nullopt : nccl::parse_providers(words.back());
      offered.push_back(told.value_or(nccl::NodeProviders{}));
    }
    std::string provider = own_.asked.empty() ? nccl::choose_provider(offered) : own_.asked;
    if (provider.empty()) provider = kNoProvider;
    const std::string head = token->substr(0, nccl::kPairTokenBytes) + " " + provider;
    return store_.set("pairs/table", head + table, in(kTelling));
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
      for (const auto& pair : nccl::pairs_of(size_, round)) {
        keys.push_back(result_key(round, pair.first));
        if (!has_provider(pair.first, pair.second)) continue;
        keys.push_back(port_key(round, pair.first));
        keys.push_back(served_key(round, pair.first));
      }
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
    // The table is made by another node.
    const bool has_second_way = own_.program && has_provider(rank_, partner);
    if (partner < rank_) {
      // What goes wrong the other side sees as well.
      const Status served = nccl::serve_pair(listener_.get(), exchange);
      return has_second_way ? serve_provider(served, partner, round) : Status();
    }
    if (!has_come(partner)) return {};
    const auto measured = nccl::call_pair(addresses_[static_cast<size_t>(partner)], exchange);
    std::string told = told_of(measured);
    if (measured && has_second_way) {
      const auto over = call_provider(partner, round);
      if (!over) return Error(over.error());
      told += "\n" + *over;
    }
    return store_.set(result_key(round, rank_), told, in(kTelling));
  }

  // Both can measure over it.
  [[nodiscard]] bool has_provider(int node, int other) const {
    if (provider_.empty()) return false;
    return nccl::offers(offered_[static_cast<size_t>(node)], provider_) &&
           nccl::offers(offered_[static_cast<size_t>(other)], provider_);
  }

  Status serve_provider(const Status& served, int partner, int round) {
    const auto tell = [&](const Result<uint16_t>& port) {
      const std::string told =
          port ? std::to_string(*port) : std::string(kFailed) + one_line(port.error().text);
      return store_.set(port_key(round, partner), told, in(kTelling));
    };
    MUSTER_RETURN_IF_ERROR(served ? serve_over_provider(*own_.program, provider_, kProviding, tell)
                                  : tell(Error(served.error())));
    return store_.set(served_key(round, partner), "served", in(kTelling));
  }

  // What came out, as it is told. An error is of the store.
  Result<std::string> call_provider(int partner, int round) {
    const TimePoint deadline = in(kProviding);
    const auto told = wait_for(port_key(round, rank_), deadline);
    if (!told) return Error(told.error());
    if (!*told) return std::string(kFailed) + name_of(partner) + " does not say where it listens";
    const auto port = parse_integer(**told);
    if (!port || *port < 1 || *port > UINT16_MAX) return one_line(**told);
    const Address peer{addresses_[static_cast<size_t>(partner)].host, static_cast<uint16_t>(*port)};
    return told_of(
        call_over_provider(*own_.program, provider_, peer, deadline - SystemClock().now()));
  }

  Status gather(int round) {
    int come = 0;
    for (int node = 0; node < size_; ++node) come += has_come(node) ? 1 : 0;
    const Duration providing = provider_.empty() ? Duration() : kProviding;
    const TimePoint deadline = in(kMeasuring + providing + kTelling);
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
        MUSTER_RETURN_IF_ERROR(await_served(low, high, round, deadline));
      }
      report_.pairs.push_back(std::move(result));
    }
    return {};
  }

  // Whoever still listens for a call over the provider does not yet answer in the next round.
  Status await_served(int low, int high, int round, TimePoint deadline) {
    if (!has_provider(low, high)) return {};
    const auto served = wait_for(served_key(round, low), deadline);
    return served ? Status() : Error(served.error());
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

  // A node without what was asked for is no fault of its pairs.
  void judge_provider() {
    if (own_.asked.empty()) return;
    std::vector<nccl::NodeProviders> offered;
    std::vector<std::string> names;
    for (int node = 0; node < size_; ++node) {
      if (!has_come(node)) continue;
      offered.push_back(offered_[static_cast<size_t>(node)]);
      names.push_back(name_of(node));
    }
    for (nccl::Finding& finding : nccl::judge_providers(provider_, offered, names))
      report_.findings.push_back(std::move(finding));
  }

  // What the lower node of the pair has told, if anything: a line for TCP, and one for the provider
  // if it was tried.
  void take(const std::optional<std::string>& told, nccl::PairResult& result) const {
    if (!told) {
      result.failure = name_of(result.low) + " has told nothing";
      return;
    }
    const auto lines = split(*told, '\n');
    const auto measured = parse_told(lines[0]);
    if (!measured) {
      result.failure = measured.error().text;
      return;
    }
    result.latency_us = measured->latency_us;
    result.bytes_per_second = measured->bytes_per_second;
    if (lines.size() < 2) return;
    const auto over = parse_told(lines[1]);
    result.over_provider = nccl::ProviderResult{provider_};
    if (!over) {
      result.over_provider->failure = over.error().text;
      return;
    }
    result.over_provider->latency_us = over->latency_us;
    result.over_provider->bytes_per_second = over->bytes_per_second;
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
  OwnProviders own_;
  bool tells_of_itself_ = false;
  std::string token_;
  std::string provider_;  // over which the pairs measure besides; "" = over none
  UniqueFd listener_;
  std::vector<Address> addresses_;
  std::vector<nccl::NodeProviders> offered_;
  PeersReport report_;
};

// By which the kernel knows EFA, InfiniBand and RoCE; and Slingshot.
bool has_fabric_device(const Files& files) {
  return std::ranges::any_of(std::array{"/sys/class/infiniband", "/sys/class/cxi"},
                             [&files](const char* folder) {
                               const auto devices = files.list(folder);
                               return devices && !devices->empty();
                             });
}

OwnProviders own_providers(const PairWorkerCall& call, bool is_asked_anyway) {
  OwnProviders own;
  own.asked = call.provider;
  if (!is_asked_anyway && !has_fabric_device(call.files)) return own;
  const std::string path = find_library_probe(call.files, call.environment);
  if (path.empty()) return own;
  own.program.emplace(ProbeProgram{path, call.environment, call.setup});
  own.offered = {.has_probe = true, .names = ask_providers(*own.program)};
  return own;
}

}  // namespace

Status run_pair_worker(const PairWorkerCall& call) {
  const bool has_file = call.file != kToStandardOutput;
  const auto own = has_file
                       ? call.files.read(call.file + std::string(kOwnTraits), nccl::kMaxTraitsBytes)
                       : Result<std::string>("");
  if (!own) return Error(own.error());
  // Loading libfabric takes a moment, which a round of a job need not spend in vain.
  auto worker = Worker::join(call.environment, *own, own_providers(call, has_file));
  if (!worker) return std::move(worker).error();
  auto report = worker->work();
  if (!report) return std::move(report).error();
  if (!has_file) {
    const bool is_written =
        std::fwrite(report->data(), 1, report->size(), stdout) == report->size();
    return is_written ? Status() : os_error("writing the report");
  }
  return call.files.write(call.file, *report);
}

}  // namespace muster::launcher
