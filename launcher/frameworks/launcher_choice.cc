#include "launcher/frameworks/launcher_choice.h"

#include <fmt/core.h>

#include <vector>

#include "base/text.h"
#include "mpi/program_libraries.h"

namespace muster::launcher {

namespace {

using mpi::Implementation;

// None: it cannot be told, as of a script.
std::optional<Implementation> built_for(const Files& files, std::string_view search_path,
                                        const std::string& program) {
  const auto path = find_program(files, program, search_path);
  const auto image = path ? files.read(*path, mpi::kMaxProgramBytes) : Result<std::string>("");
  return image ? mpi::implementation_needed(mpi::needed_libraries(*image)) : std::nullopt;
}

}  // namespace

Result<FoundLauncher> choose_launcher(const Files& files, std::string_view search_path,
                                      std::optional<Implementation> wanted,
                                      const std::string& program) {
  std::vector<Implementation> candidates;
  if (wanted) candidates = {*wanted};
  const auto built = built_for(files, search_path, program);
  if (!built) return find_launcher(files, search_path, candidates);
  if (wanted && !mpi::runs_under(*built, *wanted))
    return Error{
        Code::kConfig, 0,
        fmt::format("'{}' was built for {}, and --mpi says {}: each rank would be a job of "
                    "its own",
                    program, mpi::to_string(*built), mpi::to_string(*wanted))};
  for (const Implementation each : mpi::kAllImplementations) {
    if (!wanted && mpi::runs_under(*built, each)) candidates.push_back(each);
  }
  auto found = find_launcher(files, search_path, candidates);
  if (found) return found;
  return std::move(found).error().with_context(
      fmt::format("'{}' was built for {}", program, mpi::to_string(*built)));
}

}  // namespace muster::launcher
