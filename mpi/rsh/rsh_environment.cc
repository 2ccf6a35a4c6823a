#include "mpi/rsh/rsh_environment.h"

#include <vector>

#include "base/process/process_marks.h"
#include "base/text.h"
#include "mpi/launch/launch_env.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::mpi {

namespace {

// What a login has where nobody says otherwise (Debian's login.defs, ENV_SUPATH).
constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

void set_if_missing(Environment& environment, std::string_view name, std::string_view value) {
  if (!environment.has(name)) environment.set(name, value);
}

}  // namespace

Account find_account(std::string_view passwd, uid_t uid) {
  // passwd(5): name:password:uid:gid:comment:home:shell
  constexpr size_t kFields = 7;
  Account account;
  account.name = std::to_string(uid);
  for (const std::string_view line : split(passwd, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() != kFields || fields[0].empty() || fields[2] != account.name) continue;
    account.name = fields[0];
    account.is_listed = true;
    if (!fields[5].empty()) account.home = fields[5];
    if (!fields[6].empty()) account.shell = fields[6];
    return account;
  }
  return account;
}

bool is_same_user(std::string_view user, const Account& account, uid_t uid,
                  const Environment& pod) {
  return user.empty() || user == account.name || user == std::to_string(uid) ||
         user == pod.get("USER") || user == pod.get("LOGNAME");
}

Environment rsh_environment(const Environment& pod, const Account& account,
                            const RshEnvironmentFacts& facts) {
  Environment environment = pod;
  for (const auto& [name, value] : pod.variables()) {
    if (find_rank_variable(name) != nullptr) environment.unset(name);
  }
  set_if_missing(environment, "HOME", account.home);
  set_if_missing(environment, "USER", account.name);
  set_if_missing(environment, "LOGNAME", account.name);
  set_if_missing(environment, "SHELL", account.shell);
  set_if_missing(environment, "PATH", kDefaultPath);
  environment.set(kRshAgentVariable, facts.agent);
  environment.set(kAgentIdVariable, facts.agent_token);
  environment.set(kRshRequestVariable, facts.request);
  if (!facts.secret_file.empty())
    environment.set(rendezvous::kJobSecretFileVariable, facts.secret_file);
  return environment;
}

}  // namespace muster::mpi
