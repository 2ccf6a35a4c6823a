#include "nccl/probe/ping_pong.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "nccl/probe/deadline.h"
#include "nccl/probe/fabric_endpoint.h"
#include "nccl/probe/fabric_library.h"
#include "nccl/probe/latency.h"
#include "nccl/probe/own_interface.h"
#include "nccl/probe/peer_link.h"

namespace muster::probe {
namespace {

using nlohmann::json;

constexpr std::string_view kWithMessages = ";ofi_rxm";
constexpr size_t kPingBytes = 8;
constexpr int kWarmUp = 100;  // the first one makes a connection
constexpr int kPings = 2'000;
constexpr Duration kPingTime = std::chrono::seconds(1);
constexpr Duration kFlowTime = std::chrono::milliseconds(300);
constexpr char kMore = 'm';
constexpr char kLast = 'l';

TimePoint now() { return SystemClock().now(); }

bool is_over_tcp(std::string_view provider) {
  const std::string_view core = provider.substr(0, provider.find(';'));
  return core == "tcp" || core == "net" || core == "sockets";
}

// The part that reaches the network: a filter for libfabric.
std::string cores_of(const std::vector<std::string>& providers) {
  std::vector<std::string> cores;
  for (const std::string& each : providers) {
    std::string core = each.substr(0, each.find(';'));
    if (std::find(cores.begin(), cores.end(), core) == cores.end())
      cores.push_back(std::move(core));
  }
  return join(cores, ",");
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Error unusual(const std::string& provider) {
  return {Code::kProtocol, 0,
          "the other side names the provider '" + provider + "', which only --provider may do"};
}

// What both sides have when they measure.
struct Meeting {
  PeerLink& link;
  FabricEndpoint& endpoint;
  size_t window;  // of the side that has the smaller one
  std::string peer_domain;
};

json introduction(const FabricEndpoint& endpoint, const std::string& address) {
  return {{"provider", endpoint.provider()},
          {"domain", endpoint.domain()},
          {"window", endpoint.window()},
          {"address", to_base64(address)}};
}

/// What a side brings: the library, and where its endpoint shall be.
class Side {
 public:
  Side(const FabricLibrary& library, std::string interface, std::string host)
      : library_(library), interface_(std::move(interface)), host_(std::move(host)) {}

  /// At the first of `providers` that is here. Else the error about one that is, or the first.
  Result<std::unique_ptr<FabricEndpoint>> make_endpoint(const std::vector<std::string>& providers,
                                                        bool is_interface_given) const {
    note_step("libfabric, which opens an endpoint");
    std::optional<Error> problem;
    for (const std::string& provider : providers) {
      FabricPlace place{.provider = provider, .interface = "", .host = ""};
      if (is_interface_given || is_over_tcp(provider)) place.interface = interface_;
      if (is_over_tcp(provider)) place.host = host_;
      auto endpoint = FabricEndpoint::make(library_, place);
      if (endpoint) return endpoint;
      if (!problem || endpoint.error().os_errno != ENODATA) problem = std::move(endpoint).error();
    }
    return problem.value_or(Error{Code::kConfig, 0, "the other side names no provider"});
  }

 private:
  FabricLibrary library_;
  std::string interface_;
  std::string host_;
};

Result<Side> prepare(const PeerLink& link, const ProbeCall& call,
                     const std::vector<std::string>& providers, const Environment& environment) {
  note_step("loading libfabric");
  const auto own = link.local_address();
  if (!own) return Error(own.error());
  const std::string interface = call.interface.empty() ? own_interface(own->host) : call.interface;
  auto library = FabricLibrary::load(environment, cores_of(providers), interface);
  if (!library) return std::move(library).error();
  return Side(*library, interface, own->host);
}

Result<Meeting> meet(PeerLink& link, FabricEndpoint& endpoint, const json& introduced) {
  const auto address = from_base64(text_of(introduced, "address"));
  const json window = introduced.value("window", json(0));
  if (!address || !window.is_number_unsigned() || window.get<size_t>() == 0)
    return Error{Code::kProtocol, 0, "the other side does not say where it is"};
  MUSTER_RETURN_IF_ERROR(endpoint.set_peer(*address));
  return Meeting{link, endpoint, std::min(endpoint.window(), window.get<size_t>()),
                 text_of(introduced, "domain")};
}

Result<std::vector<double>> ping(const Meeting& meeting) {
  note_step("small messages, of which no answer comes");
  FabricEndpoint& endpoint = meeting.endpoint;
  MUSTER_RETURN_IF_ERROR(meeting.link.await_signal());
  std::vector<double> micros;
  const TimePoint end = now() + kPingTime;
  for (int i = 1 - kWarmUp; i <= kPings; ++i) {
    const TimePoint begin = now();
    const bool is_last = i == kPings || (i > 0 && begin > end);
    MUSTER_RETURN_IF_ERROR(endpoint.post_receive(0));
    MUSTER_RETURN_IF_ERROR(endpoint.post_send(kPingBytes, is_last ? kLast : kMore));
    MUSTER_RETURN_IF_ERROR(endpoint.finish_receives());
    const std::chrono::duration<double, std::micro> trip = now() - begin;
    MUSTER_RETURN_IF_ERROR(endpoint.finish_sends());
    if (i > 0) micros.push_back(trip.count());
    if (is_last) break;
  }
  return micros;
}

Status answer_pings(const Meeting& meeting) {
  note_step("small messages, of which none comes");
  FabricEndpoint& endpoint = meeting.endpoint;
  MUSTER_RETURN_IF_ERROR(endpoint.post_receive(0));
  MUSTER_RETURN_IF_ERROR(meeting.link.signal());
  for (bool is_last = false; !is_last;) {
    MUSTER_RETURN_IF_ERROR(endpoint.finish_receives());
    is_last = endpoint.first_of(0) == kLast;
    if (!is_last) MUSTER_RETURN_IF_ERROR(endpoint.post_receive(0));
    MUSTER_RETURN_IF_ERROR(endpoint.post_send(kPingBytes, kMore));
    MUSTER_RETURN_IF_ERROR(endpoint.finish_sends());
  }
  return {};
}

// The receiver says how many messages come next: twice as many as before, so that a slow link is
// not given what takes it minutes. 0 = it has seen enough.
Status send_flow(const Meeting& meeting) {
  note_step("large messages, which do not arrive");
  FabricEndpoint& endpoint = meeting.endpoint;
  MUSTER_RETURN_IF_ERROR(meeting.link.await_signal());
  for (size_t count = 1; count > 0;) {
    MUSTER_RETURN_IF_ERROR(endpoint.post_receive(0));
    for (size_t i = 0; i < count; ++i)
      MUSTER_RETURN_IF_ERROR(endpoint.post_send(kMessageBytes, kMore));
    MUSTER_RETURN_IF_ERROR(endpoint.finish_sends());
    MUSTER_RETURN_IF_ERROR(endpoint.finish_receives());
    count = std::min<size_t>(static_cast<unsigned char>(endpoint.first_of(0)), meeting.window);
  }
  return {};
}

// Bytes a second. Measured from the first full window on, if there is one in time.
Result<double> receive_flow(const Meeting& meeting) {
  note_step("large messages, which do not come");
  FabricEndpoint& endpoint = meeting.endpoint;
  MUSTER_RETURN_IF_ERROR(endpoint.post_receive(0));
  MUSTER_RETURN_IF_ERROR(meeting.link.signal());
  TimePoint begin = now();
  size_t messages = 0;
  for (size_t count = 1;;) {
    MUSTER_RETURN_IF_ERROR(endpoint.finish_receives());
    messages += count;
    const std::chrono::duration<double> spent = now() - begin;
    const size_t next = spent >= kFlowTime ? 0 : std::min(2 * count, meeting.window);
    for (size_t slot = 0; slot < next; ++slot) MUSTER_RETURN_IF_ERROR(endpoint.post_receive(slot));
    if (next == meeting.window && count < next) {
      messages = 0;
      begin = now();
    }
    MUSTER_RETURN_IF_ERROR(endpoint.post_send(kPingBytes, static_cast<char>(next)));
    MUSTER_RETURN_IF_ERROR(endpoint.finish_sends());
    if (next == 0) return static_cast<double>(messages * kMessageBytes) / spent.count();
    count = next;
  }
}

json facts_of(const Meeting& meeting) {
  return {{"provider", meeting.endpoint.provider()},
          {"domain", meeting.endpoint.domain()},
          {"peer_domain", meeting.peer_domain}};
}

Result<json> measure(const Meeting& meeting) {
  const auto trips = ping(meeting);
  if (!trips) return Error(trips.error());
  MUSTER_RETURN_IF_ERROR(send_flow(meeting));
  const auto told = meeting.link.hear();
  if (!told) return Error(told.error());
  const json forth = told->value("bytes_per_s", json(0));
  const auto back = receive_flow(meeting);
  if (!back) return Error(back.error());
  if (!forth.is_number()) return Error{Code::kProtocol, 0, "the other side tells no rate"};
  const Latency latency = latency_of(*trips);
  json facts = facts_of(meeting);
  facts["latency_us"] = {{"p50", latency.p50_us}, {"p99", latency.p99_us}};
  facts["bytes_per_s"] = std::min(forth.get<double>(), *back);
  facts["bytes_per_s_to_peer"] = forth;
  facts["bytes_per_s_from_peer"] = *back;
  // Nobody leaves while the other one still waits for an acknowledgement.
  MUSTER_RETURN_IF_ERROR(meeting.link.signal());
  meeting.endpoint.linger();
  return facts;
}

Result<json> serve(const Meeting& meeting) {
  MUSTER_RETURN_IF_ERROR(answer_pings(meeting));
  const auto rate = receive_flow(meeting);
  if (!rate) return Error(rate.error());
  MUSTER_RETURN_IF_ERROR(meeting.link.tell({{"bytes_per_s", *rate}}));
  MUSTER_RETURN_IF_ERROR(send_flow(meeting));
  json facts = facts_of(meeting);
  facts["bytes_per_s_from_peer"] = *rate;
  meeting.endpoint.linger();
  MUSTER_RETURN_IF_ERROR(meeting.link.await_signal());
  return facts;
}

// The other side is told as well, so that it need not wait for its deadline.
Result<json> give_up(PeerLink& link, const Error& problem, bool is_library_missing) {
  (void)link.tell({{"problem", problem.text}});  // it may be gone, which is no news
  if (!is_library_missing) return problem;
  return json{{"libfabric", {{"absent", problem.text}}}};
}

bool is_missing(const Result<Side>& side) { return !side && side.error().code == Code::kConfig; }

Result<json> call_peer(const ProbeCall& call, const Environment& environment, TimePoint deadline) {
  note_step("nobody listens there");
  auto link = PeerLink::call(*call.peer, deadline);
  if (!link) return std::move(link).error();
  MUSTER_RETURN_IF_ERROR(link->tell({{"provider", call.provider}}));
  note_step("the other side says nothing");
  const auto introduced = link->hear();
  if (!introduced) return Error(introduced.error());
  const std::string provider = text_of(*introduced, "provider");
  if (!is_provider(call.provider, provider)) {
    const std::string text =
        "wanted is " + call.provider + ", and the other side has '" + provider + "'";
    return give_up(*link, {Code::kConfig, 0, text}, false);
  }
  if (call.provider.empty() && !is_usual_provider(provider))
    return give_up(*link, unusual(provider), false);
  const auto side = prepare(*link, call, {provider}, environment);
  if (!side) return give_up(*link, side.error(), is_missing(side));
  auto endpoint = side->make_endpoint({provider}, !call.interface.empty());
  if (!endpoint) return give_up(*link, endpoint.error(), false);
  const auto address = (*endpoint)->address();
  if (!address) return give_up(*link, address.error(), false);
  MUSTER_RETURN_IF_ERROR(link->tell(introduction(**endpoint, *address)));
  auto meeting = meet(*link, **endpoint, *introduced);
  if (!meeting) return std::move(meeting).error();
  return measure(*meeting);
}

Result<json> await_peer(const ProbeCall& call, const Environment& environment, TimePoint deadline) {
  note_step("nobody has called");
  auto link = PeerLink::await(call.port, deadline);
  if (!link) return std::move(link).error();
  note_step("the other side says nothing");
  const auto wish = link->hear();
  if (!wish) return Error(wish.error());
  const std::string wanted = text_of(*wish, "provider");
  if (call.provider.empty() && !wanted.empty() && !is_usual_provider(wanted))
    return give_up(*link, unusual(wanted), false);
  const auto providers = provider_choice(call.provider.empty() ? wanted : call.provider);
  const auto side = prepare(*link, call, providers, environment);
  if (!side) return give_up(*link, side.error(), is_missing(side));
  auto endpoint = side->make_endpoint(providers, !call.interface.empty());
  if (!endpoint) return give_up(*link, endpoint.error(), false);
  const auto address = (*endpoint)->address();
  if (!address) return give_up(*link, address.error(), false);
  MUSTER_RETURN_IF_ERROR(link->tell(introduction(**endpoint, *address)));
  note_step("the other side opens its endpoint");
  const auto introduced = link->hear();
  if (!introduced) return Error(introduced.error());
  auto meeting = meet(*link, **endpoint, *introduced);
  if (!meeting) return std::move(meeting).error();
  return serve(*meeting);
}

}  // namespace

std::vector<std::string> provider_choice(std::string_view wanted) {
  if (wanted.empty()) return {"efa", "cxi", "verbs;ofi_rxm", "tcp;ofi_rxm", "net"};
  std::vector<std::string> choice{std::string(wanted)};
  if (wanted.find(';') == std::string_view::npos)
    choice.push_back(std::string(wanted) + std::string(kWithMessages));
  return choice;
}

bool is_provider(std::string_view wanted, std::string_view offered) {
  if (wanted.empty() || wanted == offered) return true;
  return offered.starts_with(wanted) && offered.substr(wanted.size()) == kWithMessages;
}

bool is_usual_provider(std::string_view provider) {
  constexpr std::array<std::string_view, 6> kUsual{"efa", "cxi", "verbs", "tcp", "net", "shm"};
  return std::any_of(kUsual.begin(), kUsual.end(),
                     [provider](std::string_view each) { return is_provider(each, provider); });
}

Result<json> ping_pong(const ProbeCall& call, const Environment& environment, TimePoint deadline) {
  return call.peer ? call_peer(call, environment, deadline)
                   : await_peer(call, environment, deadline);
}

}  // namespace muster::probe
