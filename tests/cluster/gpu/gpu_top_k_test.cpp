// GPU top-k tests: top-k reductions of gradients that are on GPUs and are cut there. Every result
// equals, bit for bit, the result with gradients on hosts.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "capi/testing/calls.h"
#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {
namespace {

using Tune = std::function<void(AskedSession&)>;

struct Shape {
    int32_t type = PACE_F32;
    uint64_t count = 0;

    size_t element_bytes() const { return type == PACE_F64 ? 8 : type == PACE_F32 ? 4 : 2; }
};

// Copying less than 256 KiB is cheaper than a kernel.
const std::vector<Shape> kGradient{{PACE_F32, 50'001}, {PACE_F32, 17'777}};
const std::vector<size_t> kPlaces{0, 0, 1, 2};

Tune top_k(const std::string& compression, const Tune& more = {}) {
    return [compression, more](AskedSession& job) {
        job.set(PACE_OPT_COMPRESSION, compression);
        job.set(PACE_OPT_TOPK_DENSITY, 0.01);
        job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
        if (compression == "spardl") job.set(PACE_OPT_TOPK_TEAMS, 1);
        if (more) more(job);
    };
}

// Returns a gradient of the tensor's type, with few greater elements among many small ones.
std::vector<std::byte> gradient(const Shape& tensor, base::Random& random) {
    std::vector<std::byte> bytes(tensor.count * tensor.element_bytes());
    for (uint64_t i = 0; i < tensor.count; ++i) {
        const double value = (random.uniform() - 0.5) * (random.below(64) == 0 ? 100 : 1);
        std::byte* const at = bytes.data() + i * tensor.element_bytes();
        const auto single = static_cast<float>(value);
        if (tensor.type == PACE_F64) std::memcpy(at, &value, sizeof(value));
        if (tensor.type == PACE_F32) std::memcpy(at, &single, sizeof(single));
        // Halves get random bits: the sign, and exponents about the middle.
        const auto half =
            static_cast<uint16_t>(random.below(2) << 15U | 0x3000U | random.below(0xFFF));
        if (tensor.element_bytes() == 2) std::memcpy(at, &half, sizeof(half));
    }
    return bytes;
}

// The workers of one job. Some of them have their buffers on the GPU.
class Job {
  public:
    Job(Cluster& cluster, const std::string& name, const Tune& tune,
        const std::vector<Shape>& tensors, const std::function<bool(size_t rank)>& on_gpu)
        : cluster_(cluster), tensors_(tensors) {
        for (uint32_t rank = 0; rank < kPlaces.size(); ++rank) {
            on_gpu_.push_back(on_gpu(rank));
            workers_.emplace_back();
            host_.resize(workers_.size() * tensors.size());
            begin_anew(rank, name, tune);
        }
    }

    void begin_anew(uint32_t rank, const std::string& name, const Tune& tune) {
        workers_[rank].reset();
        workers_[rank] = std::make_unique<GpuWorker>(
            WorkerOptions{.endpoint = cluster_.endpoint(kPlaces[rank]),
                          .job = name,
                          .rank = rank,
                          .world = static_cast<uint32_t>(kPlaces.size()),
                          .tune = tune});
        for (size_t i = 0; i < tensors_.size(); ++i)
            host_[rank * tensors_.size() + i] = static_cast<std::byte*>(
                worker(rank).add_buffer(tensors_[i].type, tensors_[i].count));
        for (const Shape& tensor : tensors_)
            EXPECT_NE(workers_[rank]->add_buffer(tensor.type, tensor.count), nullptr)
                << workers_[rank]->error().message;
    }

    // Returns the first worker's results of a round, after checking that all workers got the same.
    std::vector<std::byte> round(base::Random random) {
        const auto requests = begin(random);
        for (size_t rank = 0; rank < workers_.size(); ++rank)
            EXPECT_EQ(workers_[rank]->wait(requests[rank]), PACE_OK)
                << workers_[rank]->error().message << cluster_.logs();
        std::vector<std::byte> first = contents(0);
        for (size_t rank = 1; rank < workers_.size(); ++rank) EXPECT_EQ(contents(rank), first);
        return first;
    }
    std::vector<pace_request> begin(base::Random random) {
        std::vector<pace_request> requests;
        for (size_t rank = 0; rank < workers_.size(); ++rank)
            requests.push_back(begin_one(rank, random));
        return requests;
    }
    pace_request begin_one(size_t rank, base::Random& random) {
        fill(rank, random);
        pace_reduce_options options = PACE_REDUCE_OPTIONS_INIT;
        options.op = PACE_OP_MEAN;
        follow_stream(rank, options.call);
        const auto buffers = this->buffers(rank);
        pace_request request{};
        EXPECT_EQ(pace_reduce(session(rank), Slices(buffers.data(), buffers.size()), buffers.size(),
                              &options, &request, nullptr),
                  PACE_OK);
        return request;
    }

