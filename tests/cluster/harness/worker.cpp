#include "tests/cluster/harness/worker.h"
#include "capi/testing/calls.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace pace::cluster {

Worker::Worker(const WorkerOptions& options)
    : world_(options.world), wait_flags_(options.wait_flags) {
    AskedSession job;
    job.endpoint = options.endpoint;
    job.job = options.job;
    job.rank = options.rank;
    job.world = options.world;
    job.policy = options.policy;
    if (options.group_size != 0) job.set(PACE_OPT_GROUP_SIZE, options.group_size);
    if (options.group_min != 0) job.set(PACE_OPT_GROUP_MIN, options.group_min);
    if (!options.weights.empty()) job.set(PACE_OPT_AVERAGE_WEIGHTS, options.weights);
    job.connect_ms = options.connect_ms;
    if (options.tune) options.tune(job);
    opened_ = job.open(&session_, &error_);
}

Worker::~Worker() {
    pace_session_leave(session_, 1000, nullptr);
    pace_session_free(session_);
}

void Worker::drop() {
    pace_session_free(std::exchange(session_, nullptr));
}

Worker::Worker(Worker&& other) noexcept
    : world_(other.world_),
      wait_flags_(other.wait_flags_),
      session_(std::exchange(other.session_, nullptr)),
      opened_(other.opened_),
      error_(other.error_),
      buffers_(std::move(other.buffers_)),
      info_(other.info_),
      members_(std::move(other.members_)) {}

void Worker::expect_ok(pace_status status, const char* call) {
    EXPECT_EQ(status, PACE_OK) << call << ": " << pace_status_name(status) << " " << error_.message;
}

void* Worker::add_buffer(int32_t type, uint64_t count) {
    pace_buffer buffer{};
    void* data = nullptr;
    if (pace_buffer_create(session_, type, count, nullptr, &buffer, &data, &error_) != PACE_OK)
        return nullptr;
    buffers_.push_back(buffer);
    return data;
}

float* Worker::add_floats(uint64_t count, float value) {
    auto* data = static_cast<float*>(add_buffer(PACE_F32, count));
    EXPECT_NE(data, nullptr) << error_.message;
    if (data != nullptr) std::fill_n(data, count, value);
    return data;
}

pace_request Worker::reduce(int32_t op) {
    pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
    options.op = op;
    pace_request request{};
    expect_ok(pace_reduce(session_, Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                          &options, &request, &error_),
              "pace_reduce");
    return request;
}

pace_request Worker::average(uint64_t iteration, pace_average_options options) {
    options.call.iteration = iteration;
    pace_request request{};
    expect_ok(pace_average(session_, Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                           &options, &request, &error_),
              "pace_average");
    return request;
}

pace_request Worker::average(uint64_t iteration) {
    return average(iteration, PACE_AVERAGE_OPTIONS_INIT);
}

pace_request Worker::average_ordered(uint64_t iteration, int32_t order) {
    pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
    options.order = order;
    return average(iteration, options);
}

pace_request Worker::average_kept(uint64_t iteration) {
    pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
    options.keep_local = 1;
    return average(iteration, options);
}

void Worker::ready(pace_request request, uint64_t elements) {
    expect_ok(pace_request_ready(session_, request, elements, &error_), "pace_request_ready");
}

void Worker::announce(uint64_t iteration) {
    expect_ok(pace_announce(session_, iteration, &error_), "pace_announce");
}

void Worker::withdraw() {
    expect_ok(pace_withdraw(session_, &error_), "pace_withdraw");
}

pace_request Worker::broadcast(uint32_t root) {
    pace_request request{};
    expect_ok(pace_broadcast(session_, Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                             broadcast_from(root), &request, &error_),
              "pace_broadcast");
    return request;
}

pace_request Worker::sync() {
    pace_request request{};
    expect_ok(pace_sync(session_, Slices(buffers_.data(), buffers_.size()), buffers_.size(),
                        nullptr, &request, &error_),
              "pace_sync");
    return request;
}

pace_request Worker::barrier() {
    pace_request request{};
    expect_ok(pace_barrier(session_, nullptr, &request, &error_), "pace_barrier");
    return request;
}

pace_request Worker::save_residual() {
    pace_request request{};
    expect_ok(pace_residual_save(session_, Slices(buffers_.data(), buffers_.size()),
                                 buffers_.size(), nullptr, &request, &error_),
              "pace_residual_save");
    return request;
}

pace_request Worker::load_residual() {
    pace_request request{};
    expect_ok(pace_residual_load(session_, Slices(buffers_.data(), buffers_.size()),
                                 buffers_.size(), nullptr, &request, &error_),
              "pace_residual_load");
    return request;
}

pace_status Worker::cancel(pace_request request) {
    return pace_request_cancel(session_, request, &error_);
}

int Worker::ready_fd() {
    int fd = -1;
    expect_ok(pace_session_get_fd(session_, &fd, &error_), "pace_session_get_fd");
    return fd;
}

pace_status Worker::wait(pace_request request, int64_t timeout_ms) {
    members_.resize(world_);
    info_ = PACE_REQUEST_INFO_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.flags = wait_flags_;
    how.members = members_.data();
    how.member_capacity = members_.size();
    return pace_request_wait(session_, request, timeout_ms, &how, &info_, &error_);
}

void Worker::finish_kept(pace_request request, uint64_t local_iteration) {
    info_ = PACE_REQUEST_INFO_INIT;
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.local_iteration = local_iteration;
    expect_ok(pace_request_wait(session_, request, kPatienceMs, &how, &info_, &error_),
              "pace_request_wait");
}

void Worker::finish(pace_request request) {
    expect_ok(wait(request), "pace_request_wait");
}

}  // namespace pace::cluster
