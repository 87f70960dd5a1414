// Trainer: one worker. It makes gradient steps on its own mini-batches and exchanges the results
// with the other workers. It exchanges its steps, which all add up (all-reduce and related
// policies), or its parameters, with workers that are ready (partial reduce).
#pragma once

#include <optional>

#include "board.h"
#include "dataset.h"
#include "event_log.h"
#include "exchange.h"
#include "network.h"
#include "options.h"
#include "tempo.h"

namespace demo {

struct Result {
    uint64_t steps = 0;
    double seconds = 0;  // from the common start to the end of the last step
    // The distance of this worker's model from the mean of all, relative to the mean.
    double distance = 0;
    uint32_t checksum = 0;  // of the mean, which is equal on all workers
    double accuracy = 0;    // of the mean, on the test set
};

class Trainer {
  public:
    explicit Trainer(const Options& options);

    // Trains until the evaluator stops the run, or until steps_max. Throws std::runtime_error.
    Result run();

  private:
    void begin_together();
    void train_on_common_steps();
    void train_with_whoever_is_ready();
    void compute_step(std::span<float> ret_step);
    void apply(std::span<const float> step);
    float learning_rate() const;
    void after_exchange(const Outcome& outcome, uint64_t exchanges);
    bool should_leave() const;
    float average_models(float done);
    bool is_end_agreed();
    Result end_together();

    Options options_;
    Network network_;
    std::optional<Board> board_;
    EventLog events_;
    Dataset data_;
    Batches batches_;
    Images images_;
    Labels labels_;
    Tempo tempo_;
    Exchange exchange_;
    Buffer model_;
    Buffer done_;  // one number
    Time start_;
    Eigen::VectorXf velocity_;
    uint64_t steps_ = 0;
};

}  // namespace demo
