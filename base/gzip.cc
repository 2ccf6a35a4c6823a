#include "base/gzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <limits>

#include "base/check.h"

namespace muster {

namespace {

constexpr int kGzip = 16;  // added to the window: gzip's head and end instead of zlib's
constexpr int kMemoryLevel = 8;

// zlib takes bytes that are not const, and changes none of them.
Bytef* bytes_of(std::string_view text) {
  MUSTER_CHECK(text.size() <= std::numeric_limits<uInt>::max());
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

// Ends with its scope what inflateInit2 has begun.
struct Inflation {
  z_stream stream{};
  Inflation() = default;
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  ~Inflation() { (void)inflateEnd(&stream); }  // fails only if it was never begun
};

}  // namespace

Result<std::string> gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return Error{Code::kInternal, 0, "gzip: no memory"};
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes_of(packed);
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  (void)deflateEnd(&stream);  // complains of data that was not fetched, which the check tells
  MUSTER_CHECK(outcome == Z_STREAM_END);
  return packed;
}

Result<std::string> gunzip(std::string_view packed, size_t limit_bytes) {
  Inflation inflation;
  z_stream& stream = inflation.stream;
  if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK)
    return Error{Code::kInternal, 0, "gunzip: no memory"};
  stream.next_in = bytes_of(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 16384> part;
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    if (outcome != Z_OK && outcome != Z_STREAM_END)
      return Error{Code::kProtocol, 0, "gunzip: not gzip, or broken or cut off"};
    const size_t count = part.size() - stream.avail_out;
    if (text.size() + count > limit_bytes)
      return Error{Code::kLimit, 0, fmt::format("gunzip: more than {} bytes", limit_bytes)};
    text.append(part.data(), count);
    if (outcome != Z_STREAM_END) continue;
    if (stream.avail_in == 0) return text;
    if (inflateReset(&stream) != Z_OK) return Error{Code::kInternal, 0, "gunzip: zlib failed"};
  }
}

}  // namespace muster
