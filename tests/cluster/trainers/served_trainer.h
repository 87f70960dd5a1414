// ServedTrainer: a worker of a parameter server, for the fault tests. Its updates are one in every
// element. So a model would show if some shards have an update and others do not. The trainer
// prints what trainer.cpp's prints.
#pragma once

#include "pace.h"
#include "tests/cluster/trainers/trainer_options.h"

namespace pace::cluster {

class ServedTrainer {
  public:
    explicit ServedTrainer(TrainerOptions options) : options_(std::move(options)) {}

    int run();

  private:
    bool open();
    bool start();
    pace_status step();
    pace_status finish(pace_request request);
    pace_status outcome(pace_status status) const;
    void check_even();

    TrainerOptions options_;
    pace_session* session_ = nullptr;
    pace_error error_{};
    pace_buffer model_{};
    pace_buffer update_{};
    float* model_data_ = nullptr;
    float* update_data_ = nullptr;
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    uint64_t step_ = 0;
    bool wrong_ = false;
};

}  // namespace pace::cluster
