#include "launcher/sidecar/report_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kWebhookWord = "webhook=";

// FNV-1a: the same in every build, as the name of a file must be.
uint32_t digest(std::string_view text) {
  uint32_t sum = 2166136261U;
  for (const char character : text) sum = (sum ^ static_cast<unsigned char>(character)) * 16777619U;
  return sum;
}

std::string_view word_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::kWebhook:
      return "webhook";
    case TargetKind::kTrainJob:
      return "trainjob";
    case TargetKind::kAnnotation:
      return "annotation";
    case TargetKind::kStdout:
      return "stdout";
  }
  return "";
}

Result<ReportTarget> parse_report(std::string_view word) {
  ReportTarget target;
  target.text = std::string(word);
  if (word.starts_with(kWebhookWord)) {
    target.kind = TargetKind::kWebhook;
    auto url = parse_url(word.substr(kWebhookWord.size()));
    if (!url) return std::move(url).error().with_context("webhook");
    target.url = *std::move(url);
    return target;
  }
  for (const TargetKind kind :
       {TargetKind::kTrainJob, TargetKind::kAnnotation, TargetKind::kStdout}) {
    if (word != word_of(kind)) continue;
    target.kind = kind;
    return target;
  }
  return Error{Code::kUsage, 0,
               "'" + one_line(word) + "' is none of webhook=URL, trainjob, annotation, stdout"};
}

}  // namespace

Result<std::vector<ReportTarget>> parse_reports(std::string_view text) {
  std::vector<ReportTarget> targets;
  for (const std::string_view word : words_of(text)) {
    auto target = parse_report(word);
    if (!target) return std::move(target).error();
    if (std::ranges::find(targets, target->text, &ReportTarget::text) == targets.end())
      targets.push_back(*std::move(target));
  }
  if (targets.empty())
    return Error{Code::kUsage, 0, "nothing of webhook=URL, trainjob, annotation, stdout"};
  if (targets.size() > kMaxReportTargets) {
    return Error{Code::kUsage, 0,
                 fmt::format("{} targets, the most is {}", targets.size(), kMaxReportTargets)};
  }
  return targets;
}

std::string name_of(const ReportTarget& target) {
  std::string name(word_of(target.kind));
  if (target.kind == TargetKind::kWebhook) name += fmt::format("-{:08x}", digest(target.text));
  return name;
}

std::string shown(const ReportTarget& target) {
  std::string text(word_of(target.kind));
  if (target.kind == TargetKind::kWebhook) text += " " + target.url.shown();
  return text;
}

}  // namespace muster::launcher
