#include "launcher/doctor/doctor_verb.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_code.h"
#include "base/interfaces.h"
#include "base/recorded_files.h"
#include "base/text.h"
#include "launcher/doctor/doctor_text.h"
#include "launcher/doctor/library_probe.h"
#include "launcher/doctor/pair_worker.h"
#include "launcher/doctor/probes.h"
#include "launcher/doctor/tree_writer.h"
#include "nccl/capture/capture.h"
#include "nccl/checks/catalogue.h"
#include "nccl/machine/machine.h"
#include "nccl/pairs/provider_choice.h"

namespace muster::launcher {
namespace {

constexpr const char* kName = "muster doctor";
constexpr const char* kHelp =
    "usage: muster doctor [--json] [--root DIR] [--nnodes N] [--nproc-per-node N]\n"
    "       muster doctor --peers [--provider NAME] [--json] [flags of muster run]\n"
    "       muster doctor --capture DIR\n"
    "\n"
    "Looks for what would break or slow a job on this node: limits, devices, addresses, settings.\n"
    "Nothing is changed, and no privilege is needed. docs/reference/checks.md lists the checks.\n"
    "\n"
    "  --json              one JSON object: {\"findings\": [{id, severity, what, remedy}]}\n"
    "  --root DIR          of another machine, whose files are in DIR\n"
    "  --nnodes N          for a job of N nodes: 1 leaves out what only several need (default: "
    "several)\n"
    "  --nproc-per-node N  for N workers on this node (default: as many as GPUs, else 1)\n"
    "  --peers             on every node: also measures the way to two others, which are found as "
    "by\n"
    "                      muster run (--nnodes, --rdzv-endpoint, --hosts, --node-rank, ...)\n"
    "  --provider NAME     with --peers: also over that provider of libfabric (tcp, efa, ...), "
    "with\n"
    "                      muster-probe (default: the first of efa, cxi and verbs that all have)\n"
    "  --capture DIR       writes the files from which a machine is known into DIR, which must be "
    "new\n"
    "                      or empty. No secrets; host names and IP addresses are in it\n"
    "\n"
    "Exit codes: 0 no error; 1 errors; 64 the command line; 78 no such DIR, or one that is not "
    "empty.\n";

struct DoctorOptions {
  bool json = false;
  bool help = false;
  std::string root;         // "" = this machine
  std::string capture;      // "" = none
  std::string probe;        // "" = none
  std::string pair_worker;  // where its report goes; "" = this is none
  std::string provider;     // "" = by itself
  bool peers = false;
  std::vector<std::string> run_flags;  // by which peers find each other
  std::optional<int> workers;
  bool has_many_nodes = true;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<int> parse_number_of(const std::string& flag, const std::string& text) {
  constexpr int kMost = 65536;
  const auto number = parse_integer(text);
  if (number && *number >= 1 && *number <= kMost) return static_cast<int>(*number);
  return usage(fmt::format("{}: '{}' is no number from 1 to {}", flag, text, kMost));
}

// "2:4" of --nnodes: the upper end counts.
std::string upper_end(const std::string& text) { return text.substr(text.rfind(':') + 1); }

Status set_value(const std::string& flag, const std::string& value, DoctorOptions& options) {
  if (flag == "--nproc-per-node" || flag == "--nnodes") {
    const auto number = parse_number_of(flag, flag == "--nnodes" ? upper_end(value) : value);
    if (!number) return Error(number.error());
    if (flag == "--nnodes") {
      options.has_many_nodes = *number > 1;
    } else {
      options.workers = *number;
    }
    return {};
  }
  if (value.empty()) return usage(flag + ": a value is wanted");
  if (flag == "--root") options.root = value;
  if (flag == "--capture") options.capture = value;
  if (flag == "--probe") options.probe = value;
  if (flag == "--pair-worker") options.pair_worker = value;
  if (flag == "--provider") {
    if (!nccl::is_provider_name(value))
      return usage(flag + ": '" + value + "' is no name of a provider of libfabric");
    options.provider = value;
  }
  return {};
}

bool takes_value(const std::string& flag) {
  return flag == "--root" || flag == "--capture" || flag == "--probe" || flag == "--pair-worker" ||
         flag == "--provider" || flag == "--nproc-per-node" || flag == "--nnodes";
}

// torchrun writes its flags with '_' as well.
std::string with_dashes(std::string flag) {
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Result<DoctorOptions> parse(const std::vector<std::string>& words) {
  DoctorOptions options;
  options.peers = std::ranges::find(words, "--peers") != words.end();
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--peers") continue;
    const size_t equals = words[i].find('=');
    const std::string flag = with_dashes(words[i].substr(0, equals));
    if (takes_value(flag)) {
      const bool is_glued = equals != std::string::npos;
      if (!is_glued && i + 1 == words.size()) return usage(flag + ": a value must follow");
      const std::string value = is_glued ? words[i].substr(equals + 1) : words[++i];
      MUSTER_RETURN_IF_ERROR(set_value(flag, value, options));
      if (flag == "--nnodes") options.run_flags.insert(options.run_flags.end(), {flag, value});
    } else if (words[i] == "--json") {
      options.json = true;
    } else if (words[i] == "--help" || words[i] == "-h") {
      options.help = true;
    } else if (options.peers) {
      options.run_flags.push_back(words[i]);
    } else {
      return usage("unknown argument '" + words[i] + "'");
    }
  }
  if (options.peers && !(options.root.empty() && options.capture.empty()))
    return usage("--peers is of this machine: leave --root and --capture out");
  if (!options.provider.empty() && !options.peers && options.pair_worker.empty())
    return usage("--provider is of --peers");
  if (options.json && !options.capture.empty())
    return usage("--json and --capture exclude each other");
  return options;
}

struct Answer {
  std::string text;
  int exit_code = kExitSuccess;
};

Result<Answer> answer_capture(const DoctorOptions& options, const Files& source,
                              const Environment& environment, Files& disk) {
  std::vector<InterfaceAddress> addresses;
  if (options.root.empty()) {
    // Without them the files have to do.
    if (auto listed = interface_addresses()) addresses = std::move(*listed);
  }
  const nccl::Capture capture = nccl::capture_machine(source, environment, addresses);
  const auto written = write_tree(capture, disk, options.capture);
  if (!written) return Error(written.error()).with_context("--capture");
  return Answer{
      fmt::format("{}: {} files, {} KiB{}\n"
                  "No secrets are meant to be in it. Host names and IP addresses are: "
                  "look through it before you send it.\n"
                  "muster doctor --root {} and muster env --root {} read it.\n",
                  options.capture, written->files, (written->bytes + 1023) / 1024,
                  capture.is_cut ? ", cut off: this machine has too many" : "", options.capture,
                  options.capture)};
}

nccl::NodeTraits traits_of(const nccl::CheckQuestion& question) {
  const nccl::LibraryFacts& libraries = question.probes.libraries;
  nccl::NodeTraits traits{
      .muster = MUSTER_VERSION,
      .driver = question.node.kernel.nvidia.version,
      .nccl = "",
      .libfabric = "",
      .settings = nccl::agreed_settings(question.node.fabric.settings, question.plan.variables)};
  if (libraries.nccl) traits.nccl = libraries.nccl->version;
  if (libraries.libfabric) traits.libfabric = libraries.libfabric->version;
  return traits;
}

Result<Answer> answer_findings(const DoctorOptions& options, const nccl::MachineView& view,
                               const Environment& environment, const DoctorCall& call) {
  const auto node = nccl::read_node_facts(view, environment);
  if (!node) return Error(node.error());
  const bool is_live = view.source == nccl::MachineSource::kLive;
  nccl::ProbeResults probes;
  if (is_live) {
    probes = run_probes(*node, view.files, environment, call.setup);
    probes.libraries =
        ask_libraries(find_library_probe(view.files, environment), *node, environment, call.setup);
  }
  const auto gpus = nccl::usable_accelerators(node->fabric.machine).size();
  const int workers = options.workers.value_or(std::max(1, static_cast<int>(gpus)));
  const auto question = nccl::make_question(*node, probes, {workers, options.has_many_nodes});
  auto findings = nccl::check_node(question);
  std::string title = question.plan.title;
  std::optional<PeersReport> report;
  if (options.peers) {
    PeersAnswer peers =
        call.check_peers({options.run_flags, traits_of(question), options.provider});
    // What is wrong here may be why the others were not met.
    if (!peers.report) {
      return Answer{options.json ? doctor_json(findings) : doctor_text(findings, title),
                    peers.exit_code};
    }
    report = std::move(peers.report);
    findings.insert(findings.end(), report->findings.begin(), report->findings.end());
    std::ranges::stable_sort(findings, std::ranges::greater(), &nccl::Finding::severity);
    title += "; " + peers_title(*report);
  }
  return Answer{options.json ? doctor_json(findings, report) : doctor_text(findings, title),
                has_errors(findings) ? kExitFindings : kExitSuccess};
}

Result<Answer> answer(const DoctorCall& call) {
  const auto options = parse(call.words);
  if (!options) return Error(options.error());
  if (options->help) return Answer{kHelp};
  if (!options->probe.empty()) return Answer{"", run_probe(options->probe)};
  if (!options->pair_worker.empty()) {
    const Status worked = run_pair_worker(
        {call.environment, call.files, call.setup, options->pair_worker, options->provider});
    return worked ? Result<Answer>(Answer{}) : Error(worked.error());
  }
  if (options->root.empty()) {
    if (!options->capture.empty())
      return answer_capture(*options, call.files, call.environment, call.files);
    return answer_findings(*options,
                           {call.files, nccl::MachineSource::kLive, nccl::MachineDetail::kAll},
                           call.environment, call);
  }
  const auto recorded = RecordedFiles::open(options->root);
  if (!recorded) return Error(recorded.error()).with_context("--root");
  const Environment environment = recorded_environment(*recorded);
  if (!options->capture.empty())
    return answer_capture(*options, *recorded, environment, call.files);
  return answer_findings(*options,
                         {*recorded, nccl::MachineSource::kRecorded, nccl::MachineDetail::kAll},
                         environment, call);
}

}  // namespace

int run_doctor_verb(const DoctorCall& call, std::FILE* output, std::FILE* errors) {
  const auto told = answer(call);
  if (!told) return complain(errors, kName, told.error().text, exit_code_of(told.error()));
  (void)std::fwrite(told->text.data(), 1, told->text.size(), output);  // nobody is left to tell
  return told->exit_code;
}

}  // namespace muster::launcher
