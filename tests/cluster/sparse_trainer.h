// SparseTrainer: the trainer of jobs with top-k compression. Its gradients are sparse_gradient.h's; its model adds up what it is
// given.
//
// It prints "joined", "model at K, next S" (the iteration that it took over, and its next step), what went wrong ("wrong …",
// "outcome NAME MESSAGE"), and for each step whose gradient counts
//
//     step K MICROSECONDS ROUND HASH MEMBERS
//
// of the sum that it got, with the members as a bit mask. If it is told to save at every step, and its daemon dies,
//
//     lost ROUND V V V …
//
// what it saved last, after that round. At SIGUSR1 it leaves the job in order. At SIGTERM it tells the others by one element
// of its next gradient, and all stop after the same round; then "end V V V …" is its model, and
//
//     owed V V V …
//
// what pace_residual_save gives, again at every further SIGTERM, until SIGUSR1.
#pragma once

#include <cstdint>
#include <vector>

#include "pace.h"
#include "trainer_session.h"

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

    // The gradient, and one element more by which a trainer says that it has been told to finish.
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
