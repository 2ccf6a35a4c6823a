// Error files: what torch's @record leaves when a worker's main raises, and the reply file that the
// agent hands up to whoever started it. Both have the same format; both paths come in a variable
// TORCHELASTIC_ERROR_FILE, the worker's from us, ours from an outer scheduler.
//
//   {"message": {"message": "ValueError: x",
//                "extraInfo": {"py_callstack": "Traceback ...", "timestamp": "1795272747"},
//                "errorCode": 1}}                                       (errorCode: replies only)
//   {"message": "x", "timestamp": 1795272747}                           (plain form)
//
// Source: torch.distributed.elastic.multiprocessing.errors, 1.13 and 2.13; files written by both
// are in tests/data/error_files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "elastic/failure.h"

namespace muster::launcher {

/// A traceback of Python's deepest default recursion (1000 frames) fits several times.
inline constexpr size_t kMaxErrorFileBytes = 1 << 20;
/// Kept of a message (its head) and of a traceback (its tail, where the exception is): a record is
/// held per rank and sent to the leader.
inline constexpr size_t kMaxErrorTextBytes = 64 << 10;

/// The error file of a worker that ended; none when it wrote none. Anything else that is wrong with
/// the file (unreadable, too large, not JSON, no message) is told in `problem`, never an error: the
/// worker's end is what has to be reported.
[[nodiscard]] std::optional<elastic::ErrorFile> read_error_file(const Files& files,
                                                                const std::string& path);

/// The same from its bytes. Pure. Lone surrogate escapes, which Python writes for undecodable bytes
/// in file names, become U+FFFD.
[[nodiscard]] elastic::ErrorFile parse_error_file(const std::string& path, std::string_view bytes);

/// Writes the reply for the first failed worker to `reply_path`, replacing what is there: a copy of
/// its error file with message.errorCode = the exit code, or minus the signal, as torchrun does
/// (which leaves the plain form unchanged; so does this). Without a usable error file the reply
/// holds our own words and the worker's last lines, where torchrun writes none. Errors:
/// Files::write.
Status write_reply_file(Files& files, const std::string& reply_path,
                        const elastic::FailureRecord& first);

/// The reply for an error of the agent itself. `now` dates it. Errors: Files::write.
Status write_reply_file(Files& files, const std::string& reply_path, const Error& error,
                        int exit_code, WallTime now);

}  // namespace muster::launcher
