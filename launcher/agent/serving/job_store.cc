#include "launcher/agent/serving/job_store.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "launcher/options/rendezvous_values.h"

namespace muster::launcher {

namespace {

constexpr const char* kLoopback = "127.0.0.1";

// The host that workers dial. A name cannot be used, as nothing here resolves names: on one node
// loopback serves as well.
std::string master_host(const Options& options) {
  for (const std::string& wanted : {options.local_addr.value_or(""), options.master_addr}) {
    if (auto numeric = parse_numeric_host(wanted)) return *numeric;
  }
  return kLoopback;
}

// The other end has closed, although bytes may be left to read.
bool has_hung_up(int socket) {
  pollfd watched{socket, POLLRDHUP, 0};
  return poll(&watched, 1, 0) == 1;
}

}  // namespace

Result<std::unique_ptr<JobStore>> JobStore::create(Loop& loop, Network& network,
                                                   const Options& options, bool hosted_by_worker) {
  std::unique_ptr<JobStore> store(new JobStore(loop, network, hosted_by_worker));
  const WantedPort wanted = hosted_by_worker ? WantedPort{} : wanted_port(options);
  store->master_ = {master_host(options), wanted.port};
  auto opened = store->listen();
  if (opened) return store;
  if (wanted.port == 0) return std::move(opened).error();
  return std::move(opened).error().with_context(
      "the port of " + std::string(wanted.flag) +
      " cannot be had (any free one is used without a port there)");
}

Result<std::unique_ptr<JobStore>> JobStore::listen_on(Loop& loop, Network& network,
                                                      const Address& address) {
  std::unique_ptr<JobStore> store(new JobStore(loop, network, /*hosted_by_worker=*/false));
  store->master_ = address;
  store->holding_ = true;
  MUSTER_RETURN_IF_ERROR(store->listen());
  return store;
}

Status JobStore::listen() {
  const auto hand_over = [this](Arrival arrival) {
    adopt(std::move(arrival.connection), std::move(arrival.first_bytes));
  };
  if (!hosted_by_worker_) {
    port_.serve(rendezvous::Protocol::kStoreCurrent, hand_over);
    port_.serve(rendezvous::Protocol::kStoreLegacy, hand_over);
  }
  auto address = port_.listen(master_);
  if (!address) {
    const bool elsewhere = address.error().os_errno == EADDRNOTAVAIL;
    Error error = std::move(address).error();
    if (!elsewhere) return std::move(error).with_context("opening the job port");
    error.code = Code::kConfig;
    return std::move(error).with_context(
        "opening the job port (--local-addr must be an address of this machine)");
  }
  master_.port = address->port;
  return {};
}

Status JobStore::move_to(const Address& address) {
  auto moved = port_.listen(address);
  if (!moved) return std::move(moved).error();
  master_ = {address.host, moved->port};
  return {};
}

void JobStore::adopt(UniqueFd connection, std::string first_bytes) {
  if (holding_) {
    if (early_.size() < std::min(kMaxEarlyClients, 2 * quarter_))
      early_.push_back({std::move(connection), std::move(first_bytes)});
    return;
  }
  if (lets_in(connection.get())) server_.adopt(std::move(connection), first_bytes);
}

void JobStore::serve_workers(rendezvous::Protocol protocol, rendezvous::JobPort::Handler handler,
                             std::function<size_t()> clients) {
  other_clients_ = std::move(clients);
  port_.serve(protocol, [this, handler = std::move(handler)](Arrival arrival) {
    if (lets_in(arrival.connection.get())) handler(std::move(arrival));
  });
}

// Clients prove nothing. Other users of this machine are let in as long as there is much room, and
// nobody gets what the job needs to start its workers again.
bool JobStore::lets_in(int connection) {
  if (!admission_.admits(connection)) return false;
  const size_t clients = server_.counters().connections + other_clients_();
  const bool is_full = clients >= 3 * quarter_;
  if (!is_full && (clients < quarter_ || knows(connection))) return true;
  if (const auto untold = lines_.take())
    log::warning("store.client_refused",
                 {{"clients", clients},
                  {"untold", *untold},
                  {"reason", is_full ? "three quarters of the descriptors are taken (ulimit -n)"
                                     : "another user of this machine, and a quarter of the "
                                       "descriptors is taken (ulimit -n)"}});
  return false;
}

bool JobStore::knows(int connection) const {
  const auto own = network_.local_address(connection);
  return own && admission_.knows(connection, *own);
}

void JobStore::hold() {
  server_.clear();
  holding_ = true;
}

Result<Address> JobStore::begin_attempt() {
  if (!hosted_by_worker_) {
    server_.clear();
    holding_ = false;
    for (Early& early : std::exchange(early_, {})) {
      // Workers of earlier rounds are all dead by now, and so are their connections.
      if (!has_hung_up(early.connection.get()) && admission_.admits(early.connection.get()))
        server_.adopt(std::move(early.connection), std::move(early.first_bytes));
    }
    return master_;
  }
  // Found by listening and closing again: rank 0 will take it in a moment.
  auto probe = network_.listen({master_.host, 0});
  if (!probe) return std::move(probe).error().with_context("looking for a free port");
  return network_.local_address(probe->get());
}

}  // namespace muster::launcher
