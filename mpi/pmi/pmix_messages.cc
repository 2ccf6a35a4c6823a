#include "mpi/pmi/pmix_messages.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "base/text.h"

namespace muster::mpi {

namespace {

using Fields = std::vector<std::string>;

constexpr size_t kLengthBytes = 4;

void append_length(size_t length, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(static_cast<unsigned char>(length >> shift)));
}

size_t read_length(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

// ---- messages as fields

struct ToFields {
  Fields operator()(const pmix::Begin& begin) const {
    Fields fields = {"begin", begin.space, std::to_string(begin.node), begin.folder};
    for (const pmix::Node& node : begin.nodes) {
      fields.push_back(node.name);
      fields.push_back(std::to_string(node.ranks));
    }
    return fields;
  }
  Fields operator()(const pmix::Fenced& fenced) const {
    return {fenced.ok ? "fenced" : "fence-failed", fenced.data};
  }
  Fields operator()(const pmix::Ready& ready) const {
    Fields fields = {"ready"};
    for (const auto& environment : ready.environments) {
      fields.push_back(std::to_string(environment.size()));
      fields.insert(fields.end(), environment.begin(), environment.end());
    }
    return fields;
  }
  Fields operator()(const pmix::Unusable& unusable) const { return {"unusable", unusable.reason}; }
  Fields operator()(const pmix::Fence& fence) const { return {"fence", fence.data}; }
  Fields operator()(const pmix::Connected& rank) const {
    return {"connected", std::to_string(rank.local_rank)};
  }
  Fields operator()(const pmix::Finalized& rank) const {
    return {"finalized", std::to_string(rank.local_rank)};
  }
  Fields operator()(const pmix::Aborted& rank) const {
    return {"aborted", std::to_string(rank.local_rank), std::to_string(rank.status)};
  }
};

// Reads fields one after the other; after the first that is missing or wrong all are.
class FieldReader {
 public:
  explicit FieldReader(Fields& fields) : fields_(fields) {}
  std::string text() {
    if (next_ >= fields_.size()) ok_ = false;
    return ok_ ? std::move(fields_[next_++]) : std::string();
  }
  int number(int least) {
    const auto value = parse_integer(text());
    if (!value || *value < least || *value > std::numeric_limits<int>::max()) ok_ = false;
    return ok_ ? static_cast<int>(*value) : least;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool more() const { return ok_ && next_ < fields_.size(); }
  [[nodiscard]] bool complete() const { return ok_ && next_ == fields_.size(); }

 private:
  Fields& fields_;
  size_t next_ = 0;
  bool ok_ = true;
};

pmix::Begin read_begin(FieldReader& fields) {
  pmix::Begin begin;
  begin.space = fields.text();
  begin.node = fields.number(0);
  begin.folder = fields.text();
  do {
    pmix::Node node;
    node.name = fields.text();
    node.ranks = fields.number(0);
    begin.nodes.push_back(std::move(node));
  } while (fields.more());
  return begin;
}

pmix::Ready read_ready(FieldReader& fields) {
  pmix::Ready ready;
  while (fields.more()) {
    std::vector<std::string> environment;
    for (int left = fields.number(0); left > 0 && fields.ok(); --left)
      environment.push_back(fields.text());
    ready.environments.push_back(std::move(environment));
  }
  return ready;
}

std::optional<PmixMessage> message_of(std::string_view kind, FieldReader& fields) {
  if (kind == "begin") return read_begin(fields);
  if (kind == "fenced" || kind == "fence-failed")
    return pmix::Fenced{.ok = kind == "fenced", .data = fields.text()};
  if (kind == "ready") return read_ready(fields);
  if (kind == "unusable") return pmix::Unusable{one_line(fields.text())};
  if (kind == "fence") return pmix::Fence{fields.text()};
  if (kind == "connected") return pmix::Connected{fields.number(0)};
  if (kind == "finalized") return pmix::Finalized{fields.number(0)};
  if (kind == "aborted") {
    const int local_rank = fields.number(0);
    return pmix::Aborted{local_rank, fields.number(std::numeric_limits<int>::min())};
  }
  return std::nullopt;
}

Result<Fields> split_fields(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const bool whole =
        bytes.size() >= kLengthBytes && read_length(bytes) <= bytes.size() - kLengthBytes;
    if (!whole) return Error{Code::kProtocol, 0, "a field that is longer than its frame"};
    const size_t length = read_length(bytes);
    fields.emplace_back(bytes.substr(kLengthBytes, length));
    bytes.remove_prefix(kLengthBytes + length);
  }
  return fields;
}

}  // namespace

std::string encode_pmix(const PmixMessage& message) {
  std::string body;
  for (const std::string& field : std::visit(ToFields{}, message)) {
    append_length(field.size(), body);
    body += field;
  }
  std::string frame;
  append_length(body.size(), frame);
  return frame + body;
}

Result<DecodedPmix> decode_pmix(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return DecodedPmix{};
  const size_t length = read_length(bytes);
  if (length > kMaxPmixFrameBytes) {
    return Error{Code::kLimit, 0,
                 "a frame of " + std::to_string(length) + " bytes; at most " +
                     std::to_string(kMaxPmixFrameBytes) + " are taken"};
  }
  if (bytes.size() - kLengthBytes < length) return DecodedPmix{};
  auto fields = split_fields(bytes.substr(kLengthBytes, length));
  if (!fields) return std::move(fields).error();
  FieldReader reader(*fields);
  const std::string kind = reader.text();
  auto message = message_of(kind, reader);
  if (!message || !reader.complete())
    return Error{Code::kProtocol, 0, "no message of PMIx: '" + one_line(kind) + "'"};
  return DecodedPmix{kLengthBytes + length, std::move(message)};
}

}  // namespace muster::mpi
