#include "launcher/render/render.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/options/choice.h"
#include "launcher/render/dress.h"
#include "launcher/render/form_of_flags.h"

namespace muster::launcher {

namespace {

struct Writer {
  JobKind kind;
  Result<Documents> (*write)(JobForm form);
};
constexpr Writer kWriters[] = {{JobKind::kJob, write_job}};

JobKind kind_of(const RenderRequest& request, const JobForm& form) {
  if (request.to) return *request.to;
  if (form.runs) return JobKind::kJob;
  return form.framework == "mpi" ? JobKind::kMpiJob : JobKind::kJobSet;
}

}  // namespace

Result<Rendered> render(const RenderRequest& request, const Files&) {
  auto form = form_of_flags(request);
  if (!form) return std::move(form).error();
  dress_pods(*form);
  const auto* const writer = std::ranges::find(kWriters, kind_of(request, *form), &Writer::kind);
  if (writer == std::end(kWriters)) return wrong("--to: nobody writes this kind yet");
  std::vector<std::string> remarks = std::move(form->remarks);
  auto documents = writer->write(*std::move(form));
  if (!documents) return std::move(documents).error();
  return Rendered{*std::move(documents), std::move(remarks)};
}

}  // namespace muster::launcher
