#include "base/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <set>

#include "base/text.h"

// c-ares refers to these for service names ("http"), which are never asked for here. glibc's own
// would bring NSS with dlopen and 115 KB into the static binary (measured with g++ 12.2,
// glibc 2.36). NOLINTBEGIN(bugprone-easily-swappable-parameters): the signatures are those of
// netdb.h.
extern "C" servent* getservbyname(const char* /*name*/, const char* /*protocol*/) {
  return nullptr;
}
extern "C" int getservbyport_r(int /*port*/, const char* /*protocol*/, servent* /*result*/,
                               char* /*buffer*/, size_t /*buffer_bytes*/, servent** found) {
  *found = nullptr;
  return ENOENT;
}
// NOLINTEND(bugprone-easily-swappable-parameters)

namespace muster {

namespace {

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  return {found.st_ino, found.st_size, found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec};
}

constexpr int kTries = 2;  // rounds over all servers

LookupStatus status_of(int ares_status) {
  if (ares_status == ARES_SUCCESS) return LookupStatus::kFound;
  if (ares_status == ARES_ENOTFOUND || ares_status == ARES_ENODATA || ares_status == ARES_EBADNAME)
    return LookupStatus::kNoName;
  return ares_status == ARES_ETIMEOUT ? LookupStatus::kNoAnswer : LookupStatus::kServerFailed;
}

std::string words_of(int ares_status) {
  if (ares_status == ARES_ENOTFOUND) return "NXDOMAIN";
  if (ares_status == ARES_ENODATA) return "the name has no address";
  if (ares_status == ARES_EBADNAME) return "not a domain name";
  if (ares_status == ARES_ETIMEOUT) return "no answer from the DNS server";
  // c-ares passes over REFUSED and SERVFAIL as over a closed port, and does not tell them apart.
  if (ares_status == ARES_ECONNREFUSED) return "the DNS server refused, failed or is not there";
  return ares_strerror(ares_status);
}

std::string reason_of(const std::string& name, std::string_view words) {
  return "look up " + quote_if_needed(name) + ": " + std::string(words);
}

std::string text_of(const ares_addrinfo_node& node) {
  char text[INET6_ADDRSTRLEN] = "";
  if (node.ai_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(node.ai_addr)->sin_addr, text,
              sizeof text);
  } else if (node.ai_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(node.ai_addr)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

// The two families arrive in either order; all agents should try the same one first.
std::vector<std::string> addresses_of(const ares_addrinfo& info) {
  std::vector<std::string> addresses;
  std::set<std::string> seen;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const auto* node = info.nodes; node != nullptr; node = node->ai_next) {
      if (node->ai_family != family || addresses.size() == kMaxAddressesPerName) continue;
      std::string text = text_of(*node);
      if (seen.insert(text).second) addresses.push_back(std::move(text));
    }
  }
  return addresses;
}

LookupAnswer answer_of(const std::string& name, int ares_status, const ares_addrinfo* info) {
  LookupAnswer answer;
  if (ares_status == ARES_SUCCESS && info != nullptr) answer.addresses = addresses_of(*info);
  if (ares_status == ARES_SUCCESS && answer.addresses.empty()) ares_status = ARES_ENODATA;
  answer.status = status_of(ares_status);
  if (ares_status != ARES_SUCCESS) answer.reason = reason_of(name, words_of(ares_status));
  return answer;
}

std::string csv_of(const std::vector<Address>& servers) {
  std::vector<std::string> parts;
  parts.reserve(servers.size());
  for (const Address& server : servers) parts.push_back(server.to_string());
  return join(parts, ",");
}

}  // namespace

Lookup& Lookup::operator=(Lookup&& other) noexcept {
  if (this != &other) {
    reset();
    cancel_ = std::exchange(other.cancel_, nullptr);
  }
  return *this;
}

void Lookup::reset() {
  if (const auto cancel = std::exchange(cancel_, nullptr)) cancel();
}

