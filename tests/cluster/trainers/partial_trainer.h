// PartialTrainer: the trainer of jobs whose rounds do not wait for the slow. It checks every number
// that it gets, and the outcome of its own gradients.
//
// The gradient of worker r is 1 in every element whose index is r modulo the world, and 0
// elsewhere. The trainer's model adds up the results. So the model shows, worker by worker, how
// many gradients have been applied. At SIGUSR1 the trainer leaves the job in order. At SIGTERM it
// goes on until every worker has every result. All workers must get SIGTERM.
//
// The trainer prints "joined", "model at K", "step K MICROSECONDS", errors ("wrong …", "outcome
// NAME MESSAGE"), and at its end
//
//     end OWN : N N N …
//
// OWN is the number of gradients that the trainer has contributed, as far as its model can contain
// them. The numbers N are the model by worker.
#pragma once

#include <cstdint>

#include "pace.h"
#include "tests/cluster/trainers/trainer_session.h"

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
    // The number of gradients of this rank that the model has, or will have.
    double own_ = 0;
    bool finishing_ = false;
};

}  // namespace pace::cluster
