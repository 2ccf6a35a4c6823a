#include "launcher/program/sidecar_verb.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/process/verb_loop.h"
#include "base/resolver.h"
#include "base/text.h"
#include "launcher/command_line/refusal.h"
#include "launcher/program/run_folder.h"
#include "launcher/sidecar/sidecar.h"
#include "launcher/sidecar/sidecar_files.h"
#include "launcher/sidecar/webhook_target.h"

namespace muster::launcher {

namespace {

constexpr const char* kHelp =
    "usage: muster sidecar --run-dir DIR --report TARGET [--report TARGET ...]\n"
    "\n"
    "Tells what happens on a node to somebody outside, from the journal that `muster run "
    "--run-dir\n"
    "DIR` writes there. Nothing is lost while a receiver is away. It may start before DIR exists,\n"
    "and ends when the job's end is told.\n"
    "\n"
    "TARGET is one of\n"
    "  webhook=URL          every event, by POST, as JSON\n"
    "  trainjob             how far the job is, to the Kubeflow Trainer that made this pod\n"
    "  annotation           what the node does, as annotations of this pod\n"
    "  stdout               every event, as a line\n"
    "\n"
    "  --token-file FILE    bearer token for webhooks, read anew for each connection\n"
    "  --ca-file FILE       who may sign their certificate, instead of whom the system trusts\n"
    "  --cert-file FILE     our own certificate for them\n"
    "  --key-file FILE      and its key, if it is not in the same file\n"
    "  --flush-timeout T    how long it goes on after a SIGTERM (30s)\n"
    "  --retry-max T        the longest wait between two tries, at most a minute (60s)\n"
    "  --log-level LEVEL    debug, info, warning, error, off (info)\n"
    "  --log-format FORMAT  text or json\n"
    "\n"
    "--report, --run-dir and the four files may be given by MUSTER_REPORT (with spaces between),\n"
    "MUSTER_RUN_DIR, MUSTER_TOKEN_FILE, MUSTER_CA_FILE, MUSTER_CERT_FILE and\n"
    "MUSTER_KEY_FILE; the format by MUSTER_LOG_FORMAT or LOG_FORMAT.\n"
    "\n"
    "Exit codes: 0; 64 the command line; 75 something could not be delivered and the job's end is\n"
    "not known, or another sidecar reports from DIR; 78 there is no such target here, or DIR "
    "cannot be written.\n";

struct Words {
  SidecarOptions options;
  std::string reports;
  std::string log_level = "info";
  std::string log_format = "text";
  bool own_folder = false;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

std::string variable(const Environment& environment, const char* name) {
  return std::string(environment.get(name).value_or(""));
}

void take_variables(Words& words, const Environment& environment) {
  words.options.folder = variable(environment, "MUSTER_RUN_DIR");
  words.reports = variable(environment, "MUSTER_REPORT");
  if (wants_json_log({{}, environment})) words.log_format = "json";
  HttpCredentials& webhook = words.options.webhook;
  webhook.token_file = variable(environment, "MUSTER_TOKEN_FILE");
  webhook.authorities_file = variable(environment, "MUSTER_CA_FILE");
  webhook.certificate_file = variable(environment, "MUSTER_CERT_FILE");
  webhook.key_file = variable(environment, "MUSTER_KEY_FILE");
}

Status take_duration(Duration& into, const std::string& flag, const std::string& value) {
  const auto duration = parse_duration(value);
  if (!duration) return usage(flag + " '" + value + "': no time such as 30s or 2m");
  into = *duration;
  return {};
}

// The text of the flag goes there; null: it is no such flag.
std::string* text_of(Words& words, const std::string& flag) {
  HttpCredentials& webhook = words.options.webhook;
  const std::pair<const char*, std::string*> texts[] = {
      {"--run-dir", &words.options.folder},     {"--token-file", &webhook.token_file},
      {"--ca-file", &webhook.authorities_file}, {"--cert-file", &webhook.certificate_file},
      {"--key-file", &webhook.key_file},        {"--log-level", &words.log_level},
      {"--log-format", &words.log_format},
  };
  for (const auto& [name, text] : texts) {
    if (flag == name) return text;
  }
  return nullptr;
}

bool is_flag(Words& words, const std::string& flag) {
  return text_of(words, flag) != nullptr || flag == "--report" || flag == "--flush-timeout" ||
         flag == "--retry-max";
}

Status take_value(Words& words, const std::string& flag, const std::string& value,
                  bool& reports_given) {
  if (std::string* text = text_of(words, flag)) {
    *text = value;
    return {};
  }
  if (flag == "--flush-timeout") return take_duration(words.options.flush_timeout, flag, value);
  if (flag == "--retry-max") return take_duration(words.options.retry_max, flag, value);
  if (flag != "--report") return usage("unknown argument '" + flag + "'");
  if (!std::exchange(reports_given, true)) words.reports.clear();
  words.reports += " " + value;
  return {};
}

Status check(Words& words) {
  if (words.options.folder.empty()) return usage("--run-dir DIR says where the journal is");
  if (words.reports.empty()) return usage("--report TARGET says who is to be told");
  auto targets = parse_reports(words.reports);
  if (!targets) return std::move(targets).error().with_context("--report");
  words.options.targets = *std::move(targets);
  const HttpCredentials& webhook = words.options.webhook;
  if (!webhook.key_file.empty() && webhook.certificate_file.empty())
    return usage("--key-file: there is no --cert-file for it");
  if (words.options.retry_max > kMaxRetryWait || words.options.retry_max <= Duration::zero())
    return usage("--retry-max: more than nothing and at most a minute");
  if (!log::parse_level(words.log_level)) {
    return usage("--log-level '" + words.log_level + "': none of debug, info, warning, error, off");
  }
  if (words.log_format != "text" && words.log_format != "json")
    return usage("--log-format '" + words.log_format + "': neither text nor json");
  return {};
}

Result<Words> parse(const std::vector<std::string>& arguments, const Environment& environment) {
  Words words;
  take_variables(words, environment);
  bool reports_given = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      words.help = true;
      return words;
    }
    if (word == kAfterAnother) {
      words.options.after_another = true;
      continue;
    }
    if (word == kOwnFolder) {
      words.own_folder = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const bool joined = equals != std::string::npos;
    if (!flag.starts_with("--")) return usage("unknown argument '" + word + "'");
    if (!joined && i + 1 == arguments.size()) {
      return usage(is_flag(words, flag) ? flag + " needs a value"
                                        : "unknown argument '" + flag + "'");
    }
    MUSTER_RETURN_IF_ERROR(
        take_value(words, flag, joined ? word.substr(equals + 1) : arguments[++i], reports_given));
  }
  MUSTER_RETURN_IF_ERROR(check(words));
  return words;
}

// What a terminal sends goes to an agent and to its child alike: then the agent tells the child.
bool asks_for_end(int signal, bool own_child) {
  if (own_child) return signal == SIGTERM;
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// What a receiver has refused is nowhere else.
void remove_unless_refused(Files& files, const std::string& folder) {
  const auto names = files.list(folder);
  const bool refused = names && std::ranges::any_of(*names, [](const std::string& name) {
                         return name.find(kDeadLetterEnding) != std::string::npos;
                       });
  if (!refused) return remove_run_folder(files, folder);
  log::warning(kEventDeadLetter,
               {{"action", "the folder " + folder + " stays: what was refused is in it"}});
}

Result<int> run(Words words, const Environment& environment, Files& files, int signal_fd) {
  log::set_level(log::parse_level(words.log_level).value_or(log::Level::kInfo));
  log::set_format(words.log_format == "json" ? log::Format::kJson : log::Format::kText);
  auto verb = VerbLoop::create();
  if (!verb) return std::move(verb).error();
  Loop& loop = (*verb)->loop();
  DnsResolver resolver(loop);
  int exit_code = kExitInternal;
  const std::string folder = words.options.folder;
  const bool own_child = words.options.after_another;
  Sidecar sidecar({loop, (*verb)->clock(), files, (*verb)->network(), resolver},
                  std::move(words.options), environment, [&exit_code, &loop](int code) {
                    exit_code = code;
                    loop.stop();
                  });
  MUSTER_RETURN_IF_ERROR(sidecar.start());
  MUSTER_RETURN_IF_ERROR(
      (*verb)->run(signal_fd, [&sidecar, own_child](const ReceivedSignal& signal) {
        if (asks_for_end(signal.number, own_child)) sidecar.end();
      }));
  if (words.own_folder && sidecar.told_all()) remove_unless_refused(files, folder);
  return exit_code;
}

}  // namespace

int run_sidecar_verb(const std::vector<std::string>& arguments, const Environment& environment,
                     Files& files, const ProcessSetup& setup, std::FILE* output,
                     std::FILE* errors) {
  auto words = parse(arguments, environment);
  if (words && words->help) {
    (void)std::fputs(kHelp, output);  // nobody is left to tell
    return kExitSuccess;
  }
  const auto code = words ? run(*std::move(words), environment, files, setup.signal_fd.get())
                          : Result<int>(words.error());
  if (code) return *code;
  return refuse_to_start({arguments, environment}, "muster sidecar", code.error(),
                         exit_code_of(code.error()), errors);
}

}  // namespace muster::launcher
