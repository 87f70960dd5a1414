#include "tests/cluster/trainers/trainer_session.h"
#include "capi/testing/calls.h"

#include <cstdio>

#include "tests/cluster/trainers/trainer_steps.h"

namespace pace::cluster {

AskedSession TrainerSession::job_options() const {
    AskedSession job;
    job.endpoint = options_.endpoint;
    job.job = options_.job;
    job.rank = options_.rank;
    job.world = options_.world;
    job.connect_ms = options_.connect_ms;
    job.policy = PACE_POLICY_ALL_REDUCE;
    return job;
}

bool TrainerSession::create_buffer(int32_t type, uint64_t count, pace_buffer& buffer,
                                   void*& ret_memory) {
    const pace_buffer_options options = buffer_options(options_);
    return outcome(pace_buffer_create(session_, type, count, &options, &buffer, &ret_memory,
                                      &error_)) == PACE_OK;
}

bool TrainerSession::broadcast_model() {
    while (true) {
        pace_request request{};
        pace_status status =
            pace_broadcast(session_, Slices(&model_buffer_, 1), 1, nullptr, &request, &error_);
        if (status == PACE_OK) status = finish(request);
        if (status == PACE_OK) break;
        if (!is_to_start_anew(outcome(status)) && status != PACE_ABORTED) return false;
    }
    generation_ = generation();
    if (info_.iteration > 0) step_ = info_.iteration + 1;
    return true;
}

bool TrainerSession::is_daemon_new() {
    return generation() != generation_;
}

uint64_t TrainerSession::generation() {
    pace_session_info info = PACE_SESSION_INFO_INIT;
    pace_session_get_info(session_, &info, nullptr);
    return info.generation;
}

pace_status TrainerSession::finish(pace_request request) {
    info_ = PACE_REQUEST_INFO_INIT;
    members_.resize(options_.world);
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.members = members_.data();
    how.member_capacity = members_.size();
    return pace_request_wait(session_, request, PACE_FOREVER, &how, &info_, &error_);
}

pace_status TrainerSession::outcome(pace_status status) const {
    if (status != PACE_OK) std::printf("outcome %s %s\n", pace_status_name(status), error_.message);
    return status;
}

}  // namespace pace::cluster
