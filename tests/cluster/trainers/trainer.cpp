// The trainer of the cluster tests: a worker that uses pace.h alone and checks every number that it
// gets.
//
// The trainer prints "joined", "step K MICROSECONDS" (on the monotonic clock) after each step,
// "outcome NAME MESSAGE" after an error, and "done". In partial mode it is partial_trainer.h's, in
// sparse mode sparse_trainer.h's, in served mode served_trainer.h's. In reduce mode the gradient of
// worker r at step k is (r + 1) * (k % 100 + 1) in every element. So the sum over any members is
// known exactly. In average mode the model is one number in every element. Averaging must keep it
// uniform and between the smallest and the largest number.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "capi/testing/asked_session.h"
#include "capi/testing/calls.h"
#include "pace.h"
#include "tests/cluster/trainers/partial_trainer.h"
#include "tests/cluster/trainers/served_trainer.h"
#include "tests/cluster/trainers/sparse_trainer.h"
#include "tests/cluster/trainers/trainer_options.h"
#include "tests/cluster/trainers/trainer_steps.h"

namespace {

using pace::cluster::TrainerOptions;

// Stands in elements that are not ready yet.
constexpr float kNoise = 1e9F;
// What a step adds while a copy is averaged.
constexpr float kLocal = 1;

class Trainer {
  public:
    explicit Trainer(TrainerOptions options) : options_(std::move(options)) {}

    int run() {
        if (!open() || !allocate()) return 1;
        say("joined");
        if (!start()) return 1;
        while (step_ < options_.steps) {
            if (options_.announce) pace_announce(session_, step_, nullptr);
            pace::cluster::compute(options_.step_us);
            const pace_status status = options_.mode == "reduce" ? reduce() : average();
            tell_steps();
            if (status == PACE_OK) {
                std::printf("step %" PRIu64 " %" PRIu64 "\n", step_, pace::cluster::now_us());
                std::fflush(stdout);
                ++step_;
                continue;
            }
            if (status < 0 && status != PACE_E_DAEMON_GONE) return 1;
            if (!options_.retry) return 3;
            if (status == PACE_STALE && !start()) return 1;
        }
        if (options_.mode == "average" && options_.hold && !synchronize()) return 1;
        say("done");
        if (options_.hold) hold();
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
        return wrong_ ? 4 : 0;
    }

  private:
    static void say(const char* word) {
        std::puts(word);
        std::fflush(stdout);
    }

    void tell_steps() {
        pace_progress progress = PACE_PROGRESS_INIT;
        progress.flags = PACE_PROGRESS_STEPS;
        progress.steps_done = step_;
        progress.steps_total = options_.steps;
        pace_session_report(session_, &progress, nullptr);
    }

    static void hold() {
        while (std::getchar() != EOF) {
        }
    }

    bool open() {
        pace::AskedSession job;
        job.endpoint = options_.endpoint;
        job.job = options_.job;
        job.rank = options_.rank;
        job.world = options_.world;
        job.connect_ms = options_.connect_ms;
        job.policy = options_.mode == "reduce" ? PACE_POLICY_ALL_REDUCE : options_.policy;
        if (options_.mode != "reduce") {
            if (options_.group_size != 0) job.set(PACE_OPT_GROUP_SIZE, options_.group_size);
            if (options_.weights == "dynamic") {
                job.set(PACE_OPT_AVERAGE_WEIGHTS, options_.weights);
                job.set(PACE_OPT_AVERAGE_MISSING, options_.missing);
            }
        }
        return ok(job.open(&session_, &error_));
    }

    bool allocate() {
        buffers_.resize(options_.tensors);
        data_.resize(options_.tensors);
        const pace_buffer_options where = buffer_options(options_);
        for (uint32_t i = 0; i < options_.tensors; ++i) {
            if (!ok(pace_buffer_create(session_, PACE_F32, options_.elements + i, &where,
                                       &buffers_[i], reinterpret_cast<void**>(&data_[i]), &error_)))
                return false;
        }
        return ok(pace_buffer_create(session_, PACE_F32, 16, &where, &model_,
                                     reinterpret_cast<void**>(&model_data_), &error_));
    }

    // Every worker starts from rank 0's model. A newcomer starts from a healthy worker's model.
    bool start() {
        const bool averaging = options_.mode != "reduce";
        fill(static_cast<float>(options_.rank));
        for (int i = 0; i < 16; ++i) model_data_[i] = static_cast<float>(options_.rank);
        pace_request request{};
        const pace_buffer* what = averaging ? buffers_.data() : &model_;
        const size_t count = averaging ? buffers_.size() : 1;
        if (!ok(pace_broadcast(session_, pace::Slices(what, count), count, nullptr, &request,
                               &error_)))
            return false;
        pace_request_info info = PACE_REQUEST_INFO_INIT;
        if (!ok(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info, &error_)))
            return false;
        std::printf("model at %" PRIu64 "\n", info.iteration);
        std::fflush(stdout);
        if (info.iteration > 0) step_ = info.iteration + 1;
        if (averaging) check_uniform(-0.001F, static_cast<float>(options_.world) + 0.001F);
        return true;
    }

    void fill(float value) {
        for (uint32_t i = 0; i < options_.tensors; ++i) {
            for (uint64_t j = 0; j < options_.elements + i; ++j) data_[i][j] = value;
        }
    }

    static float gradient(uint32_t rank, uint64_t step) {
        return static_cast<float>((rank + 1) * (step % 100 + 1));
    }

