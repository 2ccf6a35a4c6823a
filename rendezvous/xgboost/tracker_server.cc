#include "rendezvous/xgboost/tracker_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

Error peer_gone(int os_errno) { return {Code::kPeer, os_errno, "it is gone"}; }

Error out_of_place(const char* word) {
  return {Code::kProtocol, 0, std::string(word) + " from one that is in no group"};
}

std::string peer_text(int fd) {
  const auto address = peer_address(fd);
  return address ? address->to_string() : "unknown";
}

}  // namespace

struct TrackerServer::Client {
  UniqueFd fd;
  Watch watch;  // after fd: unregistered before it is closed
  Timer deadline;
  TrackerDecoder decoder;
  size_t counted_bytes = 0;  // of the decoder, in kept_bytes_
  std::string unsent;
  bool is_last = false;  // what is unsent is our last word
  std::optional<tracker::Header> header;
  int rank = -1;  // of a classic worker while its group forms
  int link_rounds = 0;
};

TrackerServer::TrackerServer(Loop& loop, Network& network, TrackerHooks hooks)
    : loop_(loop), hooks_(std::move(hooks)), aborts_(loop, network), lines_(loop) {}

TrackerServer::~TrackerServer() = default;

void TrackerServer::adopt(Arrival arrival) {
  const TrackerClient id = next_id_++;
  auto client = std::make_unique<Client>();
  client->fd = std::move(arrival.connection);
  auto watch = loop_.watch(client->fd.get(), Interest::kRead,
                           [this, id](Ready ready) { on_ready(id, ready); });
  if (!watch) return;  // no memory, and the worker tries again
  client->watch = std::move(*watch);
  client->deadline = loop_.after(kTrackerHeaderTime, [this, id] {
    drop(id, {Code::kTimeout, 0,
              "it has not said who it is for " + format_duration(kTrackerHeaderTime)});
  });
  client->decoder.append(arrival.first_bytes);
  clients_.emplace(id, std::move(client));
  if (auto taken = take_messages(id); !taken) drop(id, taken.error());
}

void TrackerServer::begin(int world_size) {
  end();
  group_.begin(world_size);
}

void TrackerServer::end() {
  clients_.clear();
  kept_bytes_ = 0;
  links_.reset();
  aborts_.cancel();
  absent_timer_.reset();
  group_.begin(0);
  failed_ = false;
}

void TrackerServer::on_ready(TrackerClient id, Ready ready) {
  if (ready.writable) queue(id, "");
  if (ready.readable && clients_.contains(id)) receive(id);
}

void TrackerServer::receive(TrackerClient id) {
  Client& client = *clients_.at(id);
  const ssize_t count = recv(client.fd.get(), received_.data(), received_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return drop(id, peer_gone(count == 0 ? 0 : errno));
  client.decoder.append({received_.data(), static_cast<size_t>(count)});
  if (auto taken = take_messages(id); !taken) drop(id, taken.error());
}

Status TrackerServer::take_messages(TrackerClient id) {
  for (;;) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) return {};  // that was its last word
    Client& client = *found->second;
    auto message = client.decoder.next();
    if (!message) return std::move(message).error();
    if (!*message) {
      kept_bytes_ += client.decoder.kept_bytes() - client.counted_bytes;
      client.counted_bytes = client.decoder.kept_bytes();
      if (kept_bytes_ <= kMaxTrackerBytes) return {};
      return Error{Code::kLimit, 0,
                   "unfinished words make " + std::to_string(kept_bytes_) + " bytes, limit " +
                       std::to_string(kMaxTrackerBytes)};
    }
    MUSTER_RETURN_IF_ERROR(take(id, **message));
  }
}

Status TrackerServer::take(TrackerClient id, const TrackerMessage& message) {
  Client& client = *clients_.at(id);
  if (std::holds_alternative<tracker::Greeting>(message)) {
    queue(id, encode_magic());
  } else if (const auto* header = std::get_if<tracker::Header>(&message)) {
    client.header = *header;
    client.deadline.reset();
  } else if (const auto* start = std::get_if<tracker::Start>(&message)) {
    return join(id, *start);
  } else if (const auto* good = std::get_if<tracker::GoodLinks>(&message)) {
    return give_links(id, *good);
  } else if (std::holds_alternative<tracker::LinksFailed>(message)) {
    // Not 0: it asks again, which is counted there.
    if (client.rank < 0) return out_of_place("failed links");
  } else if (const auto* listening = std::get_if<tracker::Listening>(&message)) {
    if (client.rank < 0) return out_of_place("a port");
    const int rank = client.rank;
    remove(id);
    listens(rank, listening->port);
  } else {
    tell(client, message);
    remove(id);  // if the word has not ended all
  }
  return {};
}

