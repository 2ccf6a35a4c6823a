#include "nccl/probe/fabric_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/text.h"

namespace muster::probe {
namespace {

constexpr size_t kMaxAddressBytes = 512;  // efa's has 32, those of tcp 16 or 28
constexpr uint64_t kMemoryKey = 1;        // for providers that let the caller choose
constexpr int kLingerTurns = 10'000;
constexpr int kIdleTurns = 64;  // then others may have the CPU

FabricLibrary::InfoList hints_for(const FabricLibrary& library, const std::string& provider) {
  FabricLibrary::InfoList hints = library.make_hints();
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->fabric_attr->prov_name = strdup(provider.c_str());  // freed with the hints
  return hints;
}

// "" = not an address of the Internet.
std::string host_of(const fi_info& info) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address = nullptr;
  int family = AF_INET;
  if (info.addr_format == FI_SOCKADDR_IN && info.src_addr != nullptr) {
    address = &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr;
  } else if (info.addr_format == FI_SOCKADDR_IN6 && info.src_addr != nullptr) {
    address = &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr;
    family = AF_INET6;
  }
  if (address == nullptr || inet_ntop(family, address, text.data(), text.size()) == nullptr)
    return "";
  return text.data();
}

// "eth0" is not a beginning of eth01, but rdmap79s0 is one of rdmap79s0-rdm.
bool is_at(std::string_view domain, std::string_view interface) {
  if (!domain.starts_with(interface)) return false;
  return interface.empty() || domain.size() == interface.size() || domain[interface.size()] == '-';
}

}  // namespace

Result<std::unique_ptr<FabricEndpoint>> FabricEndpoint::make(const FabricLibrary& library,
                                                             const FabricPlace& place) {
  std::unique_ptr<FabricEndpoint> endpoint(new FabricEndpoint(library));
  MUSTER_RETURN_IF_ERROR(endpoint->choose(place));
  MUSTER_RETURN_IF_ERROR(endpoint->create());
  MUSTER_RETURN_IF_ERROR(endpoint->register_memory());
  return endpoint;
}

// The library's order is by speed, so the first that fits; one with the wanted address before it.
Status FabricEndpoint::choose(const FabricPlace& place) {
  auto found = library_.find(hints_for(library_, place.provider).get());
  if (!found) return std::move(found).error();
  if (*found == nullptr) {
    return Error{Code::kConfig, ENODATA,
                 "the provider " + place.provider + " has no reliable messages here"};
  }
  fi_info* chosen = nullptr;
  std::set<std::string> domains;
  for (fi_info* info = found->get(); info != nullptr; info = info->next) {
    domains.insert(info->domain_attr->name);
    if (!is_at(info->domain_attr->name, place.interface)) continue;
    const bool is_wanted = !place.host.empty() && host_of(*info) == place.host;
    if (chosen == nullptr || is_wanted) chosen = info;
    if (is_wanted) break;
  }
  if (chosen == nullptr) {
    return Error{Code::kConfig, 0,
                 "the provider " + place.provider + " has no domain " + place.interface +
                     " here, only " + join(std::vector(domains.begin(), domains.end()), ", ")};
  }
  // The chosen one alone, by taking it out of its list.
  fi_info* first = found->release();
  fi_info** link = &first;
  while (*link != chosen) link = &(*link)->next;
  *link = chosen->next;
  chosen->next = nullptr;
  const auto free_list = found->get_deleter();
  if (first != nullptr) free_list(first);
  info_ = FabricLibrary::InfoList(chosen, free_list);
  return {};
}

Status FabricEndpoint::create() {
  auto fabric = library_.open_fabric(info_->fabric_attr);
  if (!fabric) return std::move(fabric).error();
  fabric_.reset(*fabric);
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric_.get(), info_.get(), &domain, nullptr); code != 0)
    return library_.error("fi_domain", code);
  domain_.reset(domain);
  window_ = std::clamp<size_t>(std::min(info_->tx_attr->size, info_->rx_attr->size), 1, kWindow);
  fi_cq_attr queue_wish{};
  queue_wish.size = 2 * kWindow;
  queue_wish.format = FI_CQ_FORMAT_MSG;
  queue_wish.wait_obj = FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  if (const int code = fi_cq_open(domain, &queue_wish, &queue, nullptr); code != 0)
    return library_.error("fi_cq_open", code);
  queue_.reset(queue);
  fi_av_attr addresses_wish{};
  addresses_wish.type = FI_AV_TABLE;
  addresses_wish.count = 1;
  fid_av* addresses = nullptr;
  if (const int code = fi_av_open(domain, &addresses_wish, &addresses, nullptr); code != 0)
    return library_.error("fi_av_open", code);
  addresses_.reset(addresses);
  fid_ep* endpoint = nullptr;
  if (const int code = fi_endpoint(domain, info_.get(), &endpoint, nullptr); code != 0)
    return library_.error("fi_endpoint", code);
  endpoint_.reset(endpoint);
  if (const int code = fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV); code != 0)
    return library_.error("fi_ep_bind of the queue", code);
  if (const int code = fi_ep_bind(endpoint, &addresses->fid, 0); code != 0)
    return library_.error("fi_ep_bind of the addresses", code);
  if (const int code = fi_enable(endpoint); code != 0) return library_.error("fi_enable", code);
  return {};
}