    pace_status reduce() {
        fill(gradient(options_.rank, step_));
        pace_reduce_options reduce_options = PACE_REDUCE_OPTIONS_INIT;
        reduce_options.op = PACE_OP_SUM;
        reduce_options.call.iteration = step_;
        pace_request request{};
        const pace_status began =
            pace_reduce(session_, pace::Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                        &reduce_options, &request, &error_);
        if (began != PACE_OK) return outcome(began);
        const pace_status status = finish(request);
        if (status != PACE_OK) return status;
        float expected = 0;
        for (uint32_t i = 0; i < info_.member_listed; ++i)
            expected += gradient(members_[i].rank, step_);
        check_uniform(expected, expected);
        return PACE_OK;
    }

    pace_status average() {
        pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
        how.call.iteration = step_;
        how.keep_local = options_.keep_local ? 1 : 0;
        if (!options_.order.empty())
            how.order = options_.order == "forward" ? PACE_ORDER_FORWARD : PACE_ORDER_BACKWARD;
        const float value = data_[0][0];
        // Elements that are not ready yet must not be read.
        if (how.order != PACE_ORDER_DEFAULT) fill(kNoise);
        pace_request request{};
        const pace_status began =
            pace_average(session_, pace::Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                         &how, &request, &error_);
        if (how.order != PACE_ORDER_DEFAULT) make_ready(request, how.order, value);
        if (began != PACE_OK) return outcome(began);
        if (options_.keep_local) fill(value + kLocal);
        const pace_status status = collect(request);
        if (options_.keep_local) fill(data_[0][0] - kLocal);
        if (status != PACE_OK) return status;
        return check_average();
    }

    // A step changes all elements by the same amount while a copy is averaged. So a torn change
    // would show.
    pace_status collect(pace_request request) {
        const pace_status status = finish(request);
        if (options_.keep_local && status == PACE_OK)
            check_uniform(kLocal - 1, options_.world + 1.0F);
        return status;
    }

    // Makes the buffers ready tensor by tensor, with a part of the step's time before each tensor.
    // The request may not have begun yet, or may have ended already.
    void make_ready(pace_request request, int32_t order, float value) {
        uint64_t ready = 0;
        for (uint32_t n = 0; n < options_.tensors; ++n) {
            const uint32_t i = order == PACE_ORDER_FORWARD ? n : options_.tensors - 1 - n;
            pace::cluster::compute(options_.step_us / options_.tensors);
            std::fill_n(data_[i], options_.elements + i, value);
            ready += options_.elements + i;
            pace_request_ready(session_, request, ready, nullptr);
        }
    }

    pace_status check_average() {
        double weights = info_.initial_weight;
        for (uint32_t i = 0; i < info_.member_listed; ++i) weights += members_[i].weight;
        if (std::fabs(weights - 1) > 1e-9) complain("weights sum to", weights);
        // Adding and taking away a number leaves a rounding.
        check_uniform(options_.keep_local ? -0.001F : 0.0F,
                      static_cast<float>(options_.world) + 0.001F);
        if (info_.iteration < step_)
            complain("iteration went back to", static_cast<double>(info_.iteration));
        step_ = info_.iteration;
        return PACE_OK;
    }

    bool synchronize() {
        pace_request request{};
        if (!ok(pace_sync(session_, pace::Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                          nullptr, &request, &error_)))
            return false;
        if (finish(request) != PACE_OK) return false;
        std::printf("model %.9g\n", static_cast<double>(data_[0][0]));
        return true;
    }

    pace_status finish(pace_request request) {
        info_ = PACE_REQUEST_INFO_INIT;
        members_.resize(options_.world);
        pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
        how.members = members_.data();
        how.member_capacity = members_.size();
        return outcome(pace_request_wait(session_, request, PACE_FOREVER, &how, &info_, &error_));
    }

    void check_uniform(float lowest, float highest) {
        const float first = data_[0][0];
        if (!(first >= lowest && first <= highest))
            complain("a value outside its bounds:", static_cast<double>(first));
        for (uint32_t i = 0; i < options_.tensors; ++i) {
            for (uint64_t j = 0; j < options_.elements + i; ++j) {
                if (data_[i][j] != first) {
                    complain("a torn buffer: differs at element", static_cast<double>(j));
                    return;
                }
            }
        }
    }

    void complain(const char* what, double value) {
        std::printf("wrong at step %" PRIu64 ": %s %.9g (%u members)\n", step_, what, value,
                    info_.member_count);
        std::fflush(stdout);
        wrong_ = true;
    }

    pace_status outcome(pace_status status) {
        if (status != PACE_OK) {
            std::printf("outcome %s %s\n", pace_status_name(status), error_.message);
            std::fflush(stdout);
        }
        return status;
    }
    bool ok(pace_status status) { return outcome(status) == PACE_OK; }

    TrainerOptions options_;
    pace_session* session_ = nullptr;
    pace_error error_{};
    std::vector<pace_buffer> buffers_;
    std::vector<float*> data_;
    pace_buffer model_{};
    float* model_data_ = nullptr;
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    std::vector<pace_member> members_;
    uint64_t step_ = 0;
    bool wrong_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    const TrainerOptions options = pace::cluster::parse_trainer_options(argc, argv);
    if (options.mode == "partial") return pace::cluster::PartialTrainer(options).run();
    if (options.mode == "served") return pace::cluster::ServedTrainer(options).run();
    if (options.mode == "sparse") return pace::cluster::SparseTrainer(options).run();
    return Trainer(options).run();
}
