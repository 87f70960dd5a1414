#include "tests/cluster/trainers/sparse_trainer.h"
#include "capi/testing/calls.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/cluster/trainers/sparse_gradient.h"
#include "tests/cluster/trainers/trainer_steps.h"

namespace pace::cluster {

namespace {

// The value is far above any sum of gradients, so that every selection has it. Eight times the
// value is still a whole number of f32.
constexpr float kFinish = 1 << 20;

const char* compression_of(const std::string& name) {
    if (name == "topka") return "topka";
    if (name == "topkdsa") return "topkdsa";
    if (name == "gtopk") return "gtopk";
    if (name == "oktopk") return "oktopk";
    return "spardl";
}

uint64_t hash_of(const float* values, uint64_t count) {
    uint64_t state = 14695981039346656037U;
    for (uint64_t i = 0; i < count; ++i)
        state = (state ^ static_cast<uint64_t>(static_cast<int64_t>(values[i]))) * 1099511628211U;
    return state;
}

}  // namespace

int SparseTrainer::run() {
    listen_to_signals();
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (!open() || !take_model()) return 1;
    while (!all_finish_ && !told_to_leave()) {
        compute(options_.step_us);
        if (!step()) return 1;
    }
    if (all_finish_ && !report()) return 1;
    pace_session_leave(session_, 1000, nullptr);
    pace_session_free(session_);
    return wrong_ ? 4 : 0;
}

bool SparseTrainer::open() {
    AskedSession job = job_options();
    job.set(PACE_OPT_COMPRESSION, compression_of(options_.compression));
    job.set(PACE_OPT_TOPK_DENSITY, options_.density);
    job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
    job.set(PACE_OPT_TOPK_HIERARCHY, options_.hierarchy == "flat" ? "flat" : "node");
    if (job.has(PACE_OPT_COMPRESSION, "spardl") && options_.teams != 0)
        job.set(PACE_OPT_TOPK_TEAMS, options_.teams);
    // The leave of the predecessor may still be on its way from another node.
    pace_status opened = PACE_E_TAKEN;
    while (opened == PACE_E_TAKEN) opened = job.open(&session_, &error_);
    if (outcome(opened) != PACE_OK) return false;
    buffers_.assign(2, pace_buffer{});
    debt_buffers_.assign(2, pace_buffer{});
    void* gradients = nullptr;
    void* finish = nullptr;
    void* debts = nullptr;
    void* debt_of_finish = nullptr;
    void* model = nullptr;
    if (!create_buffer(PACE_F32, options_.elements, buffers_[0], gradients) ||
        !create_buffer(PACE_F32, 1, buffers_[1], finish) ||
        !create_buffer(PACE_F32, options_.elements, debt_buffers_[0], debts) ||
        !create_buffer(PACE_F32, 1, debt_buffers_[1], debt_of_finish) ||
        !create_buffer(PACE_F64, options_.elements, model_buffer_, model))
        return false;
    gradients_ = static_cast<float*>(gradients);
    finish_ = static_cast<float*>(finish);
    debts_ = static_cast<float*>(debts);
    model_ = static_cast<double*>(model);
    std::fill_n(model_, options_.elements, 0);
    std::puts("joined");
    return true;
}

bool SparseTrainer::take_model() {
    if (!broadcast_model()) return false;
    std::printf("model at %" PRIu64 ", next %" PRIu64 "\n", info_.iteration, step_);
    return true;
}

bool SparseTrainer::step() {
    while (true) {
        const pace_status status = reduce();
        if (status == PACE_OK) {
            if (is_daemon_new()) {
                // This worker has missed the rounds that came since.
                tell_lost();
                pace_session_leave(session_, 1000, nullptr);
                pace_session_free(session_);
                return open() && take_model();
            }
            apply();
            count_step();
            if (!options_.save) return true;
            const pace_status saving = outcome(save());
            return saving == PACE_OK || is_to_start_anew(saving);
        }
        outcome(status);
        if (status == PACE_E_DAEMON_GONE) tell_lost();
        if (is_to_start_anew(status)) return take_model();
        if (status != PACE_ABORTED) return false;
    }
}

bool SparseTrainer::report() {
    hold_signals();
    int number = told_to_finish() ? SIGTERM : next_signal();
    tell("end", std::vector<double>(model_, model_ + options_.elements));
    for (; number == SIGTERM; number = next_signal()) {
        if (outcome(save()) != PACE_OK) return false;
        tell("owed", saved());
    }
    return true;
}

pace_status SparseTrainer::reduce() {
    for (uint64_t j = 0; j < options_.elements; ++j)
        gradients_[j] = gradient_of(options_.rank, options_.world, step_, j);
    *finish_ = told_to_finish() ? kFinish : 0;
    pace_reduce_options reduce_options = PACE_REDUCE_OPTIONS_INIT;
    reduce_options.op = PACE_OP_SUM;
    reduce_options.call.iteration = step_;
    pace_request request{};
    const pace_status began = pace_reduce(session_, Slices(buffers_.data(), buffers_.size()),
                                          buffers_.size(), &reduce_options, &request, &error_);
    return began != PACE_OK ? began : finish(request);
}

pace_status SparseTrainer::save() {
    const uint64_t round = info_.round;
    pace_request request{};
    pace_status status =
        pace_residual_save(session_, Slices(debt_buffers_.data(), debt_buffers_.size()),
                           debt_buffers_.size(), nullptr, &request, &error_);
    if (status == PACE_OK)
        status = pace_request_wait(session_, request, PACE_FOREVER, nullptr, nullptr, &error_);
    if (status != PACE_OK || is_daemon_new()) return status;
    last_saved_ = saved();
    saved_round_ = round;
    return PACE_OK;
}

void SparseTrainer::apply() {
    uint64_t chosen = *finish_ != 0 ? 1 : 0;
    for (uint64_t j = 0; j < options_.elements; ++j) {
        const float value = gradients_[j];
        if (value != std::floor(value)) complain("not a sum of gradients", j, value);
        if (value != 0) ++chosen;
        model_[j] += value;
    }
    // Elements that the worker's node has fetched from another node are not counted.
    const auto entries = static_cast<double>(info_.entries);
    if (info_.entries != 0 && chosen > info_.entries) complain("more than was chosen", 0, entries);
    all_finish_ = *finish_ != 0;
}

void SparseTrainer::count_step() {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < info_.member_listed; ++i) mask |= uint64_t{1} << members_[i].rank;
    std::printf("step %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", step_,
                now_us(), info_.round, hash_of(gradients_, options_.elements), mask);
    ++step_;
}

void SparseTrainer::tell_lost() {
    if (last_saved_.empty()) return;
    std::printf("lost %" PRIu64, saved_round_);
    tell("", last_saved_);
    last_saved_.clear();
}

void SparseTrainer::tell(const char* what, const std::vector<double>& values) const {
    std::printf("%s", what);
    for (const double value : values) std::printf(" %.0f", value);
    std::printf("\n");
}

std::vector<double> SparseTrainer::saved() const {
    return {debts_, debts_ + options_.elements};
}

void SparseTrainer::complain(const char* what, uint64_t element, double value) {
    std::printf("wrong at step %" PRIu64 ": element %" PRIu64 ": %s %.9g\n", step_, element, what,
                value);
    wrong_ = true;
}

}  // namespace pace::cluster
