#include "launcher/program/peers_check.h"

#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/process/own_binary.h"
#include "base/process/temporary_folder.h"
#include "base/text.h"
#include "base/unguessable.h"
#include "launcher/doctor/pair_worker.h"
#include "launcher/options/flags.h"
#include "launcher/program/run_verb.h"
#include "launcher/report/exit_codes.h"

namespace muster::launcher {
namespace {

Result<PeersAnswer> run_check(const PeersCall& call, const Environment& environment, Files& files,
                              const ProcessSetup& setup) {
  // A program would be started in place of ours.
  const auto scanned = scan_flags(Dialect::kMuster, call.flags, environment);
  if (!scanned) return Error(scanned.error());
  if (scanned->program) {
    return Error{Code::kUsage, 0,
                 "--peers starts no program: leave '" + one_line(*scanned->program) + "' out"};
  }
  const auto binary = own_binary(files);
  if (!binary) return Error(binary.error());
  const auto digits = unguessable_digits();
  if (!digits) return Error(digits.error());
  auto folder = TemporaryFolder::create(find_temporary_place(files, environment).folder +
                                        "/muster-doctor-" + digits->substr(0, 8));
  if (!folder) return std::move(folder).error();
  const std::string report = folder->path() + "/report";
  MUSTER_RETURN_IF_ERROR(files.write(report + std::string(kOwnTraits), nccl::encode(call.own)));
  std::vector<std::string> words = call.flags;
  // The log of a job that people did not ask for says what is wrong, no more.
  words.insert(words.end(), {"--framework", "pytorch", "--nproc-per-node", "1", "--max-restarts",
                             "0", "--log-level", "warning", "--no-fabric-env", "--no-python", "--",
                             *binary, "doctor", "--pair-worker", report});
  if (!call.provider.empty()) words.insert(words.end(), {"--provider", call.provider});
  PeersAnswer answer;
  answer.exit_code = run_job({Personality::kMuster, "", std::move(words)}, environment, setup);
  if (answer.exit_code != kExitSuccess) return answer;
  const auto text = files.read(report);
  if (!text) return Error(text.error());
  auto parsed = parse_peers_report(*text);
  if (!parsed) return std::move(parsed).error();
  answer.report = std::move(*parsed);
  return answer;
}

}  // namespace

PeersAnswer check_peers(const PeersCall& call, const Environment& environment, Files& files,
                        const ProcessSetup& setup) {
  auto answer = run_check(call, environment, files, setup);
  if (answer) return std::move(*answer);
  return {complain(stderr, "muster doctor", answer.error().text, exit_code_of(answer.error())), {}};
}

}  // namespace muster::launcher
