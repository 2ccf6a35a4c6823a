#include "rendezvous/store/waiting_lines.h"

#include <algorithm>

#include "base/check.h"

namespace muster::rendezvous {

namespace {
// What the containers cost per element, for the meter: node, hash bucket and allocator, rounded up.
constexpr size_t kRegistrationBytes = 128;
constexpr size_t kLineBytes = 128;
}  // namespace

void WaitingLines::join(ClientId client, std::string_view key) {
  auto line = lines_.find(key);
  if (line == lines_.end()) {
    line = lines_.try_emplace(std::string(key)).first;
    meter_.take(kLineBytes + key.size());
  }
  Wait& wait = waits_[client];
  const auto place = line->second.insert(line->second.end(), {client, wait.registrations.size()});
  wait.registrations.push_back({&*line, place});
  ++wait.outstanding;
  meter_.take(kRegistrationBytes);
}

void WaitingLines::leave(ClientId client) {
  if (waits_.empty()) return;
  const auto found = waits_.find(client);
  if (found == waits_.end()) return;
  for (const Registration& registration : found->second.registrations) {
    if (registration.line == nullptr) continue;
    registration.line->second.erase(registration.place);
    meter_.give_back(kRegistrationBytes);
    if (registration.line->second.empty()) close(*registration.line);
  }
  waits_.erase(found);
}

std::vector<ClientId> WaitingLines::wake_all(std::string_view key) {
  std::vector<ClientId> woken;
  if (lines_.empty()) return woken;
  const auto found = lines_.find(key);
  if (found == lines_.end()) return woken;
  Line& line = found->second;
  while (!line.empty()) {
    const ClientId client = line.front().client;
    if (take_out(line, line.begin())) woken.push_back(client);
  }
  close(*found);
  return woken;
}

std::vector<ClientId> WaitingLines::wake_one(std::string_view key) {
  std::vector<ClientId> woken;
  const auto found = lines_.find(key);
  if (found == lines_.end()) return woken;
  Line& line = found->second;
  auto place = std::find_if(line.begin(), line.end(), [this](const Place& candidate) {
    return waits_.find(candidate.client)->second.outstanding == 1;
  });
  if (place == line.end()) place = line.begin();
  const ClientId client = place->client;
  if (take_out(line, place)) woken.push_back(client);
  if (line.empty()) close(*found);
  return woken;
}

void WaitingLines::clear() {
  while (!waits_.empty()) leave(waits_.begin()->first);
}

// True when this was the last key that its client waited for.
bool WaitingLines::take_out(Line& line, Line::iterator place) {
  const auto [client, index] = *place;
  line.erase(place);
  meter_.give_back(kRegistrationBytes);
  const auto found = waits_.find(client);
  MUSTER_CHECK(found != waits_.end());
  found->second.registrations[index].line = nullptr;
  if (--found->second.outstanding > 0) return false;
  waits_.erase(found);
  return true;
}

void WaitingLines::close(Lines::value_type& line) {
  meter_.give_back(kLineBytes + line.first.size());
  lines_.erase(lines_.find(line.first));
}

}  // namespace muster::rendezvous
