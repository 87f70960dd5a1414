#include "tests/cluster/trainers/server_worker.h"
#include "capi/testing/calls.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace pace::cluster {
namespace {

WorkerOptions options_of(const std::string& endpoint, const ServerJob& job, uint32_t rank) {
    WorkerOptions options;
    options.endpoint = endpoint;
    options.job = job.name;
    options.rank = rank;
    options.world = job.world;
    options.policy = job.policy;
    options.tune = [job](AskedSession& given) {
        given.set(PACE_OPT_SERVER_RATE, job.rate);
        given.set(PACE_OPT_SERVER_ELEMENTS, job.elements);
        if (job.shards != 0) given.set(PACE_OPT_SERVER_SHARDS, job.shards);
        if (job.tune) job.tune(given);
    };
    return options;
}

}  // namespace

ServerWorker::ServerWorker(const std::string& endpoint, const ServerJob& job, uint32_t rank)
    : worker_(options_of(endpoint, job, rank)), elements_(job.elements), half_(job.elements / 2) {
    const auto add = [this](int32_t type, uint64_t count, void** ret_data) {
        pace_buffer buffer{};
        EXPECT_EQ(
            pace_buffer_create(worker_.session(), type, count, nullptr, &buffer, ret_data, &error_),
            PACE_OK)
            << error_.message;
        return buffer;
    };
    for (const uint64_t count : {half_, elements_ - half_}) {
        void* data = nullptr;
        model_buffers_.push_back(add(PACE_F32, count, &data));
        model_.push_back(static_cast<float*>(data));
        update_buffers_.push_back(add(PACE_F32, count, &data));
        update_.push_back(static_cast<float*>(data));
    }
    void* data = nullptr;
    indices_buffer_ = add(PACE_U32, kRange, &data);
    indices_ = static_cast<uint32_t*>(data);
    values_buffer_ = add(PACE_F32, kRange, &data);
    values_ = static_cast<float*>(data);
}

void ServerWorker::set_model(float value) {
    std::fill_n(model_[0], half_, value);
    std::fill_n(model_[1], elements_ - half_, value);
}

void ServerWorker::set_update(float value) {
    std::fill_n(update_[0], half_, value);
    std::fill_n(update_[1], elements_ - half_, value);
}

void ServerWorker::set_update(uint64_t element, float value) {
    (element < half_ ? update_[0][element] : update_[1][element - half_]) = value;
}

pace_request ServerWorker::push(uint64_t clock) {
    pace_request request{};
    EXPECT_EQ(pace_push(worker_.session(), Slices(update_buffers_.data(), 2), 2, push_at(clock),
                        &request, &error_),
              PACE_OK)
        << error_.message;
    return request;
}

pace_request ServerWorker::push_range(uint64_t clock, uint64_t first,
                                      const std::vector<float>& values) {
    EXPECT_EQ(values.size(), kRange);
    std::copy(values.begin(), values.end(), values_);
    pace_push_options options = PACE_PUSH_OPTIONS_INIT;
    options.call.iteration = clock;
    options.first = first;
    pace_request request{};
    EXPECT_EQ(
        pace_push(worker_.session(), Slices(&values_buffer_, 1), 1, &options, &request, &error_),
        PACE_OK)
        << error_.message;
    return request;
}

pace_request ServerWorker::push_sparse(uint64_t clock, const std::vector<uint32_t>& indices,
                                       const std::vector<float>& values) {
    std::copy(indices.begin(), indices.end(), indices_);
    std::copy(values.begin(), values.end(), values_);
    pace_push_options options = PACE_PUSH_OPTIONS_INIT;
    options.call.iteration = clock;
    options.sparse = 1;
    options.entries = indices.size();
    const pace_buffer buffers[] = {indices_buffer_, values_buffer_};
    pace_request request{};
    EXPECT_EQ(pace_push(worker_.session(), Slices(buffers, 2), 2, &options, &request, &error_),
              PACE_OK)
        << error_.message;
    return request;
}

pace_request ServerWorker::pull(uint64_t clock) {
    pace_request request{};
    EXPECT_EQ(pace_pull(worker_.session(), Slices(model_buffers_.data(), 2), 2, pull_at(clock),
                        &request, &error_),
              PACE_OK)
        << error_.message;
    return request;
}

pace_request ServerWorker::pull_range(uint64_t clock, uint64_t first) {
    pace_pull_options options = PACE_PULL_OPTIONS_INIT;
    options.call.iteration = clock;
    options.first = first;
    pace_request request{};
    EXPECT_EQ(
        pace_pull(worker_.session(), Slices(&values_buffer_, 1), 1, &options, &request, &error_),
        PACE_OK)
        << error_.message;
    return request;
}

pace_request ServerWorker::checkpoint() {
    pace_request request{};
    EXPECT_EQ(pace_checkpoint(worker_.session(), nullptr, &request, &error_), PACE_OK)
        << error_.message;
    return request;
}

pace_request ServerWorker::broadcast(uint32_t root) {
    pace_request request{};
    EXPECT_EQ(pace_broadcast(worker_.session(), Slices(model_buffers_.data(), 2), 2,
                             broadcast_from(root), &request, &error_),
              PACE_OK)
        << error_.message;
    return request;
}

Workers open_workers(const Cluster& cluster, ServerJob job, const std::vector<size_t>& nodes) {
    job.world = static_cast<uint32_t>(nodes.size());
    Workers workers;
    for (uint32_t rank = 0; rank < nodes.size(); ++rank)
        workers.push_back(std::make_unique<ServerWorker>(cluster.endpoint(nodes[rank]), job, rank));
    return workers;
}

}  // namespace pace::cluster