/// The c-ares side: one channel, its sockets and its one timer on the loop.
class DnsResolver::Channel {
 public:
  static Result<std::unique_ptr<Channel>> create(Loop& loop, const DnsOptions& options,
                                                 DnsResolver& resolver);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  void ask(uint64_t id, const std::string& name);
  /// Queries that c-ares still works on, also for lookups that were cancelled or timed out.
  [[nodiscard]] size_t in_flight() const { return in_flight_; }

 private:
  // Freed by the callback, which c-ares calls exactly once for each query.
  struct Query {
    Channel* channel;
    uint64_t id;
    std::string name;
  };

  Channel(Loop& loop, DnsResolver& resolver) : loop_(loop), resolver_(resolver) {}
  static void on_answer(void* argument, int status, int timeouts, ares_addrinfo* info);
  static void on_socket_state(void* argument, ares_socket_t fd, int readable, int writable);
  void watch_socket(int fd, bool readable, bool writable);
  void process(int readable_fd, int writable_fd);
  void arm_timer();

  Loop& loop_;
  DnsResolver& resolver_;
  ares_channel channel_ = nullptr;
  std::map<int, Watch> watches_;
  Timer timer_;
  size_t in_flight_ = 0;
};

Result<std::unique_ptr<DnsResolver::Channel>> DnsResolver::Channel::create(
    Loop& loop, const DnsOptions& options, DnsResolver& resolver) {
  std::unique_ptr<Channel> channel(new Channel(loop, resolver));
  // Our strings outlive the call: c-ares copies them.
  std::string lookups = "fb";
  std::string resolv_conf = options.resolv_conf_path;
  ares_options settings{};
  settings.timeout = static_cast<int>(options.server_timeout.count());
  settings.tries = kTries;
  settings.lookups = lookups.data();
  settings.resolvconf_path = resolv_conf.data();
  settings.sock_state_cb = &Channel::on_socket_state;
  settings.sock_state_cb_data = channel.get();
  int status = ares_library_init(ARES_LIB_INIT_ALL);
  if (status == ARES_SUCCESS) {
    status = ares_init_options(&channel->channel_, &settings,
                               ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                                   ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB);
  }
  if (status == ARES_SUCCESS && !options.servers.empty()) {
    status = ares_set_servers_ports_csv(channel->channel_, csv_of(options.servers).c_str());
  }
  if (status == ARES_SUCCESS) return channel;
  return Error{Code::kConfig, 0, "reading '" + resolv_conf + "': " + ares_strerror(status)};
}

DnsResolver::Channel::~Channel() {
  // Calls on_answer for every query left.
  if (channel_ != nullptr) ares_destroy(channel_);
  ares_library_cleanup();
}

void DnsResolver::Channel::ask(uint64_t id, const std::string& name) {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;  // one node per address, not one per socket type
  hints.ai_flags = ARES_AI_NOSORT;  // sorting opens a socket per address
  ++in_flight_;
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): travels through C.
  auto* query = new Query{this, id, name};
  ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &Channel::on_answer, query);
  arm_timer();
}

void DnsResolver::Channel::on_answer(void* argument, int status, int /*timeouts*/,
                                     ares_addrinfo* info) {
  const std::unique_ptr<Query> query(static_cast<Query*>(argument));
  --query->channel->in_flight_;
  if (status != ARES_EDESTRUCTION) {
    query->channel->resolver_.finish(query->id, answer_of(query->name, status, info));
  }
  if (info != nullptr) ares_freeaddrinfo(info);
}

void DnsResolver::Channel::on_socket_state(void* argument, ares_socket_t fd, int readable,
                                           int writable) {
  static_cast<Channel*>(argument)->watch_socket(fd, readable != 0, writable != 0);
}

