#include "launcher/render/render.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/dress.h"
#include "launcher/render/form_of_flags.h"
#include "launcher/render/form_of_manifest.h"

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

// A manifest says by itself what the other flags would say.
constexpr std::string_view kBesideFile[] = {"file", "to", "output", "name", "project"};

Result<JobForm> form_of(const RenderRequest& request, const Files& files) {
  if (request.file.empty()) return form_of_flags(request);
  for (const std::string& name : request.given) {
    if (std::ranges::find(kBesideFile, name) == std::end(kBesideFile))
      return wrong("--" + name + ": --file says it, beside which only --to, --output, --name and "
                   "--project may be given");
  }
  if (!request.words.empty())
    return wrong("'" + one_line(request.words.front()) + "': --file has the program");
  const auto text = files.read(request.file);
  if (!text) return Error(text.error());
  auto form = form_of_manifest(*text, request.name);
  if (!form) return std::move(form).error().with_context(request.file);
  add_addresses(*form, kind_of(request, *form));
  return form;
}

}  // namespace

Result<Rendered> render(const RenderRequest& request, const Files& files) {
  auto form = form_of(request, files);
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
