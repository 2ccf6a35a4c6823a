#include "launcher/options/foreign_launcher.h"

#include <algorithm>

#include "base/text.h"

namespace muster::launcher {

namespace {

enum class Use {
  kIgnored,         // addresses, places and ranks, which the agents know
  kIgnoredSwitch,   // without a value
  kWorkersPerNode,  //
  kWorkersInAll,    //
  kNodes,           // how many; 1 and less are what nobody need say
  kDevices,         // a list of devices: as many workers on this node, which see just these
  kMaxRestarts,     //
  kLogDir,          //
  kModule,          // a switch: the program is a module
  kNoPython,        // a switch: the program is started directly
  kNoLocalRank,     // a switch: the program gets no --local_rank
  kVariable,        // the value of a variable
  kVariableSwitch,  // a variable is 1
  kRefused,         // what cannot be had here
  kNotOurs,         // another thing than a job
};

struct ForeignFlag {
  std::string_view name;  // with dashes; '_' and '-' are one
  Use use;
  std::string_view variable = {};
};

struct ForeignLauncher {
  std::string_view program;
  std::string_view module;
  std::string_view framework;   // "" = what was said
  std::string_view local_rank;  // the word that it adds for the script; "" = none
  bool starts_programs;         // and not scripts
  std::span<const ForeignFlag> flags;
};

// DeepSpeed 0.19, launcher/runner.py.
constexpr ForeignFlag kDeepspeed[] = {{"-H", Use::kIgnored},
                                      {"--hostfile", Use::kIgnored},
                                      {"-i", Use::kRefused},
                                      {"--include", Use::kRefused},
                                      {"-e", Use::kRefused},
                                      {"--exclude", Use::kRefused},
                                      {"--num-nodes", Use::kNodes},
                                      {"--num-gpus", Use::kWorkersPerNode},
                                      {"--num-accelerators", Use::kWorkersPerNode},
                                      {"--master-port", Use::kIgnored},
                                      {"--master-addr", Use::kIgnored},
                                      {"--node-rank", Use::kIgnored},
                                      {"--launcher", Use::kIgnored},
                                      {"--launcher-args", Use::kIgnored},
                                      {"--ssh-port", Use::kIgnored},
                                      {"--no-ssh", Use::kIgnoredSwitch},
                                      {"--no-ssh-check", Use::kIgnoredSwitch},
                                      {"--force-multi", Use::kIgnoredSwitch},
                                      {"--save-pid", Use::kIgnoredSwitch},
                                      {"--module", Use::kModule},
                                      {"--no-python", Use::kNoPython},
                                      {"--no-local-rank", Use::kNoLocalRank}};

// Horovod 0.28, runner/launch.py.
constexpr ForeignFlag kHorovodrun[] = {
    {"-np", Use::kWorkersInAll},
    {"--num-proc", Use::kWorkersInAll},
    {"-H", Use::kIgnored},
    {"--hosts", Use::kIgnored},
    {"-hostfile", Use::kIgnored},
    {"--hostfile", Use::kIgnored},
    {"-p", Use::kIgnored},
    {"--ssh-port", Use::kIgnored},
    {"-i", Use::kIgnored},
    {"--ssh-identity-file", Use::kIgnored},
    {"--start-timeout", Use::kIgnored},
    {"--output-filename", Use::kLogDir},
    {"--gloo", Use::kIgnoredSwitch},
    {"--verbose", Use::kIgnoredSwitch},
    {"--disable-cache", Use::kIgnoredSwitch},
    {"--network-interfaces", Use::kVariable, "HOROVOD_GLOO_IFACE"},
    {"--network-interface", Use::kVariable, "HOROVOD_GLOO_IFACE"},
    {"--cycle-time-ms", Use::kVariable, "HOROVOD_CYCLE_TIME"},
    {"--cache-capacity", Use::kVariable, "HOROVOD_CACHE_CAPACITY"},
    {"--timeline-filename", Use::kVariable, "HOROVOD_TIMELINE"},
    {"--log-level", Use::kVariable, "HOROVOD_LOG_LEVEL"},
    {"--gloo-timeout-seconds", Use::kVariable, "HOROVOD_GLOO_TIMEOUT_SECONDS"},
    {"--autotune", Use::kVariableSwitch, "HOROVOD_AUTOTUNE"},
    {"--min-np", Use::kNotOurs},
    {"--min-num-proc", Use::kNotOurs},
    {"--host-discovery-script", Use::kNotOurs},
    {"-cb", Use::kNotOurs},
    {"--check-build", Use::kNotOurs},
    {"-v", Use::kNotOurs},
    {"--version", Use::kNotOurs},
    {"-h", Use::kNotOurs},
    {"--help", Use::kNotOurs}};

// Paddle 2.6, distributed/launch/context/args_envs.py.
constexpr ForeignFlag kPaddle[] = {{"--nproc-per-node", Use::kWorkersPerNode},
                                   {"--devices", Use::kDevices},
                                   {"--gpus", Use::kDevices},
                                   {"--max-restart", Use::kMaxRestarts},
                                   {"--log-dir", Use::kLogDir},
                                   {"--nnodes", Use::kNodes},
                                   {"--master", Use::kIgnored},
                                   {"--rank", Use::kIgnored},
                                   {"--ips", Use::kIgnored},
                                   {"--host", Use::kIgnored},
                                   {"--job-id", Use::kIgnored},
                                   {"--log-level", Use::kIgnored},
                                   {"--log-overwrite", Use::kIgnored},
                                   {"--sort-ip", Use::kIgnored},
                                   {"--elastic-level", Use::kIgnored},
                                   {"--elastic-timeout", Use::kIgnored},
                                   {"--with-gloo", Use::kVariable, "PADDLE_WITH_GLOO"}};

constexpr ForeignLauncher kLaunchers[] = {
    {"deepspeed", "deepspeed.launcher.runner", "", "--local_rank=${local_rank}", false, kDeepspeed},
    {"horovodrun", "horovod.runner.launch", "horovod", "", true, kHorovodrun},
    {"", "paddle.distributed.launch", "paddle", "", false, kPaddle}};

bool takes_value(Use use) {
  switch (use) {
    case Use::kIgnoredSwitch:
    case Use::kModule:
    case Use::kNoPython:
    case Use::kNoLocalRank:
    case Use::kVariableSwitch:
    case Use::kNotOurs:
      return false;
    case Use::kIgnored:
    case Use::kWorkersPerNode:
    case Use::kWorkersInAll:
    case Use::kNodes:
    case Use::kDevices:
    case Use::kMaxRestarts:
    case Use::kLogDir:
    case Use::kVariable:
    case Use::kRefused:
      return true;
  }
  return false;
}

const ForeignFlag* find(const ForeignLauncher& launcher, std::string_view word) {
  std::string name(word);
  if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
  const auto* const found = std::ranges::find(launcher.flags, name, &ForeignFlag::name).base();
  return found == launcher.flags.data() + launcher.flags.size() ? nullptr : found;
}

class Reader {
 public:
  Reader(const ForeignLauncher& launcher, std::span<const std::string> words)
      : launcher_(launcher), words_(words) {
    command_.name = launcher.program.empty() ? launcher.module : launcher.program;
  }