// Words that get no answer: the connection ends with them.
void TrackerServer::tell(Client& client, const TrackerMessage& message) {
  const tracker::Header& header = *client.header;
  if (const auto* ended = std::get_if<tracker::Ended>(&message)) {
    if (header.rank < 0 || header.world_size != group_.world_size()) return;
    const auto failure = worker_ended(header.rank, ended->success);
    if (failure) fail(*failure);
    return;
  }
  TrackerWorker* worker = group_.find(header);
  if (worker == nullptr) {  // of an attempt before, most likely
    log::debug("tracker.word_ignored", {{"task_id", one_line(header.task_id)},
                                        {"rank", header.rank},
                                        {"world_size", header.world_size}});
  } else if (const auto* print = std::get_if<tracker::Print>(&message)) {
    hooks_.print(print->text);
  } else if (const auto* signal = std::get_if<tracker::Signal>(&message)) {
    log::warning("tracker.error_signalled", {{"rank", header.rank},
                                             {"code", signal->code},
                                             {"message", signal->text},
                                             {"action", "going on; how its process ends counts"}});
  } else {
    group_.shut_down(*worker);
  }
}

// ---- joining

Status TrackerServer::join(TrackerClient id, const tracker::Start& start) {
  Client& client = *clients_.at(id);
  if (group_.world_size() == 0) return Error{Code::kProtocol, 0, "no workers of this job run now"};
  const auto source = peer_address(client.fd.get());
  TrackerWorker worker;
  worker.client = id;
  worker.host = hooks_.host(client.header->task_id, source ? source->host : "");
  worker.port = start.port;
  worker.error_port = start.error_port;
  const auto answer = group_.start(*client.header, std::move(worker));
  for (const TrackerClient other : answer.displaced)
    drop(other, {Code::kProtocol, 0, "a worker of this job has come in its place"});
  switch (answer.join) {
    case TrackerJoin::kRefused:
      return Error{Code::kProtocol, 0, answer.failure.reason};
    case TrackerJoin::kMixed:
      remove(id);
      fail(answer.failure);
      return {};
    case TrackerJoin::kWaits:
    case TrackerJoin::kComplete:
      break;
  }
  if (client.header->wire == TrackerWire::kJson) queue(id, encode_world_size(group_.world_size()));
  if (answer.join == TrackerJoin::kComplete) {
    group_formed();
  } else if (const auto failure = group_.deadlock()) {
    fail(*failure);
  }
  return {};
}

// Everybody is told at once. Whoever is gone by now is noticed by its peers.
void TrackerServer::group_formed() {
  const auto& workers = group_.workers();
  const auto size = static_cast<int>(workers.size());
  const TrackerWire wire = workers.front().wire;
  log::info("tracker.group", {{"workers", size}, {"speaks", to_string(wire)}});
  links_.reset();
  if (wire == TrackerWire::kClassic) links_.emplace(size);
  for (int rank = 0; rank < size; ++rank) {
    const TrackerWorker& worker = workers[static_cast<size_t>(rank)];
    if (wire == TrackerWire::kClassic) {
      clients_.at(worker.client)->rank = rank;
      queue(worker.client, encode_place(place_of(rank, size)));
    } else {
      const int next = (rank + 1) % size;
      const TrackerWorker& successor = workers[static_cast<size_t>(next)];
      queue(worker.client, encode_successor({successor.host, successor.port, next}),
            /*is_last=*/true);
    }
  }
}

