#include "launcher/frameworks/worker_addresses.h"

#include <utility>

#include "base/text.h"

namespace muster::launcher {

void WorkerAddresses::prepare_round(const rendezvous::Assign& round, std::function<void()> ready) {
  hosts_.clear();
  for (const auto& node : round.roster) hosts_.push_back(node.host);
  reserve();
  ready_ = std::move(ready);
  host_->exchange(0, own_ports());
}

void WorkerAddresses::exchanged(const Result<std::vector<std::string>>& all) {
  all_.clear();
  if (!all) problem_ = all.error();
  for (size_t node = 0; !problem_ && node < all->size(); ++node) {
    const Status added = add(node < hosts_.size() ? hosts_[node] : "", all->at(node));
    if (!added) problem_ = added.error();
  }
  if (ready_) std::exchange(ready_, nullptr)();
}

Status WorkerAddresses::begin_attempt(const rendezvous::Assign& round) {
  if (round.node_count == 1) {
    reserve();
    all_.clear();
    if (!problem_) MUSTER_RETURN_IF_ERROR(add(round.roster.at(0).host, own_ports()));
  }
  if (problem_) return *problem_;
  if (all_.size() == static_cast<size_t>(round.world_size)) return {};
  return Error{Code::kPeer, 0,
               "the nodes told of " + counted(all_.size(), "worker", "workers") + " instead of " +
                   std::to_string(round.world_size)};
}

std::string WorkerAddresses::text(int rank) const {
  return all_.empty() ? std::string(kMadeAtStart) : at(rank).to_string();
}

void WorkerAddresses::release(int local_rank) {
  own_.at(static_cast<size_t>(local_rank)).release();
}

void WorkerAddresses::reserve() {
  problem_.reset();
  own_.clear();
  const int workers = host_->workers();
  for (int local_rank = 0; local_rank < workers; ++local_rank) {
    auto port = ReservedPort::take();
    if (!port) {
      problem_ = std::move(port).error();
      return;
    }
    own_.push_back(std::move(*port));
  }
}

// "40001 40002": other nodes read it.
std::string WorkerAddresses::own_ports() const {
  std::vector<std::string> ports;
  for (const ReservedPort& port : own_) ports.push_back(std::to_string(port.port()));
  return join(ports, " ");
}

Status WorkerAddresses::add(const std::string& host, const std::string& ports) {
  const auto numeric = parse_numeric_host(host);
  for (const std::string_view word : split(ports, ' ')) {
    if (word.empty()) continue;  // a node without workers
    const auto port = parse_integer(word);
    if (!numeric || !port || *port < 1 || *port > 65535) {
      return Error{Code::kPeer, 0,
                   "'" + host + "' told '" + std::string(clip_utf8(one_line(ports), 200)) +
                       "' as the ports of its workers"};
    }
    all_.push_back({*numeric, static_cast<uint16_t>(*port)});
  }
  return {};
}

}  // namespace muster::launcher