  // None: it is not for us.
  std::optional<ForeignCommand> read() {
    size_t at = 0;
    while (at < words_.size() && words_[at].starts_with('-') && words_[at] != "--") {
      const std::string word = words_[at++];
      const size_t sign = word.find('=');
      const ForeignFlag* const flag = find(launcher_, word.substr(0, sign));
      if (flag == nullptr) return refuse(word.substr(0, sign) + " is not known here");
      if (flag->use == Use::kNotOurs) return std::nullopt;
      std::string value = sign == std::string::npos ? "" : word.substr(sign + 1);
      if (takes_value(flag->use) && sign == std::string::npos) {
        if (at == words_.size()) return refuse(word + ": a value must follow");
        value = words_[at++];
      }
      if (flag->use == Use::kRefused)
        return refuse(word.substr(0, sign) + " is not supported here");
      if (!take(*flag, value)) return refuse(word.substr(0, sign) + " '" + value + "': no number");
    }
    if (at < words_.size() && words_[at] == "--") ++at;
    if (at == words_.size()) return refuse("it names no program");
    finish(words_.subspan(at));
    return std::move(command_);
  }

 private:
  std::optional<ForeignCommand> refuse(std::string problem) {
    command_.problem = std::move(problem);
    return std::move(command_);
  }

