// The job's secret: the file that MUSTER_JOB_SECRET_FILE names (a mounted Kubernetes Secret, say).
// It never leaves this file: what goes on is a key derived from it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/result.h"
#include "base/tls.h"

namespace muster::rendezvous {

inline constexpr std::string_view kJobSecretFileVariable = "MUSTER_JOB_SECRET_FILE";
/// 128 bits, if every bit of it is random; `openssl rand -hex 16` has them in 32 characters.
inline constexpr size_t kMinJobSecretBytes = 16;
/// A secret is a line or a few; a longer file is another one, named by mistake.
inline constexpr size_t kMaxJobSecretBytes = 4096;

/// The key of the job; none = the variable is not set. One newline at the end of the file does not
/// count: editors add it. kConfig, naming variable and file, never the content: the variable is
/// empty, the file is missing, unreadable, empty, too short or too long. kInternal: OpenSSL cannot.
Result<std::optional<TlsKey>> read_job_secret(const Environment& environment, const Files& files);

/// The variables of the secret in `environment`, to be taken from whoever could command the agents
/// with them.
[[nodiscard]] std::vector<PlannedVariable> secret_variables(const Environment& environment);

/// What protects connections with that key; null = the variable is not set. Errors as above.
Result<std::unique_ptr<TlsContext>> tls_from_secret(const Environment& environment,
                                                    const Files& files);

}  // namespace muster::rendezvous