Status TrackerServer::give_links(TrackerClient id, const tracker::GoodLinks& good) {
  Client& client = *clients_.at(id);
  if (client.rank < 0) return out_of_place("a list of links");
  if (++client.link_rounds > kMaxLinkRounds)
    return Error{
        Code::kLimit, 0,
        "it cannot reach its peers, rounds of dialling: " + std::to_string(kMaxLinkRounds)};
  if (links_->ask(client.rank, good.ranks)) order_links(client.rank);
  return {};
}

void TrackerServer::order_links(int rank) {
  const auto order = links_->order(rank);
  std::vector<TrackerPeer> peers;
  for (const int other : order.dial) {
    const TrackerWorker& worker = group_.worker(other);
    peers.push_back({worker.host, worker.port, other});
  }
  queue(group_.worker(rank).client, encode_links(peers, order.accept));
}

void TrackerServer::listens(int rank, uint16_t port) {
  group_.worker(rank).port = port;
  for (const int other : links_->listens(rank)) order_links(other);
}

// ---- when it goes wrong

std::optional<TrackerFailure> TrackerServer::worker_ended(int rank, bool success) {
  if (group_.world_size() == 0) return std::nullopt;
  if (!success) {
    abort_group(rank);
    return std::nullopt;
  }
  group_.ended(rank);
  if (!absent_timer_.is_active())
    absent_timer_ = loop_.after(kTrackerLastWords, [this] { tell_absent(); });
  auto failure = group_.deadlock();
  if (failure) close_joining();
  return failure;
}

// Alone it is no failure: the work may have been done. But if others fail now, this is why.
void TrackerServer::tell_absent() {
  for (const int rank : group_.ended()) {
    if (rank >= static_cast<int>(group_.workers().size())) continue;
    TrackerWorker& worker = group_.worker(rank);
    if (std::exchange(worker.has_left, true)) continue;
    log::warning("tracker.worker_absent",
                 {{"rank", rank},
                  {"reason",
                   "its process ended with 0 and had not left the group of XGBoost: others "
                   "that still need it fail"}});
  }
}

void TrackerServer::fail(const TrackerFailure& failure) {
  close_joining();
  if (!std::exchange(failed_, true)) hooks_.failed(failure);
}

void TrackerServer::abort_group(int rank) {
  size_t told = 0;
  for (int other = 0; other < static_cast<int>(group_.workers().size()); ++other) {
    TrackerWorker& worker = group_.worker(other);
    const uint16_t port = std::exchange(worker.error_port, uint16_t{0});
    if (port == 0 || other == rank) continue;
    aborts_.say({worker.host, port}, encode_abort());
    ++told;
  }
  close_joining();
  if (told > 0) log::info("tracker.abort", {{"failed_rank", rank}, {"told", told}});
}

// Those who wait, and those of a classic group that do not have all their links yet. Each of them
// ends with an error then.
void TrackerServer::close_joining() {
  for (const TrackerClient id : group_.take_waiting()) remove(id);
  std::vector<TrackerClient> forming;
  for (const auto& [id, client] : clients_) {
    if (client->rank >= 0) forming.push_back(id);
  }
  for (const TrackerClient id : forming) remove(id);
}

// ---- connections

// A failed send is noticed when the hang-up is read.
void TrackerServer::queue(TrackerClient id, std::string_view bytes, bool is_last) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second;
  client.unsent += bytes;
  client.is_last = client.is_last || is_last;
  if (!send_some(client.fd.get(), client.unsent)) client.unsent.clear();
  if (client.is_last && client.unsent.empty()) return remove(id);
  client.watch.set_interest(client.unsent.empty() ? Interest::kRead : Interest::kReadWrite);
}

// One that simply went away is no event; one that we throw out is. A classic worker that is lost
// while its group forms would be waited for by its peers, for ever.
void TrackerServer::drop(TrackerClient id, const Error& why) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  if (why.code != Code::kPeer) {
    if (const auto untold = lines_.take())
      log::warning("tracker.client_dropped", {{"reason", why.text},
                                              {"peer", peer_text(found->second->fd.get())},
                                              {"untold", *untold}});
  }
  const bool was_forming = found->second->rank >= 0;
  remove(id);
  if (was_forming) close_joining();
}

void TrackerServer::remove(TrackerClient id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  kept_bytes_ -= found->second->counted_bytes;
  group_.leave(id);
  clients_.erase(found);
}

}  // namespace muster::rendezvous
