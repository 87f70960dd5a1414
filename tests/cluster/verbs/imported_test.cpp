// Imported memory tests: memory that belongs to the trainer in calls of real daemons. The daemons
// map memfds, and copy other memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

// More than two pieces of 4 MiB.
constexpr uint64_t kImportedElements = uint64_t{5} << 19U;

// Memory as a trainer has it, made before there was a session.
class OwnMemory {
  public:
    explicit OwnMemory(bool is_memfd) : heap_(is_memfd ? 0 : kImportedElements) {
        if (!is_memfd) return;
        fd_.reset(memfd_create("gradients", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        EXPECT_EQ(ftruncate(fd_.get(), kImportedElements * sizeof(float)), 0);
        EXPECT_EQ(fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
        mapped_ = mmap(nullptr, kImportedElements * sizeof(float), PROT_READ | PROT_WRITE,
                       MAP_SHARED, fd_.get(), 0);
        EXPECT_NE(mapped_, MAP_FAILED);
    }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;
    ~OwnMemory() {
        if (mapped_ != nullptr) munmap(mapped_, kImportedElements * sizeof(float));
    }

    float* data() { return mapped_ != nullptr ? static_cast<float*>(mapped_) : heap_.data(); }
    void fill(float value) { std::fill(data(), data() + kImportedElements, value); }
    uint64_t count(float value) {
        return static_cast<uint64_t>(std::count(data(), data() + kImportedElements, value));
    }
    pace_buffer_options options() {
        pace_buffer_options options = PACE_BUFFER_OPTIONS_INIT;
        options.source = fd_.valid() ? PACE_FD : PACE_POINTER;
        options.flags = PACE_MAY_STAGE;
        options.fd = fd_.get();
        if (!fd_.valid()) options.pointer = heap_.data();
        return options;
    }

  private:
    std::vector<float> heap_;
    base::UniqueFd fd_;
    void* mapped_ = nullptr;
};

// Workers on two nodes. The parameter tells whether their memory is a memfd.
class Imported : public testing::TestWithParam<bool> {
  public:
    void open(const std::string& policy, const std::vector<size_t>& nodes = {0, 1}) {
        for (uint32_t rank = 0; rank < 2; ++rank) {
            workers_.push_back(std::make_unique<Worker>(
                WorkerOptions{.endpoint = cluster_.endpoint(nodes[rank]),
                              .rank = rank,
                              .world = 2,
                              .policy = policy,
                              .group_size = policy == PACE_POLICY_PARTIAL_REDUCE ? 2U : 0U}));
            ASSERT_EQ(workers_[rank]->opened(), PACE_OK) << workers_[rank]->complaint();
            memory_.push_back(std::make_unique<OwnMemory>(GetParam()));
            memory_[rank]->fill(static_cast<float>(rank + 1));
            const pace_buffer_options options = memory_[rank]->options();
            void* data = nullptr;
            ASSERT_EQ(pace_buffer_create(session(rank), PACE_F32, kImportedElements, &options,
                                         &buffers_[rank], &data, &error_),
                      PACE_OK)
                << error_.message;
        }
    }
    pace_session* session(uint32_t rank) { return workers_[rank]->session(); }
    pace_request reduce(uint32_t rank) {
        const pace_slice whole = PACE_WHOLE(buffers_[rank]);
        pace_request request{};
        EXPECT_EQ(pace_reduce(session(rank), &whole, 1, nullptr, &request, &error_), PACE_OK)
            << error_.message;
        return request;
    }
    pace_request broadcast(uint32_t rank) {
        const pace_slice whole = PACE_WHOLE(buffers_[rank]);
        pace_request request{};
        EXPECT_EQ(pace_broadcast(session(rank), &whole, 1, nullptr, &request, &error_), PACE_OK)
            << error_.message;
        return request;
    }
    pace_status wait(uint32_t rank, pace_request request,
                     int64_t timeout_ms = Worker::kPatienceMs) {
        return pace_request_wait(session(rank), request, timeout_ms, nullptr, &info_, &error_);
    }
    void end_both(pace_request (Imported::*call)(uint32_t)) {
        const pace_request requests[] = {(this->*call)(0), (this->*call)(1)};
        for (uint32_t rank = 0; rank < 2; ++rank)
            ASSERT_EQ(wait(rank, requests[rank]), PACE_OK) << error_.message;
    }

    Cluster cluster_{{.nodes = 2}};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<OwnMemory>> memory_;
    pace_buffer buffers_[2]{};
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    pace_error error_{};
};

INSTANTIATE_TEST_SUITE_P(Memory, Imported, testing::Bool(), [](const auto& kind) {
    return std::string(kind.param ? "Memfd" : "Pointer");
});

TEST_P(Imported, HoldsTheMean) {
    ASSERT_NO_FATAL_FAILURE(open(PACE_POLICY_ALL_REDUCE));
    for (const float first : {1.0F, 11.0F}) {
        memory_[0]->fill(first);
        memory_[1]->fill(first + 2);
        end_both(&Imported::reduce);
        for (uint32_t rank = 0; rank < 2; ++rank)
            EXPECT_EQ(memory_[rank]->count(first + 1), kImportedElements);
    }
}

TEST_P(Imported, GoesOnWithANewDaemon) {
    ASSERT_NO_FATAL_FAILURE(open(PACE_POLICY_ALL_REDUCE, {0, 0}));
    end_both(&Imported::broadcast);
    const pace_request lost = reduce(0);
    cluster_.daemon(0).signal(SIGKILL);
    EXPECT_EQ(wait(0, lost), PACE_E_DAEMON_GONE);
    EXPECT_EQ(memory_[0]->count(1), kImportedElements) << "the memory is as it was";
    cluster_.start_daemon(0);
    memory_[0]->fill(3);
    EXPECT_EQ(wait(0, broadcast(0)), PACE_OK) << error_.message;
    // Rank 0 goes on alone until rank 1 has its model and calls with it.
    pace_request own = reduce(0);
    pace_request other = broadcast(1);
    bool has_model = false;
    const Deadline deadline = soon();
    while (info_.member_count < 2 && std::chrono::steady_clock::now() < deadline) {
        if (!has_model && wait(1, other, 1) == PACE_OK) {
            has_model = true;
            EXPECT_EQ(memory_[1]->count(3), kImportedElements);
            memory_[1]->fill(5);
            other = reduce(1);
        }
        if (wait(0, own, 1) == PACE_OK && info_.member_count < 2) own = reduce(0);
    }
    EXPECT_EQ(wait(1, other), PACE_OK) << error_.message;
    for (uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(memory_[rank]->count(4), kImportedElements);
}

TEST_P(Imported, BecomesReadyInSteps) {
    ASSERT_NO_FATAL_FAILURE(open(PACE_POLICY_PARTIAL_REDUCE));
    pace_request requests[2]{};
    for (uint32_t rank = 0; rank < 2; ++rank) {
        const pace_slice whole = PACE_WHOLE(buffers_[rank]);
        pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
        options.call.iteration = 1;
        options.order = PACE_ORDER_BACKWARD;
        memory_[rank]->fill(-1);
        ASSERT_EQ(pace_average(session(rank), &whole, 1, &options, &requests[rank], &error_),
                  PACE_OK)
            << error_.message;
    }
    for (const uint64_t from : {kImportedElements - 1, kImportedElements / 2, uint64_t{0}}) {
        for (uint32_t rank = 0; rank < 2; ++rank) {
            std::fill(memory_[rank]->data() + from, memory_[rank]->data() + kImportedElements,
                      static_cast<float>(10 * rank));
            ASSERT_EQ(pace_request_ready(session(rank), requests[rank], kImportedElements - from,
                                         &error_),
                      PACE_OK)
                << error_.message;
        }
    }
    for (uint32_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(wait(rank, requests[rank]), PACE_OK) << error_.message;
        EXPECT_EQ(memory_[rank]->count(5), kImportedElements);
    }
}

}  // namespace
}  // namespace pace::cluster
