#include "launcher/agent/health_check.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/process/own_binary.h"
#include "base/text.h"
#include "elastic/failure.h"
#include "launcher/doctor/pair_worker.h"
#include "launcher/timeline/job_timeline.h"
#include "nccl/checks/catalogue.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

using rendezvous::HealthChecks;

// Who looks need not be able to command the agents.
Environment without_secret(const Environment& environment) {
  Environment rest = environment;
  for (const auto& secret : rendezvous::secret_variables(environment)) rest.unset(secret.name);
  return rest;
}

std::string text_of(const nccl::Finding& finding) { return finding.id + ": " + finding.what; }

// What another node would meet as well is no reason to leave this one out.
bool counts(const nccl::Finding& finding) {
  return finding.severity == nccl::Severity::kError && !nccl::is_of_settings(finding.id);
}

}  // namespace

void HealthCheck::begin(const rendezvous::Assign& round, int workers, Done done) {
  child_.cancel();
  if (round.checks == HealthChecks::kOff) return done({});
  round_ = round;
  done_ = std::move(done);
  began_ = doors_.loop.now();
  ask({"doctor", "--json", "--nnodes", std::to_string(round.node_count), "--nproc-per-node",
       std::to_string(std::max(workers, 1))},
      without_secret(context_.environment), kNodeCheckLimit, &HealthCheck::judge_node);
}

void HealthCheck::check_pairs() {
  Environment environment = without_secret(context_.environment);
  environment.set("RANK", std::to_string(round_.node_rank));
  environment.set("WORLD_SIZE", std::to_string(round_.node_count));
  environment.set("MASTER_ADDR", round_.master_host);
  environment.set("MASTER_PORT", std::to_string(round_.master_port));
  ask({"doctor", "--pair-worker", std::string(kToStandardOutput)}, std::move(environment),
      kPairsCheckLimit, &HealthCheck::judge_pairs);
}

void HealthCheck::judge_node(const Result<std::string>& printed) {
  const auto report = printed ? parse_peers_report(*printed) : Error(printed.error());
  if (!report) {
    pass_unknown(report.error().text);
  } else if (const auto found = std::ranges::find_if(report->findings, counts);
             found != report->findings.end()) {
    for (const nccl::Finding& finding : report->findings)
      if (counts(finding)) log_finding(finding);
    return tell({{{round_.node_rank, text_of(*found)}}, true});
  }
  if (round_.checks == HealthChecks::kPairs && round_.node_count > 1) return check_pairs();
  tell({});
}

// Another check may begin from there.
void HealthCheck::tell(HealthVerdict verdict) {
  if (context_.timeline != nullptr) context_.timeline->checked(doors_.loop.now() - began_);
  const Done done = std::exchange(done_, nullptr);
  done(std::move(verdict));
}

void HealthCheck::judge_pairs(const Result<std::string>& printed) {
  const auto report = printed ? parse_peers_report(*printed) : Error(printed.error());
  if (!report) {
    pass_unknown(report.error().text);
    return tell({});
  }
  // All nodes know the same: the first one says it, and each of itself, should that word be lost.
  HealthVerdict verdict;
  verdict.has_fault = !report->faulty.empty();
  const bool judges = round_.node_rank == 0;
  if (judges)
    for (const nccl::Finding& finding : report->findings) log_finding(finding);
  for (const nccl::FaultyNode& faulty : report->faulty)
    if (judges || faulty.node == round_.node_rank)
      verdict.unfit.push_back({faulty.node, faulty.why});
  tell(std::move(verdict));
}

void HealthCheck::ask(std::vector<std::string> words, Environment environment, Duration limit,
                      void (HealthCheck::*judge)(const Result<std::string>&)) {
  const auto binary = own_binary(doors_.files);
  Status asked = binary ? Status() : Error(binary.error());
  if (binary) {
    asked =
        child_.ask({.binary = *binary,
                    .words = std::move(words),
                    .environment = std::move(environment),
                    .signal_mask = context_.setup.original_mask,
                    .limit = limit},
                   [this, judge](const Result<std::string>& printed) { (this->*judge)(printed); });
  }
  if (!asked) (this->*judge)(Result<std::string>(std::move(asked).error()));
}

void HealthCheck::pass_unknown(const std::string& why) {
  log::warning("health.unknown",
               {{"round", round_.round}, {"error", why}, {"action", "it counts as fit"}});
}

void HealthCheck::log_finding(const nccl::Finding& finding) const {
  log::warning("health.finding", {{"round", round_.round},
                                  {"id", finding.id},
                                  {"severity", nccl::to_string(finding.severity)},
                                  {"what", finding.what},
                                  {"remedy", finding.remedy}});
}

rendezvous::Failure unfit_record(const HealthVerdict::Unfit& unfit, const std::string& node) {
  rendezvous::Failure record;
  record.rank = elastic::kNoRank;
  record.node = node;
  record.reason = unfit.reason;
  record.unfit_node = unfit.node_rank;
  return record;
}

}  // namespace muster::launcher
