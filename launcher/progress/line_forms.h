// The forms of lines in which frameworks say how far they are, one function each. Every line is one
// without control characters, and not longer than kMaxProgressLineBytes. Pure; used by
// progress_lines.h. Sources: the frameworks' own output; the tests have it by version.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "launcher/progress/progress_report.h"

namespace muster::launcher {

/// tqdm 4, and with it Lightning and the Trainer of Hugging Face:
///   Epoch 1:  33%|###3      | 1/3 [00:00<00:00,  6.66it/s, loss=0.5]
///   12it [00:00,  6.66it/s]
/// A bar whose unit is none of the training's (bytes, examples, files) is none. One that is called
/// "Epoch N" counts on from epoch to epoch; "Epoch N/M" knows the end, too.
[[nodiscard]] std::optional<ProgressReport> read_tqdm(std::string_view line);

/// A dictionary of Python, of the Trainer of Hugging Face: metrics and epoch, no step.
///   {'loss': 2.1034, 'grad_norm': 1.25, 'epoch': 0.12}      (5: {'loss': '2.103', …})
[[nodiscard]] std::optional<ProgressReport> read_trainer_dict(std::string_view line);

/// An object with "step", "global_step", "iteration" or "epoch"; its other numbers are metrics.
[[nodiscard]] std::optional<ProgressReport> read_json_line(std::string_view line);

/// Megatron:  iteration        5/     500 | consumed samples: 1280 | lm loss: 9.123456E+00 |
/// with or without a time in brackets before it.
[[nodiscard]] std::optional<ProgressReport> read_megatron(std::string_view line);

/// XGBoost: [12]\ttrain-rmse:0.15653\teval-auc:0.91234, with or without [HH:MM:SS] before it.
[[nodiscard]] std::optional<ProgressReport> read_xgboost(std::string_view line);

/// Keras's "Epoch 3/10"; the two numbers.
struct KerasEpoch {
  int64_t epoch = 0;
  int64_t epochs = 0;
};
[[nodiscard]] std::optional<KerasEpoch> read_keras_epoch(std::string_view line);
/// Keras 2 and 3, the steps of one epoch:
///   12/100 ━━━━─── 4s 100ms/step - accuracy: 0.9000 - loss: 0.5000
///   12/100 [==>....] - ETA: 3s - loss: 0.5
[[nodiscard]] std::optional<ProgressReport> read_keras_steps(std::string_view line);

}  // namespace muster::launcher
