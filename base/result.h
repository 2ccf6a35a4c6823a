// Result<T>: a value or an Error. Every function that can fail for a reason outside our control
// returns one; nothing here throws. Used by every directory.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

/// What kind of trouble, for the exit code and the wording. Closed: a new kind is a decision, not a
/// habit.
enum class Code {
  kUsage,     ///< the command line is wrong (exit 64)
  kConfig,    ///< the environment or a configuration file is wrong (exit 78)
  kOs,        ///< a system call failed; `os_errno` says how (exit 71)
  kExec,      ///< a program cannot be executed: `os_errno` ENOENT (exit 127) or another (exit 126)
  kPeer,      ///< another process or service refused or broke (exit 69)
  kTimeout,   ///< a deadline passed (exit 69)
  kProtocol,  ///< bytes from outside that mean nothing
  kLimit,     ///< a named limit was exceeded; the text names limit and value
  kInternal,  ///< our own bug (exit 70)
};

/// One failure. `text` names the call and the object ("open '/x': Permission denied"); each level
/// that hands the error up puts what *it* knows in front with `with_context`.
struct Error {
  Code code = Code::kInternal;
  int os_errno = 0;  ///< 0 = not from a system call
  std::string text;

  /// "listing RDMA devices" -> "listing RDMA devices: open '/sys/class/infiniband': Permission
  /// denied".
  [[nodiscard]] Error with_context(std::string_view what) &&;
};

/// An Error of kind kOs: `what` (call and object), then the words of `os_errno`.
[[nodiscard]] Error os_error(std::string_view what, int os_errno = errno);

/// The words of an errno value, e.g. "No such file or directory". No locale, no buffer of the
/// caller's.
[[nodiscard]] std::string errno_text(int os_errno);

/// A T, or the Error that prevented it.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  // NOLINTNEXTLINE(google-explicit-constructor): `return os_error(...)` is the whole point.
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}
};

/// Success, or the Error. `return {};` is success.
using Status = Result<void>;

}  // namespace muster

/// Hands an error up from a function that returns a Result or Status.
#define MUSTER_RETURN_IF_ERROR(expression)                      \
  do {                                                          \
    if (auto muster_status = (expression); !muster_status) {    \
      return ::muster::Error(std::move(muster_status).error()); \
    }                                                           \
  } while (false)
