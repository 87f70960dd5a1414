#include "daemon/clients/submission.h"

#include <gtest/gtest.h>

#include "daemon/clients/quota.h"

namespace pace::daemon {
namespace {

using protocol::Verb;

class Submission : public testing::Test {
  protected:
    BufferTable::Handle add(protocol::DType dtype = protocol::DType::f32) {
        auto buffer = std::make_shared<Buffer>();
        auto memory = base::MappedMemfd::create("submission-test", 80, false);
        EXPECT_TRUE(memory);
        buffer->memory = std::move(*memory);
        buffer->dtype = dtype;
        buffer->count = 10;
        return buffers_.add(buffer);
    }
    static protocol::SubmissionEntry entry(Verb verb, std::vector<BufferTable::Handle> handles) {
        protocol::SubmissionEntry entry{};
        entry.id = 5;
        entry.verb = verb;
        entry.slice_count = static_cast<uint16_t>(handles.size());
        for (size_t i = 0; i < handles.size(); ++i)
            entry.slices[i] = {handles[i].index, handles[i].generation, 0, 10};
        return entry;
    }
    base::ErrorKind kind_of(const protocol::SubmissionEntry& entry) {
        const auto request = check_submission(entry, buffers_);
        return request ? base::ErrorKind::internal : request.error().kind;
    }

    BufferTable buffers_;
};

TEST_F(Submission, BecomesARequestOnItsBuffers) {
    const auto first = add();
    const auto second = add();
    const auto request = check_submission(entry(Verb::average, {second, first}), buffers_);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->id, 5U);
    EXPECT_EQ(request->buffers.size(), 2U);
    EXPECT_EQ(request->buffers[1], *buffers_.find(first.index, first.generation));
}

TEST_F(Submission, OfIndicesAndValuesHasOneBufferOfEach) {
    const auto indices = add(protocol::DType::u32);
    const auto values = add();
    const auto push = [](std::vector<BufferTable::Handle> handles, uint64_t entries) {
        auto made = entry(Verb::push, std::move(handles));
        made.sparse = 1;
        made.entries = entries;
        return made;
    };
    EXPECT_TRUE(check_submission(push({indices, values}, 10), buffers_));
    EXPECT_EQ(kind_of(push({indices, values}, 11)), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(push({indices}, 1)), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(push({values, indices}, 1)), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(push({indices, add(protocol::DType::f64)}, 1)), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(entry(Verb::reduce, {indices})), base::ErrorKind::invalid)
        << "indices are for a push alone";
}

TEST_F(Submission, MayNameWhereItsResultGoes) {
    const auto given = add();
    const auto result = add();
    auto apart = entry(Verb::reduce, {given, result});
    apart.slice_count = 1;
    apart.out_of_place = 1;
    const auto request = check_submission(apart, buffers_);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->elements, 10U);
    EXPECT_EQ(request->buffers[0], *buffers_.find(given.index, given.generation));
    ASSERT_EQ(request->results.size(), 1U);
    EXPECT_EQ(request->destination()[0], *buffers_.find(result.index, result.generation));
}

TEST_F(Submission, WhoseResultIsUnlikeWhatItGivesIsRefused) {
    const auto given = add();
    const auto apart = [&](BufferTable::Handle result) {
        auto made = entry(Verb::average, {given, result});
        made.slice_count = 1;
        made.out_of_place = 1;
        return made;
    };
    EXPECT_EQ(kind_of(apart(given)), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(apart(add(protocol::DType::f64))), base::ErrorKind::invalid);
    auto shorter = apart(add());
    shorter.slices[1].count = 9;
    EXPECT_EQ(kind_of(shorter), base::ErrorKind::invalid);
    auto of_copies = apart(add());
    of_copies.keeps_local = 1;
    EXPECT_EQ(kind_of(of_copies), base::ErrorKind::invalid);
    auto twice = apart(add());
    twice.out_of_place = 2;
    EXPECT_EQ(kind_of(twice), base::ErrorKind::invalid);
    for (const Verb verb : {Verb::broadcast, Verb::push, Verb::pull, Verb::residual_save}) {
        auto other = apart(add());
        other.verb = verb;
        EXPECT_EQ(kind_of(other), base::ErrorKind::invalid) << protocol::name_of(verb);
    }
    // More slices than the limit are not looked at.
    auto many = apart(add());
    many.slice_count = 65535;
    EXPECT_EQ(kind_of(many), base::ErrorKind::invalid);
}