void DnsResolver::Channel::watch_socket(int fd, bool readable, bool writable) {
  if (!readable && !writable) {  // c-ares is about to close it
    watches_.erase(fd);
    return;
  }
  const Interest interest = !readable  ? Interest::kWrite
                            : writable ? Interest::kReadWrite
                                       : Interest::kRead;
  const auto found = watches_.find(fd);
  if (found != watches_.end()) {
    found->second.set_interest(interest);
    return;
  }
  auto watch = loop_.watch(fd, interest, [this, fd](Ready ready) {
    process(ready.readable ? fd : ARES_SOCKET_BAD, ready.writable ? fd : ARES_SOCKET_BAD);
  });
  // Without a watch (epoll out of memory) the lookup ends as a server that does not answer.
  if (watch) watches_[fd] = std::move(*watch);
}

void DnsResolver::Channel::process(int readable_fd, int writable_fd) {
  ares_process_fd(channel_, readable_fd, writable_fd);
  arm_timer();
}

// All queries begin with the same timeout, so a timer that is armed is never too late for a new
// one; c-ares walks over all of them to say when, so it is asked only after the timer has fired.
void DnsResolver::Channel::arm_timer() {
  if (in_flight_ == 0) return timer_.reset();
  if (timer_.is_active()) return;
  timeval left{};
  if (ares_timeout(channel_, nullptr, &left) == nullptr) return;
  const Duration delay =
      std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec);
  timer_ = loop_.after(delay, [this] { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); });
}

DnsResolver::DnsResolver(Loop& loop, DnsOptions options)
    : loop_(loop), options_(std::move(options)) {}

DnsResolver::~DnsResolver() = default;

Lookup DnsResolver::resolve(const std::string& name, Duration deadline, LookupCallback done) {
  const uint64_t id = next_id_++;
  Request& request = requests_[id];
  request.name = name;
  request.done = std::move(done);
  if (auto numeric = parse_numeric_host(name)) {
    finish(id, {LookupStatus::kFound, {std::move(*numeric)}, ""});
  } else {
    request.deadline = loop_.after(deadline, [this, id, name, deadline] {
      const std::string words = "no answer within " + format_duration(deadline);
      deliver(id, {LookupStatus::kNoAnswer, {}, reason_of(name, words)});
    });
    begin(id);
  }
  return Lookup([this, id] { requests_.erase(id); });
}

void DnsResolver::begin(uint64_t id) {
  const std::string& name = requests_.at(id).name;
  const auto fail = [&](const std::string& words) {
    finish(id, {LookupStatus::kServerFailed, {}, reason_of(name, words)});
  };
  // c-ares takes a C string: a NUL would cut the name to another one.
  if (name.find('\0') != std::string::npos) return fail("the name holds a NUL byte");
  if (const auto opened = open_channel(); !opened) return fail(opened.error().text);
  if (channel_->in_flight() >= kMaxLookupsInFlight) {
    return fail(std::to_string(channel_->in_flight()) + " lookups are under way, limit " +
                std::to_string(kMaxLookupsInFlight));
  }
  channel_->ask(id, name);
}

// A network that comes late brings its servers with it. What was asked of those before ends at its
// deadline.
Status DnsResolver::open_channel() {
  const FileStamp stamp = stamp_of(options_.resolv_conf_path);
  if (channel_ != nullptr && stamp == resolv_conf_) return {};
  channel_.reset();
  auto created = Channel::create(loop_, options_, *this);
  if (!created) return std::move(created).error();
  channel_ = std::move(*created);
  resolv_conf_ = stamp;
  return {};
}

// From inside c-ares or resolve(): the caller's callback may do anything, so it runs from the loop.
void DnsResolver::finish(uint64_t id, LookupAnswer answer) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;  // cancelled, or past its deadline
  found->second.deadline = loop_.after(
      Duration::zero(), [this, id, answer = std::move(answer)] { deliver(id, answer); });
}

void DnsResolver::deliver(uint64_t id, LookupAnswer answer) {
  auto request = requests_.extract(id);
  if (!request.empty()) request.mapped().done(std::move(answer));
}

}  // namespace muster
