// Foreign launchers: `muster run deepspeed ...`, `muster run horovodrun ...` and `muster run python
// -m paddle.distributed.launch ...` name another launcher than torchrun as the program. Their
// command line becomes one of Muster's own. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::launcher {

/// What a foreign launcher was told, in Muster's words.
struct ForeignCommand {
  std::string name;                    ///< "deepspeed"
  std::vector<std::string> arguments;  ///< flags of `muster run`, "--", the program and its words
  /// Of all nodes, if that is what it was told; 0 = none. Then `arguments` say nothing of it.
  int total_workers = 0;
  std::string nodes = {};  ///< how many it was told of, if more than one
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< for the workers
  std::vector<std::string> ignored = {};  ///< its options that mean nothing here
  std::string problem = {};               ///< why it cannot be taken over, one line; "" = it can
};

/// By the name of a program ("deepspeed", also with a path) or of a Python module
/// ("paddle.distributed.launch"). None: it is no launcher known here, or it was told to do
/// something that only it can do (`horovodrun --check-build`, its elastic mode).
[[nodiscard]] std::optional<ForeignCommand> read_foreign_program(
    std::string_view program, std::span<const std::string> words);
[[nodiscard]] std::optional<ForeignCommand> read_foreign_module(std::string_view module,
                                                                std::span<const std::string> words);

}  // namespace muster::launcher
