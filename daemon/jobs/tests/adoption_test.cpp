// A newcomer's first broadcast, answered with the model of a worker on this node or on another one.
#include <array>
#include <cstring>
#include <string>

#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::DType;
using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kAdopted = 16;

// NaNs of both signs, quiet and signaling, with payloads.
constexpr std::array<uint32_t, 6> kSingles = {0x7F800001, 0xFF800001, 0x7FC00000,
                                              0xFFC12345, 0x7FFFFFFF, 0xFFFFFFFF};
constexpr std::array<uint64_t, 4> kDoubles = {0x7FF0000000000001, 0xFFF0000000000001,
                                              0x7FF8123456789ABC, 0xFFFFFFFFFFFFFFFF};
constexpr std::array<uint16_t, 4> kF16 = {0x7C01, 0xFC01, 0x7E12, 0xFFFF};
constexpr std::array<uint16_t, 4> kBf16 = {0x7F81, 0xFF81, 0x7FC1, 0xFFFF};

struct Model {
    const char* name;
    DType dtype;
    const void* patterns;
    size_t count;  // of the patterns
};

BufferPtr buffer_of_type(DType dtype, uint64_t count) {
    auto buffer = std::make_shared<Buffer>();
    buffer->memory =
        base::MappedMemfd::create("model", count * protocol::size_of(dtype), false).value();
    buffer->dtype = dtype;
    buffer->count = count;
    return buffer;
}

bool have_equal_bits(const Buffer& one, const Buffer& other) {
    return one.bytes() == other.bytes() &&
           std::memcmp(one.memory.data(), other.memory.data(), one.bytes()) == 0;
}

class Adopting : public TwoNodes {
  protected:
    void SetUp() override {
        control::JobOptions options;
        options.policy = control::Policy::partial_reduce;
        options.group_size = 2;
        open(options);
        worker_->newcomer = true;
        listen();
    }
    // The donor, on the other node, waits for a group, with its model in the call. The newcomer has
    // made its first broadcast.
    uint64_t adopt_from_there(const BufferPtr& model, const BufferPtr& target) {
        const uint64_t id = call(Verb::broadcast, target);
        call_there(Verb::average, model);
        control::CommitView view;
        view.epoch = 1;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.adoptions = {{.newcomer = kOurs, .donor = kTheirs}};
        job_->commit(view);
        other_job_->commit(view);
        return id;
    }
    // Donor and newcomer are on this node.
    uint64_t adopt_from_here(const BufferPtr& model, const BufferPtr& target) {
        const WorkerPtr donor = new_worker(kTheirs);
        job_->add(donor);
        const uint64_t id = call(Verb::broadcast, target);
        call(*job_, donor, Verb::average, model);
        control::CommitView view;
        view.epoch = 1;
        view.members = {{kTheirs, kSelf, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.adoptions = {{.newcomer = kOurs, .donor = kTheirs}};
        job_->commit(view);
        return id;
    }
    void expect_named(uint64_t id) {
        ASSERT_TRUE(until([&] { return port_.ended(id); }));
        const Ending& ending = port_.endings.at(id);
        EXPECT_EQ(ending.outcome, Outcome::failed);
        EXPECT_EQ(ending.kind, base::ErrorKind::mismatch);
        EXPECT_EQ(ending.message,
                  "worker 1 broadcasts other buffers than worker 0 did: give equal types and "
                  "lengths");
    }
};

TEST_F(Adopting, ByOtherBuffersNamesTheDonorOnThisNode) {
    expect_named(adopt_from_here(buffer_of(kAdopted, 1), buffer_of(kAdopted + 1, 0)));
}

TEST_F(Adopting, ByOtherBuffersNamesTheDonorOnAnotherNode) {
    expect_named(adopt_from_there(buffer_of(kAdopted, 1), buffer_of(kAdopted + 1, 0)));
}

// The other types take as many bytes.
TEST_F(Adopting, ByOtherTypesNamesTheDonorOnAnotherNode) {
    expect_named(
        adopt_from_there(buffer_of(kAdopted, 1), buffer_of_type(DType::f64, kAdopted / 2)));
}

// The trainers' models are in memory of their own. Their buffers are copies, which calls bring up
// to date that name them.
class AdoptingCopies : public TwoNodes {
  protected:
    AdoptingCopies() {
        open(in_pairs(control::Policy::all_reduce));
        model_->copied = true;
        listen();
        commit(1);
        both(Verb::broadcast, model_);
    }
    void both(Verb verb, const BufferPtr& ours) {
        const BufferPtr theirs = buffer_of(ours->count, 0);
        const uint64_t id = call(verb, ours);
        const uint64_t there = call_there(verb, theirs);
        ASSERT_TRUE(until([&] { return port_.ended(id) && other_port_.ended(there); }));
        ASSERT_EQ(outcome_of(id), Outcome::done);
    }

    const BufferPtr model_ = buffer_of(kAdopted, 3);
    const BufferPtr gradient_ = buffer_of(2 * kAdopted, 3);
};

TEST_F(AdoptingCopies, IsPossibleUntilARoundThatDoesNotNameThem) {
    EXPECT_TRUE(worker_->can_give_model());
    both(Verb::reduce, gradient_);
    EXPECT_FALSE(worker_->can_give_model());
    EXPECT_TRUE(other_worker_->can_give_model()) << "the daemon sees its model";
}

TEST_F(AdoptingCopies, IsPossibleAgainAfterACallThatNamesThem) {
    both(Verb::reduce, gradient_);
    both(Verb::barrier, gradient_);
    EXPECT_FALSE(worker_->can_give_model());
    both(Verb::sync, model_);
    EXPECT_TRUE(worker_->can_give_model());
    both(Verb::reduce, gradient_);
    both(Verb::broadcast, model_);
    EXPECT_TRUE(worker_->can_give_model());
}

TEST_F(AdoptingCopies, IsPossibleIfEachRoundNamesThem) {
    both(Verb::reduce, model_);
    EXPECT_TRUE(worker_->can_give_model());
}

TEST_F(AdoptingCopies, FromADonorWhoseModelHasBecomeOldEndsTheCall) {
    both(Verb::reduce, gradient_);
    const WorkerPtr newcomer = new_worker(2);
    job_->add(newcomer);
    newcomer->newcomer = true;
    const uint64_t id = call(*job_, newcomer, Verb::broadcast, buffer_of(kAdopted, 0));
    control::CommitView view;
    view.epoch = 2;
    view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}, {2, kSelf, 0, 0}};
    view.base_round = job_->rounds().completed();
    view.adoptions = {{.newcomer = 2, .donor = kOurs}};
    job_->commit(view);
    call(Verb::reduce, gradient_);
    ASSERT_TRUE(until([&] { return port_.ended(id); }));
    EXPECT_EQ(outcome_of(id), Outcome::failed);
    EXPECT_EQ(port_.endings.at(id).kind, base::ErrorKind::not_found);
    EXPECT_NE(port_.endings.at(id).message.find("PACE_POINTER"), std::string::npos);
}

