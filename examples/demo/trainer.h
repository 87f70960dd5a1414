// Trainer: one worker. It steps down the gradient of its own mini-batches and exchanges what it
// learned with the other workers: gradients with everyone (all-reduce), or parameters with whoever
// is ready (partial reduce).
#pragma once

#include <chrono>
#include <optional>

#include "board.h"
#include "dataset.h"
#include "event_log.h"
#include "exchange.h"
#include "network.h"
#include "options.h"

namespace demo {

struct Result {
    uint64_t steps = 0;
    double distance = 0;    // of this worker's model from the mean of all, relative to the mean
    uint32_t checksum = 0;  // of the mean: equal on all workers
    double accuracy = 0;    // of the mean, on the test set
};

class Trainer {
  public:
    explicit Trainer(const Options& options);

    // Trains until the evaluator says stop, or steps_max. Throws std::runtime_error.
    Result run();

  private:
    using Time = std::chrono::steady_clock::time_point;

    void begin_together();
    void train_with_all();
    void train_with_whoever_is_ready();
    void compute_gradient(std::span<float> ret_gradient);
    void descend(std::span<const float> gradient);
    void sleep_out_step(Time begin) const;
    void after_exchange(const Outcome& outcome);
    bool should_leave() const;
    Result end_together();

    Options options_;
    Network network_;
    std::optional<Board> board_;
    EventLog events_;
    Dataset data_;
    Batches batches_;
    Images images_;
    Labels labels_;
    Exchange exchange_;
    Buffer model_;
    Eigen::VectorXf velocity_;
    uint64_t steps_ = 0;
};

}  // namespace demo
