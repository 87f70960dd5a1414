// PartialTrainer: the trainer of jobs whose rounds do not wait for the slow. It checks every number that it gets, and what has
// become of its own gradients.
//
// The gradient of worker r is 1 in every element whose index is r modulo the world, else 0; its model adds up what it is given.
// So the model tells, worker by worker, how many gradients have been applied. At SIGUSR1 it leaves the job in order; at
// SIGTERM it goes on until everybody has got everything: all workers must be told to.
//
// It prints "joined", "model at K", "step K MICROSECONDS", what went wrong ("wrong …", "outcome NAME MESSAGE"), and at its end
//
//     end OWN : N N N …
//
// the gradients that it has handed in, as far as its model can know of them, and the model by worker.
#pragma once

#include <cstdint>

#include "pace.h"
#include "trainer_session.h"

namespace pace::cluster {

class PartialTrainer : TrainerSession {
  public:
    explicit PartialTrainer(TrainerOptions options) : TrainerSession(std::move(options)) {}
    int run();

  private:
    bool open();
    bool take_model();
    bool step(float gradient);
    bool finish_together();
    bool barrier();
    pace_status reduce(float gradient);
    void apply();
    void check(uint32_t rank, double value, const pace_member* member);
    bool is_uniform(uint32_t rank) const;
    void tell_end() const;
    void complain(const char* what, uint32_t rank, double value);

    pace_buffer buffer_{};
    float* gradients_ = nullptr;
    double* model_ = nullptr;
    double own_ = 0;  // gradients of this rank that the model has, or will have
    bool finishing_ = false;
};

}  // namespace pace::cluster