    // Returns the residuals, over all workers' buffers.
    std::vector<std::byte> owed() {
        std::vector<std::byte> all;
        for (size_t rank = 0; rank < workers_.size(); ++rank) {
            call(rank, pace_residual_save);
            const auto own = contents(rank);
            all.insert(all.end(), own.begin(), own.end());
        }
        return all;
    }
    // Adds to the residuals.
    void owe(base::Random random) {
        for (size_t rank = 0; rank < workers_.size(); ++rank) {
            fill(rank, random);
            call(rank, pace_residual_load);
        }
    }
    void move(const std::function<bool(size_t rank)>& on_gpu) {
        for (size_t rank = 0; rank < workers_.size(); ++rank) on_gpu_[rank] = on_gpu(rank);
    }

    GpuWorker& at(size_t rank) { return *workers_[rank]; }
    const char* complaint(size_t rank) const { return workers_[rank]->error().message; }
    // Makes a call that concerns only this worker.
    template <typename Verb>
    pace_status try_call(size_t rank, Verb verb) {
        const auto buffers = this->buffers(rank);
        pace_residual_options options = PACE_RESIDUAL_OPTIONS_INIT;
        follow_stream(rank, options.call);
        pace_request request{};
        const pace_status began = verb(session(rank), Slices(buffers.data(), buffers.size()),
                                       buffers.size(), &options, &request, nullptr);
        return began != PACE_OK ? began : workers_[rank]->wait(request);
    }

  private:
    Worker& worker(size_t rank) { return workers_[rank]->worker(); }
    pace_session* session(size_t rank) { return workers_[rank]->session(); }

    // The stream is the one on which fill() writes.
    void follow_stream(size_t rank, pace_call& ret_call) const {
        if (!on_gpu_[rank]) return;
        ret_call.device = on_gpu(0);
        ret_call.stream = workers_[rank]->stream();
    }

    std::vector<pace_buffer> buffers(size_t rank) {
        std::vector<pace_buffer> all;
        for (size_t i = 0; i < tensors_.size(); ++i)
            all.push_back(on_gpu_[rank] ? workers_[rank]->buffer(i) : worker(rank).buffers()[i]);
        return all;
    }
    template <typename Verb>
    void call(size_t rank, Verb verb) {
        ASSERT_EQ(try_call(rank, verb), PACE_OK) << complaint(rank);
    }
    void fill(size_t rank, base::Random& random) {
        for (size_t i = 0; i < tensors_.size(); ++i) {
            const std::vector<std::byte> bytes = gradient(tensors_[i], random);
            if (on_gpu_[rank])
                workers_[rank]->fill_with(i, bytes);
            else
                std::copy(bytes.begin(), bytes.end(), host(rank, i));
        }
    }
    std::vector<std::byte> contents(size_t rank) {
        std::vector<std::byte> all;
        for (size_t i = 0; i < tensors_.size(); ++i) {
            std::vector<std::byte> bytes(tensors_[i].count * tensors_[i].element_bytes());
            if (on_gpu_[rank])
                workers_[rank]->read(i, bytes);
            else
                std::copy_n(host(rank, i), bytes.size(), bytes.begin());
            all.insert(all.end(), bytes.begin(), bytes.end());
        }
        return all;
    }
    std::byte* host(size_t rank, size_t index) const {
        return host_[rank * tensors_.size() + index];
    }

    Cluster& cluster_;
    std::vector<Shape> tensors_;
    std::vector<std::unique_ptr<GpuWorker>> workers_;
    std::vector<bool> on_gpu_;
    std::vector<std::byte*> host_;
};

bool everyone(size_t) {
    return true;
}
bool nobody(size_t) {
    return false;
}

class GpuTopK : public Gpu {
  protected:
    void SetUp() override {
        Gpu::SetUp();
        if (!IsSkipped())
            cluster_ =
                std::make_unique<Cluster>(Cluster::Options{.nodes = 3, .daemon_flags = flags()});
    }
    int64_t cut_there(size_t node) const {
        return number_in(cluster_->pacectl(node, {"daemon", "--json"}), "top_k_on_device");
    }