Status FabricEndpoint::register_memory() {
  const size_t bytes = (window_ + 1) * kMessageBytes;
  memory_.reset(
      static_cast<char*>(std::aligned_alloc(static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes)));
  if (memory_ == nullptr) return os_error("aligned_alloc");
  std::memset(memory_.get(), 0, bytes);
  contexts_.resize(2 * window_);
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return {};
  fid_mr* registration = nullptr;
  if (const int code = fi_mr_reg(domain_.get(), memory_.get(), bytes, FI_SEND | FI_RECV, 0,
                                 kMemoryKey, 0, &registration, nullptr);
      code != 0)
    return library_.error("fi_mr_reg", code);
  registration_.reset(registration);
  return {};
}

std::string FabricEndpoint::provider() const { return info_->fabric_attr->prov_name; }

std::string FabricEndpoint::domain() const { return info_->domain_attr->name; }

Result<std::string> FabricEndpoint::address() const {
  std::string address(kMaxAddressBytes, '\0');
  size_t bytes = address.size();
  if (const int code = fi_getname(&endpoint_->fid, address.data(), &bytes); code != 0)
    return library_.error("fi_getname", code);
  address.resize(bytes);
  return address;
}

// The library reads as many bytes as its own addresses have.
Status FabricEndpoint::set_peer(const std::string& address) {
  const auto own = this->address();
  if (!own) return Error(own.error());
  if (address.size() != own->size()) {
    return Error{Code::kProtocol, 0,
                 "the peer's address has " + std::to_string(address.size()) +
                     " bytes, those here have " + std::to_string(own->size())};
  }
  const int count = fi_av_insert(addresses_.get(), address.data(), 1, &peer_, 0, nullptr);
  if (count == 1) return {};
  return library_.error("fi_av_insert", count < 0 ? count : -FI_EINVAL);
}

Status FabricEndpoint::post_receive(size_t slot) {
  void* description = registration_ == nullptr ? nullptr : fi_mr_desc(registration_.get());
  for (;;) {
    const ssize_t code = fi_recv(endpoint_.get(), slot_memory(slot), kMessageBytes, description,
                                 FI_ADDR_UNSPEC, &contexts_[slot]);
    if (code == 0) break;
    if (code != -FI_EAGAIN) return library_.error("fi_recv", code);
    MUSTER_RETURN_IF_ERROR(turn());
  }
  ++progress_.receives;
  return {};
}

// All sends have the same memory: nobody reads more of it than the first byte, and that stays the
// same while several are on their way.
Status FabricEndpoint::post_send(size_t bytes, char first) {
  if (progress_.next_send == window_) MUSTER_RETURN_IF_ERROR(finish_sends());
  char* memory = slot_memory(window_);
  memory[0] = first;
  void* description = registration_ == nullptr ? nullptr : fi_mr_desc(registration_.get());
  for (;;) {
    const ssize_t code = fi_send(endpoint_.get(), memory, bytes, description, peer_,
                                 &contexts_[window_ + progress_.next_send]);
    if (code == 0) break;
    if (code != -FI_EAGAIN) return library_.error("fi_send", code);
    MUSTER_RETURN_IF_ERROR(turn());
  }
  ++progress_.sends;
  ++progress_.next_send;
  return {};
}

Status FabricEndpoint::finish_sends() {
  while (progress_.sends > 0) MUSTER_RETURN_IF_ERROR(turn());
  progress_.next_send = 0;
  return {};
}

Status FabricEndpoint::finish_receives() {
  while (progress_.receives > 0) MUSTER_RETURN_IF_ERROR(turn());
  return {};
}

void FabricEndpoint::linger() {
  for (int i = 0; i < kLingerTurns; ++i)
    if (!turn()) return;
}

Status FabricEndpoint::turn() {
  std::array<fi_cq_msg_entry, 16> done{};
  const ssize_t count = fi_cq_read(queue_.get(), done.data(), done.size());
  if (count == -FI_EAGAIN) {
    // Both sides of a test may be on one CPU; one that is alone there loses a microsecond at most.
    if (++progress_.idle_turns > kIdleTurns) (void)sched_yield();
    return {};
  }
  progress_.idle_turns = 0;
  if (count == -FI_EAVAIL) return failed_completion();
  if (count < 0) return library_.error("fi_cq_read", count);
  for (const fi_cq_msg_entry& each : std::span(done).first(static_cast<size_t>(count))) {
    size_t& open = each.op_context >= &contexts_[window_] ? progress_.sends : progress_.receives;
    if (open > 0) --open;
  }
  return {};
}

Error FabricEndpoint::failed_completion() {
  fi_cq_err_entry entry{};
  const ssize_t count = fi_cq_readerr(queue_.get(), &entry, 0);
  if (count < 0) return library_.error("fi_cq_readerr", count);
  std::array<char, 128> words{};
  const char* more =
      fi_cq_strerror(queue_.get(), entry.prov_errno, entry.err_data, words.data(), words.size());
  Error error = library_.error("a message was lost", entry.err);
  if (more != nullptr && *more != '\0') error.text += " (" + one_line(more) + ")";
  return error;
}

}  // namespace muster::probe
