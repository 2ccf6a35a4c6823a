#include "launcher/progress/progress_lines.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace muster::launcher {
namespace {

ProgressReport read(std::string_view line) {
  ProgressLines lines;
  const auto report = lines.read(line);
  EXPECT_TRUE(report) << line;
  return report.value_or(ProgressReport{});
}

void expect_step(std::string_view line, int64_t step, std::optional<int64_t> total = {}) {
  const auto report = read(line);
  EXPECT_EQ(report.step, step) << line;
  EXPECT_EQ(report.total, total) << line;
}

TEST(ProgressLines, Tqdm) {
  expect_step("  0%|          | 0/3 [00:00<?, ?it/s]", 0, 3);
  expect_step("slow:  50%|\u2588\u2588\u2588\u2588\u2588     | 1/2 [00:01<00:01,  1.30s/it]", 1, 2);
  expect_step("100%|##########| 1200/1200 [1:00:00<00:00,  6.66it/s]\n", 1200, 1200);
  expect_step("2it [00:00,  6.66it/s]", 2);
  expect_step("train: 12it [00:05,  6.66step/s, loss=0.5]", 12);
  expect_step(" 75%|#######5  | 1.50k/2.00k [00:00<00:00, 8.32it/s]   ", 1500, 2000);
  EXPECT_EQ(
      read("50%|#####     | 5/10 [00:01<00:01, 1.00it/s, loss=0.123, lr=1e-4, v_num=x]").metrics,
      (std::map<std::string, double>{{"loss", 0.123}, {"lr", 1e-4}}));
}

// A bar that begins anew with each epoch would tell a step that falls.
TEST(ProgressLines, TqdmOfEpochsCountsOn) {
  expect_step(
      "Epoch 0:  12%|#2        | 12/100 [00:01<00:10,  8.50it/s, v_num=0, train_loss=0.693]", 12);
  expect_step("Epoch 3:  12%|#2        | 12/100 [00:01<00:10,  8.50it/s]", 312);
  expect_step("Epoch 3/10:  12%|#2        | 12/100 [00:01<00:10,  8.50batch/s]", 212, 1000);
  expect_step("Epoch [3/10]:  12%|#2        | 12/100 [00:01<00:10,  8.50it/s]", 212, 1000);
  EXPECT_EQ(read("Epoch 3:  12%|#2        | 12/100 [00:01<00:10,  8.50it/s]").epoch, 3);
}

TEST(ProgressLines, TrainerOfHuggingFace) {
  for (const char* line :
       {"{'loss': 2.1034, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.12}",
        "{'loss': '2.1034', 'grad_norm': '1.25', 'learning_rate': '4.9e-05', 'epoch': '0.12'}"}) {
    const auto report = read(line);
    EXPECT_FALSE(report.step);
    EXPECT_EQ(report.epoch, 0.12);
    EXPECT_EQ(report.metrics,
              (std::map<std::string, double>{
                  {"loss", 2.1034}, {"grad_norm", 1.25}, {"learning_rate", 4.9e-05}}));
  }
  EXPECT_EQ(read("{'loss': nan, 'epoch': 2}").epoch, 2);
  EXPECT_EQ(read("{'train_runtime': 12.5, 'train_loss': 0.5, 'epoch': 3.0}").metrics.size(), 2U);
}

TEST(ProgressLines, JsonLines) {
  const auto report =
      read(R"({"step": 12, "max_steps": 40, "epoch": 1.5, "loss": 0.5, "ts": 17e8, "tag": "x"})");
  EXPECT_EQ(report.step, 12);
  EXPECT_EQ(report.total, 40);
  EXPECT_EQ(report.epoch, 1.5);
  EXPECT_EQ(report.metrics, (std::map<std::string, double>{{"loss", 0.5}}));
  expect_step(R"({"global_step":7,"ok":true,"note":null})", 7);
}

TEST(ProgressLines, Megatron) {
  const char* const text =
      "iteration        5/     500 | consumed samples:         1280 | elapsed time per iteration "
      "(ms): "
      "1234.5 | learning rate: 1.000000E-05 | lm loss: 9.123456E+00 | number of nan iterations:   "
      "0 |";
  expect_step(text, 5, 500);
  expect_step(std::string(" [2026-08-22 15:22:22.123456] ") + text, 5, 500);
  EXPECT_EQ(read(text).metrics.at("lm loss"), 9.123456);
  EXPECT_EQ(read(text).metrics.at("elapsed time per iteration (ms)"), 1234.5);
}

TEST(ProgressLines, Xgboost) {
  expect_step("[12]\ttrain-rmse:0.15653\teval-auc:0.91234", 12);
  expect_step("[12:34:56] [7]\ttrain-rmse:0.15653", 7);
  EXPECT_EQ(read("[12]\ttrain-rmse:0.15653+0.01\teval-auc:0.91234").metrics,
            (std::map<std::string, double>{{"train-rmse", 0.15653}, {"eval-auc", 0.91234}}));
}

TEST(ProgressLines, KerasCountsOnFromEpochToEpoch) {
  ProgressLines lines;
  EXPECT_FALSE(lines.read("Epoch 3/10\n"));
  auto report = lines.read(
      "\x1b[1m 12/100\x1b[0m \x1b[32m\u2501\u2501\x1b[0m\x1b[37m\u2501\x1b[0m \x1b[1m4s\x1b[0m "
      "100ms/step - accuracy: 0.9000 - loss: 0.5000\b\b\b\b");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 212);
  EXPECT_EQ(report->total, 1000);
  EXPECT_EQ(report->epoch, 3);
  EXPECT_EQ(report->metrics, (std::map<std::string, double>{{"accuracy", 0.9}, {"loss", 0.5}}));
  EXPECT_EQ(lines.read("100/100 - 4s - 40ms/step - loss: 3.0e-04")->step, 300);
  EXPECT_EQ(lines.read(" 12/100 [==>....] - ETA: 3s - loss: 0.5")->step, 212);
  EXPECT_EQ(lines.read("     12/Unknown 1s 5ms/step - loss: 0.5")->step, 12);
}