TEST_F(Submission, MayNamePartsOfBuffers) {
    const auto handle = add();
    const BufferPtr whole = *buffers_.find(handle.index, handle.generation);
    auto parts = entry(Verb::reduce, {handle, handle});
    parts.slices[0].count = 4;
    parts.slices[1].first = 4;
    parts.slices[1].count = 6;
    auto request = check_submission(parts, buffers_);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->elements, 10U);
    EXPECT_EQ(request->buffers[0]->count, 4U);
    EXPECT_EQ(request->buffers[1]->count, 6U);
    EXPECT_EQ(request->buffers[0]->memory.data(), whole->memory.data());
    EXPECT_EQ(request->buffers[1]->memory.data(), whole->memory.data() + 4 * sizeof(float));
    // The slices keep the whole buffer alive, even when the table drops it.
    const std::weak_ptr<Buffer> kept = whole;
    EXPECT_EQ(request->buffers[1]->bytes(), 6 * sizeof(float));
    EXPECT_GT(kept.use_count(), 2);
}

TEST_F(Submission, APartThatIsNotInItsBufferOrNamedTwiceIsRefused) {
    const auto buffer = add();
    const auto named = [&](uint64_t first, uint64_t count) {
        auto one = entry(Verb::reduce, {buffer});
        one.slices[0].first = first;
        one.slices[0].count = count;
        return kind_of(one);
    };
    EXPECT_EQ(named(0, 0), base::ErrorKind::invalid);
    EXPECT_EQ(named(0, 11), base::ErrorKind::invalid);
    EXPECT_EQ(named(10, 1), base::ErrorKind::invalid);
    EXPECT_EQ(named(UINT64_MAX, 2), base::ErrorKind::invalid);
    EXPECT_EQ(named(2, UINT64_MAX - 1), base::ErrorKind::invalid);
    auto both = entry(Verb::reduce, {buffer, buffer});
    both.slices[0].count = 5;
    both.slices[1].first = 4;
    both.slices[1].count = 6;
    EXPECT_EQ(kind_of(both), base::ErrorKind::invalid);
}

TEST_F(Submission, IsRefusedWithTheKindThatSaysWhy) {
    const auto buffer = add();
    EXPECT_EQ(kind_of(entry(static_cast<Verb>(0), {buffer})), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(entry(static_cast<Verb>(99), {buffer})), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(entry(Verb::average, {})), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(entry(Verb::barrier, {buffer})), base::ErrorKind::invalid);
    EXPECT_EQ(kind_of(entry(Verb::reduce, {buffer, buffer})), base::ErrorKind::invalid);
    auto many = entry(Verb::reduce, {buffer});
    many.slice_count = protocol::kBuffersPerExchangeMax + 1;
    EXPECT_EQ(kind_of(many), base::ErrorKind::invalid);
    auto op = entry(Verb::reduce, {buffer});
    op.op = static_cast<protocol::ReduceOp>(9);
    EXPECT_EQ(kind_of(op), base::ErrorKind::invalid);
}

TEST_F(Submission, OfResidualsTakesBuffersOfFloats) {
    const auto floats = add();
    const auto halves = add(protocol::DType::f16);
    for (const Verb verb : {Verb::residual_save, Verb::residual_load}) {
        const auto request = check_submission(entry(verb, {floats}), buffers_);
        ASSERT_TRUE(request);
        EXPECT_EQ(request->verb, verb);
        EXPECT_EQ(kind_of(entry(verb, {})), base::ErrorKind::invalid);
        const auto refused = check_submission(entry(verb, {floats, halves}), buffers_);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, base::ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find("buffers[1] is of type f16"), std::string::npos);
    }
    EXPECT_EQ(kind_of(entry(static_cast<Verb>(8), {floats})), base::ErrorKind::invalid);
}

TEST_F(Submission, RefusesStaleAndForeignHandles) {
    const auto buffer = add();
    EXPECT_EQ(kind_of(entry(Verb::sync, {{buffer.index, buffer.generation + 1}})),
              base::ErrorKind::handle);
    EXPECT_EQ(kind_of(entry(Verb::sync, {{77, 1}})), base::ErrorKind::handle);
    ASSERT_TRUE(buffers_.remove(buffer.index));
    EXPECT_EQ(kind_of(entry(Verb::sync, {buffer})), base::ErrorKind::handle);
    const auto again = add();  // the same index, another generation
    EXPECT_EQ(again.index, buffer.index);
    EXPECT_EQ(kind_of(entry(Verb::sync, {buffer})), base::ErrorKind::handle);
}

TEST(Quota, BoundsWhatOneTrainerHas) {
    Quota quota({80, 3});
    EXPECT_TRUE(quota.charge_buffer(50));
    EXPECT_EQ(quota.charge_buffer(40).error().kind, base::ErrorKind::limit);
    EXPECT_EQ(quota.charge_buffer(~uint64_t{0}).error().kind, base::ErrorKind::limit);
    EXPECT_TRUE(quota.charge_buffer(30));
    EXPECT_EQ(quota.charge_buffer(1).error().kind, base::ErrorKind::limit);
    quota.release_buffer(50);
    EXPECT_TRUE(quota.charge_buffer(20));
    EXPECT_TRUE(quota.charge_buffer(0));
    EXPECT_EQ(quota.charge_buffer(0).error().kind, base::ErrorKind::limit) << "a fourth buffer";
}

}  // namespace
}  // namespace pace::daemon