    std::unique_ptr<Cluster> cluster_;
    base::Random random_{11};
};

struct Variant {
    const char* name;
    Tune tune;
    bool on_gpu = true;
};

TEST_F(GpuTopK, ResultsAndWhatIsOwedAreThoseOfHosts) {
    const std::vector<Variant> variants{
        {"spardl", top_k("spardl")},
        {"teams", top_k("spardl", [](AskedSession& job) { job.set(PACE_OPT_TOPK_TEAMS, 3); })},
        {"partial",
         top_k("spardl", [](AskedSession& job) { job.set(PACE_OPT_TOPK_RESIDUALS, "partial"); })},
        {"local",
         top_k("spardl", [](AskedSession& job) { job.set(PACE_OPT_TOPK_RESIDUALS, "local"); })},
        {"rounded",
         top_k("spardl", [](AskedSession& job) { job.set(PACE_OPT_TOPK_VALUES, "f16"); })},
        {"topka", top_k("topka")},
        {"topkdsa", top_k("topkdsa")},
        {"gtopk", top_k("gtopk")},
        {"oktopk", top_k("oktopk"), false},
        {"flat",
         top_k("spardl", [](AskedSession& job) { job.set(PACE_OPT_TOPK_HIERARCHY, "flat"); }),
         false},
    };
    for (const Variant& variant : variants) {
        SCOPED_TRACE(variant.name);
        const int64_t before = cut_there(0);
        Job here(*cluster_, std::string(variant.name) + "-host", variant.tune, kGradient, nobody);
        Job there(*cluster_, variant.name, variant.tune, kGradient, everyone);
        for (uint64_t round = 0; round < 4; ++round) {
            const base::Random random(random_.next());
            ASSERT_EQ(there.round(random), here.round(random)) << cluster_->logs();
        }
        ASSERT_EQ(there.owed(), here.owed());
        EXPECT_EQ(cut_there(0) - before, variant.on_gpu ? 4 : 0);
    }
}

TEST_F(GpuTopK, OfAllTypes) {
    const std::vector<Shape> tensors{
        {PACE_F16, 30'001}, {PACE_F32, 20'003}, {PACE_BF16, 40'001}, {PACE_F64, 10'007}};
    Job here(*cluster_, "host", top_k("spardl"), tensors, nobody);
    Job there(*cluster_, "gpu", top_k("spardl"), tensors, everyone);
    for (uint64_t round = 0; round < 4; ++round) {
        const base::Random random(random_.next());
        ASSERT_EQ(there.round(random), here.round(random)) << cluster_->logs();
    }
    EXPECT_EQ(cut_there(1), 4);
}

// Each node decides for itself.
TEST_F(GpuTopK, NodesWithAndWithoutGpusMeet) {
    Job here(*cluster_, "host", top_k("spardl"), kGradient, nobody);
    Job mixed(*cluster_, "mixed", top_k("spardl"), kGradient,
              [](size_t rank) { return rank != 0 && rank != 3; });
    for (uint64_t round = 0; round < 3; ++round) {
        const base::Random random(random_.next());
        ASSERT_EQ(mixed.round(random), here.round(random)) << cluster_->logs();
    }
    EXPECT_EQ(cut_there(0), 0) << "one of its two members is on the host";
    EXPECT_EQ(cut_there(1), 3);
    EXPECT_EQ(cut_there(2), 0);
}

TEST_F(GpuTopK, WhatIsOwedFollowsToTheHostAndBack) {
    Job here(*cluster_, "host", top_k("spardl"), kGradient, nobody);
    Job moving(*cluster_, "moving", top_k("spardl"), kGradient, everyone);
    for (uint64_t round = 0; round < 6; ++round) {
        moving.move(round % 3 == 2 ? nobody : everyone);
        const base::Random random(random_.next());
        ASSERT_EQ(moving.round(random), here.round(random)) << cluster_->logs();
        if (round != 3) continue;
        here.owe(random);
        moving.owe(random);
        ASSERT_EQ(moving.owed(), here.owed());
    }
    EXPECT_EQ(cut_there(0), 4);
}

// A worker that has just come may ask for residuals while the others' reduction is under way.
TEST_F(GpuTopK, WhatIsOwedIsAskedForAtAnyTime) {
    const Tune tune = top_k("spardl");
    Job here(*cluster_, "host", tune, kGradient, nobody);
    Job job(*cluster_, "gpu", tune, kGradient, everyone);
    const auto both = [&] {
        const base::Random random(random_.next());
        EXPECT_EQ(job.round(random), here.round(random)) << cluster_->logs();
    };
    both();
    const auto owed = here.owed();
    ASSERT_EQ(job.owed(), owed);
    // The second worker of its node begins anew. It is no member of the next rounds until it has
    // the model.
    job.begin_anew(1, "gpu", tune);
    base::Random random(random_.next());
    const pace_request first = job.begin_one(0, random);
    // The load is accepted before the reduction has begun, and refused while the reduction is under
    // way.
    pace_status loaded = PACE_OK;
    for (const Deadline end = soon();
         loaded == PACE_OK && std::chrono::steady_clock::now() < end;) {
        EXPECT_EQ(job.try_call(1, pace_residual_save), PACE_OK) << job.complaint(1);
        loaded = job.try_call(1, pace_residual_load);
    }
    EXPECT_EQ(loaded, PACE_E_REFUSED) << job.complaint(1);
    EXPECT_EQ(job.try_call(1, pace_residual_save), PACE_OK) << job.complaint(1);
    const pace_request second = job.begin_one(2, random);
    const pace_request third = job.begin_one(3, random);
    EXPECT_EQ(job.at(0).wait(first), PACE_OK) << job.at(0).error().message;
    EXPECT_EQ(job.at(2).wait(second), PACE_OK) << job.at(2).error().message;
    EXPECT_EQ(job.at(3).wait(third), PACE_OK) << job.at(3).error().message;
}

#ifdef PACE_SIMULATED_GPU_FOLDER
// A GPU that fails during a cut costs no round. The daemon does not use that GPU again.
class GpuTopKFails : public Gpu {
  protected:
    static std::unique_ptr<Cluster> failing(const char* variable, const char* what) {
        setenv(variable, what, 1);
        auto cluster =
            std::make_unique<Cluster>(Cluster::Options{.nodes = 3, .daemon_flags = flags()});
        unsetenv(variable);
        return cluster;
    }
    static int64_t cut_there(Cluster& cluster, size_t node) {
        return number_in(cluster.pacectl(node, {"daemon", "--json"}), "top_k_on_device");
    }
};

// Nothing that a kernel has refused is in a result, and the residuals come back, as if there were
// no GPUs.
TEST_F(GpuTopKFails, ByItsKernelsNothingIsLost) {
    for (const char* what : {"sum:6", "top_k:4", "gather:3"}) {
        SCOPED_TRACE(what);
        const auto cluster = failing("PACE_SIMULATED_KERNEL_FAIL", what);
        const Tune tune = top_k("spardl");
        Job here(*cluster, "host", tune, kGradient, nobody);
        Job job(*cluster, "failing", tune, kGradient, everyone);
        base::Random random(3);
        for (int round = 0; round < 6 && !HasFailure(); ++round) {
            const base::Random gradients(random.next());
            ASSERT_EQ(job.round(gradients), here.round(gradients)) << cluster->logs();
        }
        ASSERT_EQ(job.owed(), here.owed()) << cluster->logs();
        EXPECT_LT(cut_there(*cluster, 0), 6);
        EXPECT_NE(cluster->logs().find("top-k goes by the host from now on"), std::string::npos);
    }
}

// The GPU may also fail when others have the result, or fail altogether, with all its residuals.
TEST_F(GpuTopKFails, RoundsGoOn) {
    for (const auto& [variable, what] :
         {std::pair("PACE_SIMULATED_KERNEL_FAIL", "scatter:6"),
          std::pair("PACE_SIMULATED_KERNEL_FAIL", "scatter:7"),
          std::pair("PACE_SIMULATED_KERNEL_FAIL", "scatter:8"),
          std::pair("PACE_SIMULATED_GPU_FAIL", "cuStreamSynchronize:30")}) {
        SCOPED_TRACE(what);
        const auto cluster = failing(variable, what);
        Job job(*cluster, "failing", top_k("spardl"), kGradient, everyone);
        base::Random random(3);
        for (int round = 0; round < 8 && !HasFailure(); ++round)
            (void)job.round(base::Random(random.next()));
        for (size_t node = 0; node < 3; ++node) EXPECT_LT(cut_there(*cluster, node), 8);
    }
}
#endif

}  // namespace
}  // namespace pace::cluster
