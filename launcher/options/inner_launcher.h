// Inner launchers: `muster run torchrun ...` and `muster run python -m torch.distributed.run ...`
// name another launcher as the program. Muster takes its place: its arguments become ours. So it is
// with another `muster run`, and with launchers of other frameworks (foreign_launcher.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "launcher/options/flags.h"
#include "launcher/options/foreign_launcher.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// "python", "/usr/bin/python3.11"; no other implementation runs torch.
[[nodiscard]] bool is_python(std::string_view program);

/// The name of an inner launcher that is Muster. Its program may be a launcher again.
inline constexpr std::string_view kMusterRun = "muster run";
/// So many behind each other are taken over. Nobody means more.
inline constexpr int kMaxInnerLaunchers = 8;

/// A command that is a launcher, taken apart.
struct InnerLauncher {
  std::string name;  ///< for messages: "torchrun", "torch.distributed.launch"
  Dialect dialect = Dialect::kTorchrun;
  std::string interpreter;             ///< as named in the command; "" = none
  std::string torchrun_path;           ///< with '/'; "" = no script was named
  std::vector<std::string> arguments;  ///< the launcher's own command line
  /// Not torchrun: `arguments` are Muster's, and this is what else it was told.
  std::optional<ForeignCommand> foreign = {};
};

/// Recognises `torchrun` and `muster run` (any path), and a Python interpreter with any of its
/// options in front of
/// `-m torch.distributed.run`, `-m torch.distributed.launch`, a torchrun script, or the files of
/// those two modules; also -m and a module name as our own flags (`kind`). The interpreter's other
/// options are dropped, as torchrun does not hand them to its workers either. Also the launchers of
/// foreign_launcher.h, in the same ways. None: some other command; in particular a shell or env in
/// front hides the launcher.
[[nodiscard]] std::optional<InnerLauncher> find_inner_launcher(
    EntryKind kind, const std::string& program, const std::vector<std::string>& arguments);

/// It says how the program is started, so it goes with the program.
[[nodiscard]] bool chooses_program(Flag flag);

/// The flags of the inner command line, with those outer ones that it does not give. Where both
/// give one and differ, the inner wins and a warning says so. What chose the outer program (-m,
/// --no-python, --run-path) is dropped. Errors: those of scan_flags, naming the inner launcher, and
/// kUsage if a foreign one was told what cannot be had here.
Result<RawFlags> take_over(const RawFlags& outer, const InnerLauncher& given,
                           const Environment& environment);

}  // namespace muster::launcher
