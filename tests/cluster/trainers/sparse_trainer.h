// SparseTrainer: the trainer of jobs with top-k compression. Its gradients are sparse_gradient.h's.
// Its model adds up the results.
//
// The trainer prints "joined", "model at K, next S" (the iteration that it took over, and its next
// step) and errors ("wrong …", "outcome NAME MESSAGE"). For each step whose gradient counts, it
// prints
//
//     step K MICROSECONDS ROUND HASH MEMBERS
//
// HASH is of the sum that it got. MEMBERS is a bit mask of the members. If the trainer is told to
// save at every step, and its daemon dies, it prints
//
//     lost ROUND V V V …
//
// The numbers V are what it saved last, after that round. At SIGUSR1 the trainer leaves the job in
// order. At SIGTERM it tells the others by one element of its next gradient, and all stop after the
// same round. Then it prints its model as "end V V V …", and
//
//     owed V V V …
//
// The numbers V are what pace_residual_save gives. The line is printed again at every further
// SIGTERM, until SIGUSR1.
#pragma once

#include <cstdint>
#include <vector>

#include "pace.h"
#include "tests/cluster/trainers/trainer_session.h"

namespace pace::cluster {

class SparseTrainer : TrainerSession {
  public:
    explicit SparseTrainer(TrainerOptions options) : TrainerSession(std::move(options)) {}
    int run();

  private:
    bool open();
    bool take_model();
    bool step();
    bool report();
    pace_status reduce();
    pace_status save();
    void apply();
    void count_step();
    void tell_lost();
    void tell(const char* what, const std::vector<double>& values) const;
    std::vector<double> saved() const;
    void complain(const char* what, uint64_t element, double value);

    // The gradient, and one more element. By this element a trainer tells that it has been told to
    // finish.
    std::vector<pace_buffer> buffers_;
    float* gradients_ = nullptr;
    float* finish_ = nullptr;
    std::vector<pace_buffer> debt_buffers_;
    float* debts_ = nullptr;
    double* model_ = nullptr;
    std::vector<double> last_saved_;
    uint64_t saved_round_ = 0;
    bool all_finish_ = false;
};

}  // namespace pace::cluster
