// The documents of a file beside each other: a List, and a TrainJob with its runtime.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::launcher {

/// All of them, with what a List holds in its place. They borrow `documents`.
[[nodiscard]] std::vector<const nlohmann::json*> flattened(
    std::span<const nlohmann::json> documents);

/// "Job 'train'", of at most 80 bytes.
[[nodiscard]] std::string description_of(const nlohmann::json& document);

/// `document` is a TrainJob, and `other` the runtime that it names.
[[nodiscard]] bool refers_to(const nlohmann::json& document, const nlohmann::json& other);

/// `runtime` as that job has it: under its name, with its sizes, and with its command, arguments,
/// variables and resources in the container that trains. kUsage: a wrong value in the job, by its
/// path. Source: Trainer 2.3, pkg/runtime/framework/plugins.
Result<nlohmann::json> runtime_of_train_job(const nlohmann::json& job,
                                            const nlohmann::json& runtime);

}  // namespace muster::launcher
