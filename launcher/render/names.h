// Names in a manifest, and those that a controller makes of a job's name.
#pragma once

#include "base/result.h"
#include "launcher/manifest/field.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

/// The grammar of `labels` and of the keys of `annotations` in `metadata`. kUsage: which, and what
/// it must be.
Status check_labels(const Field& metadata);

/// Names of the namespace and of the kinds of pods of a manifest, each there once; and operators'
/// launchers and masters are one pod. kUsage: the field's path and value.
Status check_names(const Field& document);

/// Names of hosts and Services are labels of the DNS (RFC 1035): 63 letters at most. kUsage: what
/// says the job's name, and how long it may be as a job of this kind.
Status check_name(const JobForm& form, JobKind kind);

}  // namespace muster::launcher
