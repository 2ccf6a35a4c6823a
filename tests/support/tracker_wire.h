// What XGBoost's workers say to a tracker, written by hand from captures: not by the encoder that
// is tested.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace muster::testing::tracker_wire {

inline std::string number(int32_t value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return bytes;
}
inline std::string text(std::string_view value) {
  return number(static_cast<int32_t>(value.size())) + std::string(value);
}
inline const std::string kMagic("\x99\xff\x00\x00", 4);

// XGBoost 1.7.
inline std::string classic(int rank, int world_size, std::string_view task,
                           std::string_view command) {
  return kMagic + number(rank) + number(world_size) + text(task) + text(command);
}
inline std::string classic_start(std::string_view task) { return classic(-1, -1, task, "start"); }

// XGBoost 3.2.
inline std::string json_header(int rank, int world_size, std::string_view task) {
  return kMagic + text(R"({"rank":)" + std::to_string(rank) + R"(,"task_id":")" +
                       std::string(task) + R"(","world_size":)" + std::to_string(world_size) + "}");
}
inline std::string json(int rank, int world_size, std::string_view task, std::string_view command) {
  return json_header(rank, world_size, task) + text(command);
}
inline std::string json_start(std::string_view task, int port, int error_port) {
  return json(0, -1, task,
              R"({"cmd":1,"error_port":)" + std::to_string(error_port) + R"(,"port":)" +
                  std::to_string(port) + "}");
}

}  // namespace muster::testing::tracker_wire