  bool take(const ForeignFlag& flag, const std::string& value) {
    switch (flag.use) {
      case Use::kIgnored:
      case Use::kIgnoredSwitch:
        command_.ignored.emplace_back(flag.name);
        return true;
      case Use::kWorkersPerNode:
        if (value != "-1") say("--nproc-per-node", value);
        return true;
      case Use::kWorkersInAll: {
        const auto number = parse_integer(value);
        if (!number || *number < 1 || *number > 1'000'000) return false;
        command_.total_workers = static_cast<int>(*number);
        return true;
      }
      case Use::kNodes:
        if (value != "1" && !value.starts_with('-')) command_.nodes = value;
        return true;
      case Use::kDevices:
        say("--nproc-per-node", std::to_string(split(value, ',').size()));
        command_.environment.emplace_back("CUDA_VISIBLE_DEVICES", value);
        return true;
      case Use::kMaxRestarts:
        say("--max-restarts", value);
        return true;
      case Use::kLogDir:
        say("--log-dir", value);
        return true;
      case Use::kModule:
        module_ = true;
        return true;
      case Use::kNoPython:
        no_python_ = true;
        return true;
      case Use::kNoLocalRank:
        local_rank_ = false;
        return true;
      case Use::kVariable:
        command_.environment.emplace_back(flag.variable, value);
        return true;
      case Use::kVariableSwitch:
        command_.environment.emplace_back(flag.variable, "1");
        return true;
      case Use::kRefused:
      case Use::kNotOurs:
        break;
    }
    return false;
  }

  void say(std::string_view flag, const std::string& value) {
    command_.arguments.insert(command_.arguments.end(), {std::string(flag), value});
  }

  void finish(std::span<const std::string> program) {
    std::vector<std::string>& words = command_.arguments;
    if (!launcher_.framework.empty()) say("--framework", std::string(launcher_.framework));
    if (module_) words.emplace_back("--module");
    if (no_python_ || launcher_.starts_programs) words.emplace_back("--no-python");
    words.insert(words.end(), {"--", program.front()});
    if (local_rank_ && !launcher_.local_rank.empty()) words.emplace_back(launcher_.local_rank);
    words.insert(words.end(), program.begin() + 1, program.end());
  }

  const ForeignLauncher& launcher_;
  std::span<const std::string> words_;
  ForeignCommand command_;
  bool module_ = false;
  bool no_python_ = false;
  bool local_rank_ = true;
};

std::optional<ForeignCommand> read(std::string_view name, std::span<const std::string> words,
                                   std::string_view ForeignLauncher::*of) {
  if (name.empty()) return std::nullopt;
  const auto launcher = std::ranges::find(kLaunchers, name, of);
  if (launcher == std::end(kLaunchers)) return std::nullopt;
  return Reader(*launcher, words).read();
}

}  // namespace

std::optional<ForeignCommand> read_foreign_program(std::string_view program,
                                                   std::span<const std::string> words) {
  return read(base_name(program), words, &ForeignLauncher::program);
}

std::optional<ForeignCommand> read_foreign_module(std::string_view module,
                                                  std::span<const std::string> words) {
  return read(module, words, &ForeignLauncher::module);
}

}  // namespace muster::launcher
