// Bodies of HTTP messages as "Content-Encoding: gzip" has them (RFC 1952). The library is zlib,
// seen by gzip.cc alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// `text` packed. JSON of ours becomes a tenth; it costs some 10 ms for 1 MiB. kInternal: no
/// memory.
Result<std::string> gzip(std::string_view text);

/// What `packed` was made from; it may have several members one behind the other. kLimit: it would
/// be more than `limit_bytes`, of which no more are kept. kProtocol: no gzip, broken or cut off.
Result<std::string> gunzip(std::string_view packed, size_t limit_bytes);

}  // namespace muster
