#include "mpi/rsh/rsh_environment.h"

#include <utility>

#include "base/process/process_marks.h"
#include "base/text.h"
#include "mpi/launch/launch_env.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::mpi {

namespace {

// What a login has where nobody says otherwise (Debian's login.defs, ENV_SUPATH).
constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

PlannedVariable login(std::string_view name, std::string_view value) {
  return {.name = std::string(name),
          .value = std::string(value),
          .reason = "a login has it",
          .source = "/etc/passwd, login.defs"};
}

PlannedVariable ours(std::string_view name, const std::string& value, std::string reason) {
  return {.name = std::string(name),
          .value = value,
          .reason = std::move(reason),
          .source = "muster rsh",
          .claim = Claim::kOverrides};
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

EnvironmentPlan rsh_environment(const Environment& pod, const Account& account,
                                const RshEnvironmentFacts& facts) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kDefault, outer_ranks(pod));
  plan.add(
      EnvironmentLayer::kDefault,
      {login("HOME", account.home), login("USER", account.name), login("LOGNAME", account.name),
       login("SHELL", account.shell), login("PATH", kDefaultPath)});
  plan.add(EnvironmentLayer::kAgent,
           {ours(kRshAgentVariable, facts.agent, "where the agent of this node listens"),
            ours(kAgentIdVariable, facts.agent_token, "marks everything this agent started"),
            ours(kRshRequestVariable, facts.request, "marks the processes of this request")});
  if (!facts.secret_file.empty()) {
    plan.add(EnvironmentLayer::kAgent, ours(rendezvous::kJobSecretFileVariable, facts.secret_file,
                                            "ranks report to the agent with it"));
  }
  return plan;
}

}  // namespace muster::mpi
