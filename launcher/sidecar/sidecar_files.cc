#include "launcher/sidecar/sidecar_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr size_t kMaxCursorBytes = 1024;
constexpr mode_t kMode = 0644;
constexpr mode_t kPrivate = 0600;  // events of a job, and what a receiver answered
// Somebody may have put a link there, or a pipe, which would keep us waiting.
constexpr int kCareful = O_NOFOLLOW | O_NONBLOCK;

std::string file_of(const std::string& folder, const std::string& name, std::string_view ending) {
  return folder + "/sidecar." + name + std::string(ending);
}

Status write_whole(int fd, std::string_view text, const std::string& path) {
  const ssize_t written = ::write(fd, text.data(), text.size());
  if (written < 0) return os_error("write '" + path + "'");
  if (static_cast<size_t>(written) == text.size()) return {};
  return os_error("write '" + path + "'", ENOSPC);  // a file takes less for no other reason
}

}  // namespace

CursorFile::CursorFile(std::string folder, const std::string& name)
    : folder_(std::move(folder)), path_(file_of(folder_, name, ".cursor")) {}

Cursor CursorFile::read() const {
  const auto text = RealFiles().read(path_, kMaxCursorBytes);
  const auto object = text ? parse_json(*text, kMaxCursorBytes) : Result<nlohmann::json>(Error());
  if (!object || !object->is_object()) return {};
  const auto seq = object->find("seq");
  const auto id = object->find("id");
  if (seq == object->end() || !seq->is_number_unsigned()) return {};
  if (id == object->end() || !id->is_string()) return {};
  const auto end = object->find("end");
  const bool has_end = end != object->end() && end->is_boolean() && end->get<bool>();
  return {{seq->get<uint64_t>(), id->get<std::string>()}, has_end};
}

Status CursorFile::write(const Cursor& cursor) const {
  const std::string next = path_ + ".new";
  std::string text =
      fmt::format("{{\"seq\":{},\"end\":{},\"id\":", cursor.mark.seq, cursor.has_end);
  append_json(text, cursor.mark.id);
  text += "}\n";
  const UniqueFd fd(
      ::open(next.c_str(), O_CLOEXEC | O_WRONLY | O_CREAT | O_TRUNC | kCareful, kMode));
  if (!fd.is_open()) return os_error("open '" + next + "'");
  MUSTER_RETURN_IF_ERROR(write_whole(fd.get(), text, next));
  if (::rename(next.c_str(), path_.c_str()) != 0) return os_error("rename '" + next + "'");
  return {};
}

DeadLetters::DeadLetters(const std::string& folder, const std::string& name, size_t max_bytes)
    : path_(file_of(folder, name, kDeadLetterEnding)), max_bytes_(max_bytes) {}

Status DeadLetters::add(const std::vector<JournalEvent>& events, int status,
                        const std::string& answer) const {
  struct stat found {};
  if (stat(path_.c_str(), &found) == 0 && static_cast<size_t>(found.st_size) >= max_bytes_ &&
      ::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) {
    return os_error("rename '" + path_ + "'");
  }
  const UniqueFd fd(
      ::open(path_.c_str(), O_CLOEXEC | O_WRONLY | O_CREAT | O_APPEND | kCareful, kPrivate));
  if (!fd.is_open()) return os_error("open '" + path_ + "'");
  for (const JournalEvent& event : events) {
    std::string line = fmt::format("{{\"status\":{},\"answer\":", status);
    append_json(line, one_line(answer));
    line += ",\"event\":" + event.line + "}\n";
    MUSTER_RETURN_IF_ERROR(write_whole(fd.get(), line, path_));
  }
  return {};
}

Result<UniqueFd> lock_sidecar(const std::string& folder) {
  const std::string path = folder + "/sidecar.lock";
  UniqueFd lock(::open(path.c_str(), O_CLOEXEC | O_RDWR | O_CREAT | kCareful, kMode));
  if (!lock.is_open()) {
    Error error = os_error("open '" + path + "'");
    if (error.os_errno == EACCES || error.os_errno == EROFS) error.code = Code::kConfig;
    return std::move(error).with_context("a sidecar keeps its place beside the journal");
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return os_error("flock '" + path + "'");
  return Error{Code::kConfig, EWOULDBLOCK, "another sidecar reports what happens in " + folder};
}

// Taken for a moment and given back; lock_journal() knows that this happens.
bool agent_is_there(const std::string& folder) {
  const UniqueFd lock(::open((folder + "/agent.lock").c_str(), O_CLOEXEC | O_RDONLY | kCareful));
  if (!lock.is_open()) return false;
  return flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace muster::launcher