class AdoptedBits : public Adopting, public testing::WithParamInterface<Model> {
  protected:
    BufferPtr model() const {
        const Model& of = GetParam();
        BufferPtr buffer = buffer_of_type(of.dtype, kAdopted);
        const size_t size = protocol::size_of(of.dtype);
        for (size_t i = 0; i < kAdopted; ++i)
            std::memcpy(buffer->memory.data() + i * size,
                        static_cast<const std::byte*>(of.patterns) + (i % of.count) * size, size);
        return buffer;
    }
    void expect_moved(uint64_t id, const BufferPtr& model, const BufferPtr& target) {
        ASSERT_TRUE(until([&] { return port_.ended(id); }));
        ASSERT_EQ(outcome_of(id), Outcome::done) << port_.endings.at(id).message;
        EXPECT_TRUE(have_equal_bits(*model, *target));
    }
};

TEST_P(AdoptedBits, AreTheDonorsOnAnotherNode) {
    const BufferPtr given = model();
    const BufferPtr target = buffer_of_type(GetParam().dtype, kAdopted);
    expect_moved(adopt_from_there(given, target), given, target);
}

TEST_P(AdoptedBits, AreTheDonorsOnThisNode) {
    const BufferPtr given = model();
    const BufferPtr target = buffer_of_type(GetParam().dtype, kAdopted);
    expect_moved(adopt_from_here(given, target), given, target);
}

INSTANTIATE_TEST_SUITE_P(All, AdoptedBits,
                         testing::Values(Model{"F32", DType::f32, kSingles.data(), kSingles.size()},
                                         Model{"F64", DType::f64, kDoubles.data(), kDoubles.size()},
                                         Model{"F16", DType::f16, kF16.data(), kF16.size()},
                                         Model{"Bf16", DType::bf16, kBf16.data(), kBf16.size()}),
                         [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace pace::daemon
