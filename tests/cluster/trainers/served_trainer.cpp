#include "tests/cluster/trainers/served_trainer.h"
#include "capi/testing/calls.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "tests/cluster/trainers/trainer_steps.h"

namespace pace::cluster {

namespace {

void say(const char* word) {
    std::puts(word);
    std::fflush(stdout);
}

}  // namespace

int ServedTrainer::run() {
    if (!open()) return 1;
    say("joined");
    if (!start()) return 1;
    while (step_ < options_.steps) {
        compute(options_.step_us);
        const pace_status status = step();
        const bool is_fault = status < 0 && status != PACE_E_DAEMON_GONE;
        if (is_fault || (status == PACE_STALE && !start())) return 1;
        if (status != PACE_OK) continue;
        std::printf("step %" PRIu64 " %" PRIu64 "\n", step_, now_us());
        std::fflush(stdout);
        ++step_;
    }
    say("done");
    pace_session_leave(session_, 1000, nullptr);
    pace_session_free(session_);
    return wrong_ ? 4 : 0;
}

bool ServedTrainer::open() {
    AskedSession job;
    job.endpoint = options_.endpoint;
    job.job = options_.job;
    job.rank = options_.rank;
    job.world = options_.world;
    job.connect_ms = options_.connect_ms;
    job.policy = PACE_POLICY_SSP;
    job.set(PACE_OPT_SERVER_ELEMENTS, options_.elements);
    job.set(PACE_OPT_SERVER_SHARDS, 7);
    if (options_.checkpoint_every_ms != 0)
        job.set(PACE_OPT_SERVER_CHECKPOINT_EVERY_MS, options_.checkpoint_every_ms);
    if (outcome(job.open(&session_, &error_)) != PACE_OK) return false;
    const pace_buffer_options where = buffer_options(options_);
    const auto create = [this, &where](pace_buffer& buffer, float*& ret_data) {
        return outcome(pace_buffer_create(session_, PACE_F32, options_.elements, &where, &buffer,
                                          reinterpret_cast<void**>(&ret_data), &error_)) == PACE_OK;
    };
    if (!create(model_, model_data_) || !create(update_, update_data_)) return false;
    std::fill_n(update_data_, options_.elements, 1.0F);
    return true;
}

// Every worker begins with rank 0's model. The job also has this model after it has lost its own. A
// newcomer begins with the current model.
bool ServedTrainer::start() {
    for (;;) {
        std::fill_n(model_data_, options_.elements, model_data_[0]);
        pace_request request{};
        pace_status status =
            pace_broadcast(session_, Slices(&model_, 1), 1, nullptr, &request, &error_);
        status = status == PACE_OK ? finish(request) : outcome(status);
        if (status < 0 && status != PACE_E_DAEMON_GONE) return false;
        if (status != PACE_OK) continue;
        check_even();
        step_ = info_.iteration;
        std::printf("model at %" PRIu64 "\n", info_.iteration);
        std::fflush(stdout);
        return true;
    }
}

pace_status ServedTrainer::step() {
    pace_request request{};
    pace_status status =
        pace_push(session_, Slices(&update_, 1), 1, push_at(step_), &request, &error_);
    if (status != PACE_OK) return outcome(status);
    if (status = finish(request); status != PACE_OK) return status;
    status = pace_pull(session_, Slices(&model_, 1), 1, pull_at(step_ + 1), &request, &error_);
    if (status != PACE_OK) return outcome(status);
    if (status = finish(request); status != PACE_OK) return status;
    check_even();
    return PACE_OK;
}

pace_status ServedTrainer::finish(pace_request request) {
    info_ = PACE_REQUEST_INFO_INIT;
    return outcome(pace_request_wait(session_, request, PACE_FOREVER, nullptr, &info_, &error_));
}

pace_status ServedTrainer::outcome(pace_status status) const {
    if (status != PACE_OK) {
        std::printf("outcome %s %s\n", pace_status_name(status), error_.message);
        std::fflush(stdout);
    }
    return status;
}

void ServedTrainer::check_even() {
    for (uint64_t i = 1; i < options_.elements; ++i) {
        if (model_data_[i] == model_data_[0]) continue;
        std::printf("wrong at step %" PRIu64 ": a torn model: differs at element %" PRIu64 "\n",
                    step_, i);
        std::fflush(stdout);
        wrong_ = true;
        return;
    }
}

}  // namespace pace::cluster
