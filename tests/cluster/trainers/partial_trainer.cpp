#include "tests/cluster/trainers/partial_trainer.h"
#include "capi/testing/calls.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/cluster/trainers/trainer_steps.h"

namespace pace::cluster {

namespace {

constexpr uint32_t kStalenessMax = 32;  // the default value

void set_quorum(const std::string& quorum, AskedSession& job) {
    if (quorum == "solo") {
        job.set(PACE_OPT_QUORUM, "solo");
    } else if (quorum == "majority") {
        job.set(PACE_OPT_QUORUM, "majority");
    } else if (quorum == "strict") {
        job.set(PACE_OPT_QUORUM, "majority-strict");
    } else {
        job.set(PACE_OPT_QUORUM, "count");
        job.set(PACE_OPT_QUORUM_COUNT,
                static_cast<uint32_t>(std::strtoul(quorum.c_str(), nullptr, 10)));
    }
}

}  // namespace

int PartialTrainer::run() {
    listen_to_signals();
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (!open() || !take_model()) return 1;
    while (!told_to_finish() && !told_to_leave()) {
        compute(options_.step_us);
        if (!step(1)) return 1;
        std::printf("step %" PRIu64 " %" PRIu64 "\n", step_++, now_us());
    }
    if (told_to_finish() && !finish_together()) return 1;
    tell_end();
    pace_session_leave(session_, 1000, nullptr);
    pace_session_free(session_);
    return wrong_ ? 4 : 0;
}

bool PartialTrainer::open() {
    AskedSession job = job_options();
    set_quorum(options_.quorum, job);
    if (options_.late == "drop") job.set(PACE_OPT_QUORUM_LATE, "drop");
    if (outcome(job.open(&session_, &error_)) != PACE_OK) return false;
    void* gradients = nullptr;
    void* model = nullptr;
    if (!create_buffer(PACE_F32, options_.elements, buffer_, gradients) ||
        !create_buffer(PACE_F64, options_.world, model_buffer_, model))
        return false;
    gradients_ = static_cast<float*>(gradients);
    model_ = static_cast<double*>(model);
    std::fill_n(model_, options_.world, 0);
    std::puts("joined");
    return true;
}

bool PartialTrainer::take_model() {
    if (!broadcast_model()) return false;
    own_ = model_[options_.rank];
    std::printf("model at %" PRIu64 "\n", info_.iteration);
    return true;
}

bool PartialTrainer::step(float gradient) {
    while (true) {
        const pace_status status = reduce(gradient);
        if (status == PACE_OK && is_daemon_new()) {
            // Only another worker's model has the rounds that this worker has missed meanwhile.
            pace_session_leave(session_, 1000, nullptr);
            pace_session_free(session_);
            return open() && take_model();
        }
        if (status == PACE_OK) {
            // A job with backup workers drops a late gradient.
            if (options_.late != "drop" || info_.late == 0) own_ += gradient;
            apply();
            return true;
        }
        outcome(status);
        if (is_to_start_anew(status)) return !finishing_ && take_model();
        if (status != PACE_ABORTED) return false;
    }
}

// The first round after a barrier has all contributions from before the barrier. A worker that
// missed this round gets it with its call after the next barrier.
bool PartialTrainer::finish_together() {
    finishing_ = true;
    return barrier() && step(0) && barrier() && step(0) && barrier();
}

bool PartialTrainer::barrier() {
    pace_status status = PACE_ABORTED;
    while (status == PACE_ABORTED) {
        pace_request request{};
        status = pace_barrier(session_, nullptr, &request, &error_);
        if (status == PACE_OK) status = finish(request);
    }
    return outcome(status) == PACE_OK;
}

pace_status PartialTrainer::reduce(float gradient) {
    for (uint64_t j = 0; j < options_.elements; ++j)
        gradients_[j] = j % options_.world == options_.rank ? gradient : 0;
    pace_reduce_options reduce_options = PACE_REDUCE_OPTIONS_INIT;
    reduce_options.op = PACE_OP_SUM;
    reduce_options.call.iteration = step_;
    pace_request request{};
    const pace_status began =
        pace_reduce(session_, Slices(&buffer_, 1), 1, &reduce_options, &request, &error_);
    return began != PACE_OK ? began : finish(request);
}

void PartialTrainer::apply() {
    for (uint32_t rank = 0; rank < options_.world; ++rank) {
        const double value = gradients_[rank];
        if (!is_uniform(rank)) complain("a torn buffer", rank, value);
        const auto member =
            std::find_if(members_.begin(), members_.begin() + info_.member_listed,
                         [rank](const pace_member& other) { return other.rank == rank; });
        const bool is_member = member != members_.begin() + info_.member_listed;
        check(rank, value, is_member ? &*member : nullptr);
        model_[rank] += value;
    }
    if (info_.rounds == 0) complain("no rounds", 0, 0);
    if (info_.divisor != 1) complain("a sum is divided by", 0, info_.divisor);
}

// `member` describes the last of the rounds.
void PartialTrainer::check(uint32_t rank, double value, const pace_member* member) {
    if (value != std::floor(value) || value < 0) complain("not a number of gradients", rank, value);
    const bool contributes = member != nullptr && member->weight != 0;
    // A finishing worker contributes 0, and may have waited in a barrier.
    if (finishing_) return;
    if (contributes && value < 1) complain("contributed nothing", rank, value);
    if (contributes && member->staleness > kStalenessMax)
        complain("too stale", rank, static_cast<double>(member->staleness));
    if (info_.rounds != 1) return;
    if (!contributes && value != 0) complain("did not contribute, but", rank, value);
    if (contributes && value > static_cast<double>(member->staleness + 1))
        complain("contributed more than it can have", rank, value);
    if (rank == options_.rank && !contributes && info_.late == 0)
        complain("was in time, but did not contribute", rank, value);
}

bool PartialTrainer::is_uniform(uint32_t rank) const {
    for (uint64_t j = rank; j < options_.elements; j += options_.world)
        if (gradients_[j] != gradients_[rank]) return false;
    return true;
}

void PartialTrainer::tell_end() const {
    std::printf("end %.0f :", own_);
    for (uint32_t rank = 0; rank < options_.world; ++rank) std::printf(" %.0f", model_[rank]);
    std::printf("\n");
}

void PartialTrainer::complain(const char* what, uint32_t rank, double value) {
    std::printf("wrong at step %" PRIu64 ": worker %u: %s %.9g (%" PRIu64 " rounds, late %u)\n",
                step_, rank, what, value, info_.rounds, info_.late);
    wrong_ = true;
}

}  // namespace pace::cluster
