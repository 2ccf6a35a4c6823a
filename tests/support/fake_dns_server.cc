#include "tests/support/fake_dns_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::testing {

namespace {

// RFC 1035 §4.1; names without compression except the one that points back at the question.
constexpr size_t kHeaderBytes = 12;
constexpr uint16_t kTypeA = 1;
constexpr uint16_t kTypeAaaa = 28;
constexpr uint8_t kNameError = 3;
constexpr uint8_t kServerFailure = 2;
constexpr uint8_t kRefused = 5;

void put16(std::string& out, size_t value) {
  out.push_back(static_cast<char>(value >> 8 & 0xFF));
  out.push_back(static_cast<char>(value & 0xFF));
}

size_t get16(std::string_view bytes, size_t at) {
  return static_cast<size_t>(static_cast<uint8_t>(bytes[at])) << 8 |
         static_cast<uint8_t>(bytes[at + 1]);
}

struct Question {
  std::string name;
  size_t type = 0;
  size_t end = 0;  // offset behind the question
};

bool read_question(std::string_view query, Question& question) {
  size_t at = kHeaderBytes;
  while (at < query.size() && query[at] != 0) {
    const size_t length = static_cast<uint8_t>(query[at]);
    if (at + 1 + length >= query.size()) return false;
    if (!question.name.empty()) question.name += '.';
    question.name += query.substr(at + 1, length);
    at += 1 + length;
  }
  if (at + 5 > query.size()) return false;
  question.type = get16(query, at + 1);
  question.end = at + 5;
  return true;
}

// The record's data, empty when `host` is of the other family.
std::string record_data(const std::string& host, size_t type) {
  in_addr v4{};
  in6_addr v6{};
  if (type == kTypeA && inet_pton(AF_INET, host.c_str(), &v4) == 1)
    return {reinterpret_cast<const char*>(&v4), sizeof v4};
  if (type == kTypeAaaa && inet_pton(AF_INET6, host.c_str(), &v6) == 1)
    return {reinterpret_cast<const char*>(&v6), sizeof v6};
  return "";
}

struct Records {
  std::string bytes;
  size_t count = 0;
};

Records records_of(const std::vector<std::string>& hosts, size_t type) {
  Records records;
  for (const std::string& host : hosts) {
    const std::string data = record_data(host, type);
    if (data.empty()) continue;
    put16(records.bytes, 0xC000 | kHeaderBytes);  // the name in the question
    put16(records.bytes, type);
    put16(records.bytes, 1);  // IN
    put16(records.bytes, 0);  // TTL, high and low
    put16(records.bytes, 5);
    put16(records.bytes, data.size());
    records.bytes += data;
    ++records.count;
  }
  return records;
}

std::string reply(std::string_view query, const Question& question, uint8_t code, bool truncated,
                  const Records& records) {
  std::string out(query.substr(0, 2));
  put16(out, 0x8180U | (truncated ? 0x0200U : 0U) | code);
  put16(out, 1);
  put16(out, truncated ? 0 : records.count);
  put16(out, 0);
  put16(out, 0);
  out += query.substr(kHeaderBytes, question.end - kHeaderBytes);
  if (!truncated) out += records.bytes;
  return out;
}

}  // namespace

std::unique_ptr<FakeDnsServer> FakeDnsServer::start(Loop& loop) {
  std::unique_ptr<FakeDnsServer> server(new FakeDnsServer(loop));
  // The port that TCP got may be taken for UDP.
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (server->open()) return server;
  }
  return nullptr;
}

bool FakeDnsServer::open() {
  RealNetwork network;
  auto listener = network.listen({"127.0.0.1", 0});
  if (!listener) return false;
  listener_ = std::move(*listener);
  address_ = *network.local_address(listener_.get());
  datagrams_ = UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_port = htons(address_.port);
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(datagrams_.get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) != 0)
    return false;
  auto datagram_watch =
      loop_.watch(datagrams_.get(), Interest::kRead, [this](Ready) { on_datagram(); });
  auto listener_watch =
      loop_.watch(listener_.get(), Interest::kRead, [this](Ready) { on_connection(); });
  if (!datagram_watch || !listener_watch) return false;
  datagram_watch_ = std::move(*datagram_watch);
  listener_watch_ = std::move(*listener_watch);
  return true;
}

void FakeDnsServer::set(const std::string& name, std::vector<std::string> addresses) {
  names_[name] = std::move(addresses);
}

void FakeDnsServer::on_datagram() {
  char bytes[1500];
  sockaddr_in from{};
  socklen_t length = sizeof from;
  const ssize_t size = recvfrom(datagrams_.get(), bytes, sizeof bytes, 0,
                                reinterpret_cast<sockaddr*>(&from), &length);
  if (size <= 0) return;
  const std::string out = answer({bytes, static_cast<size_t>(size)}, true);
  if (out.empty()) return;
  // A reply that is lost looks like a silent server, which the test would notice.
  (void)sendto(datagrams_.get(), out.data(), out.size(), 0, reinterpret_cast<sockaddr*>(&from),
               length);
}

void FakeDnsServer::on_connection() {
  RealNetwork network;
  auto accepted = network.accept(listener_.get());
  if (!accepted) return;
  const int fd = accepted->get();
  Stream& stream = streams_[fd];
  stream.fd = std::move(*accepted);
  auto watch = loop_.watch(fd, Interest::kRead, [this, fd](Ready) { on_stream(fd); });
  if (watch) stream.watch = std::move(*watch);
}

void FakeDnsServer::on_stream(int fd) {
  Stream& stream = streams_.at(fd);
  char bytes[4096];
  const ssize_t size = read(fd, bytes, sizeof bytes);
  if (size <= 0) {
    stream.watch.reset();
    streams_.erase(fd);
    return;
  }
  stream.received.append(bytes, static_cast<size_t>(size));
  while (stream.received.size() >= 2 && stream.received.size() >= 2 + get16(stream.received, 0)) {
    const size_t length = get16(stream.received, 0);
    const std::string out = answer(std::string_view(stream.received).substr(2, length), false);
    stream.received.erase(0, 2 + length);
    std::string framed;
    put16(framed, out.size());
    framed += out;
    if (!out.empty()) (void)!write(fd, framed.data(), framed.size());  // as for datagrams
  }
}

std::string FakeDnsServer::answer(std::string_view query, bool over_udp) {
  Question question;
  if (query.size() < kHeaderBytes || !read_question(query, question)) return "";
  queries_.push_back((question.type == kTypeA ? "A " : "AAAA ") + question.name);
  const auto own = by_name_.find(question.name);
  const Behaviour behaviour = own == by_name_.end() ? behaviour_ : own->second;
  const auto found = names_.find(question.name);
  const Records records =
      found == names_.end() ? Records{} : records_of(found->second, question.type);
  const uint8_t code = found == names_.end() ? kNameError : 0;
  switch (behaviour) {
    case Behaviour::kSilent:
      return "";
    case Behaviour::kGarbage:
      return std::string(query.substr(0, 2)) + "\x81\x80 nonsense";
    case Behaviour::kRefuse:
      return reply(query, question, kRefused, false, {});
    case Behaviour::kServerFailure:
      return reply(query, question, kServerFailure, false, {});
    case Behaviour::kTruncate:
      return reply(query, question, code, over_udp, records);
    case Behaviour::kAnswer:
      break;
  }
  return reply(query, question, code, false, records);
}

}  // namespace muster::testing
