#include "launcher/program/dashboard_verb.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/exit_code.h"
#include "base/http_port.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/dashboard/dashboard_service.h"
#include "launcher/dashboard/event_store.h"

namespace muster::launcher {

namespace {

constexpr const char* kName = "muster dashboard";
constexpr uint16_t kDefaultPort = 8090;
constexpr int64_t kMostKept = 1'000'000;
constexpr size_t kMostClients = 256;
constexpr size_t kMostHostNames = 64;
constexpr size_t kMostTokenBytes = 4096;
// Pages are told of changes at most so often.
constexpr auto kTellAfter = std::chrono::milliseconds(250);
constexpr auto kKeepStreamsEvery = std::chrono::seconds(15);

constexpr const char* kHelp =
    "usage: muster dashboard --db FILE [--listen ADDR:PORT] [--token-file FILE] [--keep N]\n"
    "                        [--host-name NAME]...\n"
    "\n"
    "Takes what sidecars report (--report webhook=http://ADDR:PORT/webhook) and shows it in a "
    "browser,\n"
    "until SIGTERM.\n"
    "\n"
    "  --db FILE            an SQLite file, made if it is not there\n"
    "  --listen ADDR:PORT   numeric address to listen on; port 0 lets the kernel choose (default\n"
    "                       127.0.0.1:8090; whoever reaches it reads everything)\n"
    "  --token-file FILE    posts must bear this token; reading needs none\n"
    "  --keep N             events of a job that are kept, and points of progress (default 10000)\n"
    "  --host-name NAME     a name by which browsers may know this host, besides localhost and\n"
    "                       numeric addresses; several times for several\n"
    "\n"
    "Prints \"dashboard http://ADDR:PORT/\" when it can be reached.\n";

struct DashboardOptions {
  Address address{"127.0.0.1", kDefaultPort};
  std::string database;
  std::string token_file;
  std::vector<std::string> host_names;
  EventLimits limits;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

// "127.0.0.1:8090", "[::1]:0".
Result<Address> parse_listen(const std::string& text) {
  const size_t colon = text.rfind(':');
  const auto host = parse_numeric_host(std::string_view(text).substr(0, colon));
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_integer(std::string_view(text).substr(colon + 1));
  const bool bare_ipv6 = host && host->find(':') != std::string::npos && text[0] != '[';
  if (!host || bare_ipv6 || !port || *port < 0 || *port > UINT16_MAX)
    return usage("--listen: '" + text + "' is not ADDR:PORT with a numeric address");
  return Address{*host, static_cast<uint16_t>(*port)};
}

Status set_option(DashboardOptions& options, std::string_view flag, const std::string& value) {
  if (flag == "--listen") {
    auto address = parse_listen(value);
    if (!address) return std::move(address).error();
    options.address = *std::move(address);
  } else if (flag == "--keep") {
    const auto keep = parse_integer(value);
    if (!keep || *keep < 1 || *keep > kMostKept)
      return usage(fmt::format("--keep: '{}' is not a number from 1 to {}", value, kMostKept));
    options.limits.events = *keep;
  } else if (value.empty()) {
    return usage(std::string(flag) + " needs a value");
  } else if (flag == "--host-name") {
    if (options.host_names.size() == kMostHostNames)
      return usage(fmt::format("--host-name: more than {} times", kMostHostNames));
    options.host_names.push_back(value);
  } else {
    (flag == "--db" ? options.database : options.token_file) = value;
  }
  return {};
}

bool is_known(std::string_view flag) {
  constexpr std::string_view kFlags[] = {"--db", "--listen", "--token-file", "--keep",
                                         "--host-name"};
  return std::ranges::find(kFlags, flag) != std::end(kFlags);
}

Result<DashboardOptions> parse(const std::vector<std::string>& arguments) {
  DashboardOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    if (!is_known(flag)) return usage("unknown argument '" + word + "'");
    const bool inline_value = equals != std::string::npos;
    if (!inline_value && i + 1 == arguments.size()) return usage(flag + " needs a value");
    MUSTER_RETURN_IF_ERROR(
        set_option(options, flag, inline_value ? word.substr(equals + 1) : arguments[++i]));
  }
  if (options.database.empty()) return usage("--db FILE must say where the events are kept");
  return options;
}

Result<std::string> read_token(const Files& files, const std::string& path) {
  if (path.empty()) return std::string();
  const auto text = files.read(path, kMostTokenBytes);
  if (!text) return Error{Code::kConfig, 0, "--token-file: " + text.error().text};
  std::string token(trim(*text));
  if (token.empty()) return Error{Code::kConfig, 0, "--token-file: " + path + " is empty"};
  return token;
}

// The service behind a port, and the pages that are told of changes.
class Dashboard {
 public:
  Dashboard(VerbLoop& verb, EventStore& store, DashboardAccess access)
      : loop_(verb.loop()),
        service_(
            store, verb.clock(), std::move(access),
            [this](uint64_t client, std::string_view bytes) { return port_.push(client, bytes); },
            [this](uint64_t client) { port_.close(client); }),
        port_(verb.loop(), verb.network(), kMostClients,
              [this](const HttpCall& call) { return answer(call); }) {}
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  Result<Address> listen(const Address& address) {
    keep_streams();
    return port_.listen(address);
  }

 private:
  HttpReply answer(const HttpCall& call) {
    HttpReply reply = service_.answer(call);
    if (service_.has_changes() && !tells_) {
      tells_ = true;
      tell_ = loop_.after(kTellAfter, [this] {
        tells_ = false;
        service_.tell_changes();
      });
    }
    return reply;
  }
  void keep_streams() {
    service_.keep_streams();
    keep_ = loop_.after(kKeepStreamsEvery, [this] { keep_streams(); });
  }

  Loop& loop_;
  DashboardService service_;
  HttpPort port_;
  bool tells_ = false;
  Timer tell_;
  Timer keep_;
};

bool is_stop(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGHUP; }

Status serve(const DashboardOptions& options, const Files& files, VerbLoop& verb, int signal_fd,
             std::FILE* output) {
  auto token = read_token(files, options.token_file);
  if (!token) return std::move(token).error();
  const bool open_to_all = token->empty() && !options.address.is_loopback();
  auto store = EventStore::open_file(options.database, options.limits);
  if (!store) return std::move(store).error().with_context("--db");
  Dashboard dashboard(verb, **store, {*std::move(token), options.host_names});
  const auto bound = dashboard.listen(options.address);
  if (!bound) return Error(bound.error());
  if (open_to_all) {
    log::warning("dashboard.open",
                 {{"address", bound->to_string()},
                  {"action", "whoever reaches it can post events: use --token-file"}});
  }
  // The reader may be gone already; the dashboard serves on.
  (void)std::fprintf(output, "dashboard http://%s/\n", bound->to_string().c_str());
  (void)std::fflush(output);
  return verb.run(signal_fd, [&verb](const ReceivedSignal& signal) {
    if (is_stop(signal.number)) verb.stop();
  });
}

}  // namespace

int run_dashboard_verb(const std::vector<std::string>& arguments, const Files& files,
                       VerbLoop& verb, int signal_fd, std::FILE* output, std::FILE* errors) {
  const auto options = parse(arguments);
  if (!options) return complain(errors, kName, options.error().text, kExitUsage);
  if (options->help) {
    (void)std::fputs(kHelp, output);  // nobody is left to tell
    return kExitSuccess;
  }
  if (auto served = serve(*options, files, verb, signal_fd, output); !served)
    return complain(errors, kName, served.error().text, exit_code_of(served.error()));
  return kExitSuccess;
}

}  // namespace muster::launcher