// Lines of public logs, and what looks like a bar.
TEST(ProgressLines, OtherLinesSayNothing) {
  for (const char* line : {
           "",
           "\n",
           "\x1b[",
           "\b\b\b",
           "INFO 2026-08-22 15:22:22 step is done 5/10",
           "Downloading: 45%|####5     | 450M/1.00G [00:10<00:12, 45.0MB/s]",
           "model.safetensors:  45%|####5     | 450M/1.00G [00:10<00:12, 45.0MB/s]",
           "Map:  50%|#####     | 500/1000 [00:01<00:01, 5000.00 examples/s]",
           "Loading checkpoint shards:  50%|#####     | 1/2 [00:05<00:05,  5.00s/it]",
           "Validation DataLoader 0:  50%|#####     | 1/2 [00:00<00:00,  5.00it/s]",
           "Validation: |          | 0/? [00:00<?, ?it/s]",
           "Evaluating:  50%|#####     | 1/2 [00:00<00:00,  5.00it/s]",
           "disk usage 95%|/dev/sda1|",
           "100%|done",
           "50%|#####     | x/10 [00:01<00:01, 1.00it/s]",
           "50%|#####     | 5/10 [00:01<00:01, 1.00it/s] and more",
           "5000%|#####     | 5/10 [00:01<00:01, 1.00it/s]",
           "I use it [sic]",
           "{'input_ids': [1, 2, 3], 'epoch': 1}",
           "{'lr': 0.1}",
           "{'loss': 0.5",
           "{'loss': 0.5} trailing",
           "{\"level\":\"info\",\"msg\":\"step 5\"}",
           "{\"step\":\"5\"}",
           "{\"step\":5",
           "{\"step\":5,\"nested\":{\"epoch\":1}}",
           "{}",
           "{",
           "[12] train-rmse:0.15653",
           "[INFO]\tstep:5",
           "[rank0]: Traceback (most recent call last):",
           "[5]\tKilled ./train",
           "[2026-08-22 15:22:22] iteration took 5 ms",
           "iteration 5 of 500",
           "12/100 tests passed",
           "1/2 [00:01]",
           "2026/08/22 15:22:22 I0822 loss: 0.5",
           "10/12/2026 - loss: 0.3 - done 5ms",
           "Epoch 3/10 finished",
           "Epoch 11/10",
           "Epoch 1",
           "99999999999999999999/1 1s 5ms/step",
           "NCCL INFO Channel 00/02 : 0 1",
           "GET /metrics 200 12ms",
       }) {
    ProgressLines lines;
    EXPECT_FALSE(lines.read(line)) << line;
  }
}

TEST(ProgressLines, OfALongLineTheBeginningIsLookedAt) {
  ProgressLines lines;
  EXPECT_FALSE(
      lines.read(std::string(1 << 20, 'x') + "50%|#####     | 5/10 [00:01<00:01, 1.00it/s]"));
  EXPECT_FALSE(lines.read("50%|" + std::string(1 << 20, '#') + "| 5/10 [00:01<00:01, 1.00it/s]"));
  EXPECT_FALSE(lines.read("{" + std::string(1 << 20, '{')));
}

TEST(ProgressLines, ManyLinesAreReadOneByOne) {
  ProgressLines lines;
  std::vector<int64_t> steps;
  const auto keep = [&steps](const ProgressReport& report) { steps.push_back(*report.step); };
  constexpr std::string_view kLines =
      "a\r 50%|#####     | 5/10 [00:01<00:01, 1.00it/s]\r\r\n"
      " 60%|######    | 6/10 [00:01<00:01, 1.00it/s]\nb\n";
  EXPECT_EQ(lines.read_all(kLines, 100, keep), 6U);
  EXPECT_EQ(steps, (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(lines.read_all("a\nb\n2it [00:00,  6.66it/s]\n", 2, keep), 2U);
  EXPECT_EQ(steps.size(), 2U);
}

}  // namespace
}  // namespace muster::launcher
