// What LightGBM's own program (`lightgbm config=train.conf key=value ...`) gets on its command line
// to train with the other workers.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace muster::launcher {

/// Words to append to `given`, the arguments of the worker that listens on `port`. None, if `given`
/// or its config file names a network of its own, or if there is one machine. tree_learner is left
/// out where it names another one than serial, which would train a model of each worker's own.
[[nodiscard]] std::vector<std::string> lightgbm_words(const std::vector<std::string>& given,
                                                      const Files& files,
                                                      const std::vector<std::string>& machines,
                                                      int port);

}  // namespace muster::launcher
