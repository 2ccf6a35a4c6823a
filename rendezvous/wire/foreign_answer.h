// What to say of somebody who answers where an agent was looked for, and is none. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::rendezvous {

/// Of what came first; the rest is not told.
inline constexpr size_t kMaxForeignBytes = 60;

/// "no agent of muster: an HTTP server answered 'HTTP/1.1 400 Bad Request'"; `bytes`: what came,
/// not empty. The first line of it is quoted, made printable.
[[nodiscard]] std::string describe_foreign(std::string_view bytes);

}  // namespace muster::rendezvous
