// What `muster rsh` and the agents say to each other, as values and as bytes (RSH_PROTOCOL.md).
// Pure: bytes come in and go out, connections are rsh_channel.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "mpi/rsh/rsh_ranks.h"

namespace muster::mpi {

/// First bytes of a connection, from whoever dials: "MRSH", the version, 'T' (TLS follows, with the
/// job secret) or 'C' (in the clear), CR, LF. The job port knows them by the first four.
inline constexpr size_t kRshGreetingBytes = 8;
[[nodiscard]] std::string rsh_greeting(bool secured);
/// Whether the peer begins TLS. None: kRshGreetingBytes bytes that are no greeting of this version.
[[nodiscard]] std::optional<bool> read_rsh_greeting(std::string_view bytes);

/// Of one frame behind its head; the longest is a Run with a command of 128 KiB.
inline constexpr size_t kMaxRshFrameBytes = 192 << 10;
inline constexpr size_t kMaxRshTextBytes = 1024;        ///< of names and reasons
inline constexpr size_t kMaxRshLinesBytes = 4096;       ///< of what a process printed last
inline constexpr size_t kMaxRshDataBytes = 32 << 10;    ///< of a stream, in one frame
inline constexpr uint32_t kRshWindowBytes = 256 << 10;  ///< a sender's credit at the beginning

/// Of the process: what it reads, what it writes.
enum class RshStream : uint8_t { kStdin = 0, kStdout = 1, kStderr = 2 };

/// As ssh's code: the command could not be run, or its end is not known.
inline constexpr uint8_t kRshFailed = 255;

namespace rsh {

/// The first word of a caller to its own agent: `command` is to run on the node that `host` means.
struct Call {
  std::string host;
  std::string command;
  std::string user = {};  ///< as whom; "" = whoever the agent there runs as
};
/// The same between agents. Refused unless the job is the same, and the agent that hears it is the
/// one that is meant: the job's key does not prove which node has it, and an address may be taken.
struct Run {
  std::string run_id;
  std::string node;          ///< where it is to run
  uint64_t incarnation = 0;  ///< of that node's agent
  std::string caller;        ///< the node where it was called
  std::string command;
  std::string user = {};  ///< as in Call
};
/// In place of an answer; the connection ends. `code` is the caller's; one line.
struct Refused {
  uint8_t code = kRshFailed;
  std::string reason;
};
/// To the process group of the command.
struct Signal {
  uint8_t number = 0;
};
/// The process and all that it started are gone. The last message. `code` as a shell has it: the
/// exit code, or 128 + signal.
struct Exit {
  uint8_t code = 0;
};
/// Within the credit that the receiver gave; not empty.
struct Data {
  RshStream stream = RshStream::kStdin;
  std::string bytes;
};
/// The sender has no more.
struct End {
  RshStream stream = RshStream::kStdin;
};
/// The receiver has passed on that much: as much again may be sent.
struct Credit {
  RshStream stream = RshStream::kStdin;
  uint32_t bytes = 0;
};
/// The receiver has no reader for the stream any more.
struct Gone {
  RshStream stream = RshStream::kStdin;
};

}  // namespace rsh

using RshMessage =
    std::variant<rsh::Call, rsh::Run, rsh::Refused, rsh::Signal, rsh::Exit, rsh::Data, rsh::End,
                 rsh::Credit, rsh::Gone, rsh::Rank, rsh::RankEnd, rsh::Noted, rsh::RankInit>;

/// A whole frame: kind (1 byte), length (4, big-endian), fields. Texts are clipped to their limits.
[[nodiscard]] std::string encode(const RshMessage& message);

/// Puts frames together from whatever pieces they come in.
class RshDecoder {
 public:
  void append(std::string_view bytes);
  /// The next whole message, none when more bytes are needed. kProtocol: bytes that mean nothing;
  /// kLimit names limit and value. An error is final.
  Result<std::optional<RshMessage>> next();

 private:
  std::string buffer_;
  size_t taken_ = 0;  // of the buffer: those messages are out
};

}  // namespace muster::mpi
