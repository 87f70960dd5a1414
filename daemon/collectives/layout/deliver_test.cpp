#include "daemon/collectives/layout/deliver.h"

#include <future>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_data.h"

namespace pace::collectives {
namespace {

using protocol::DType;

const Layout kLayout(
    {{DType::f32, 50001}, {DType::f16, 0}, {DType::f64, 777}, {DType::bf16, 40003}});

std::vector<Recipient> recipients_of(std::vector<Worker>& workers) {
    std::vector<Recipient> recipients(workers.size());
    for (size_t i = 0; i < workers.size(); ++i)
        for (Bytes& segment : workers[i].segments) recipients[i].segments.push_back(segment.data());
    return recipients;
}

void expect_result(const std::vector<Worker>& workers, const Bytes& result) {
    for (const Worker& worker : workers)
        for (size_t s = 0; s < worker.segments.size(); ++s) {
            const Bytes& segment = worker.segments[s];
            if (segment.empty()) continue;
            ASSERT_EQ(
                std::memcmp(segment.data(), result.data() + kLayout.offset(s), segment.size()), 0);
        }
}

class DeliverWith : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, DeliverWith, testing::Values(0, 2));

// The bits are arbitrary. A random bit pattern is often a NaN, and a sum would keep neither its
// sign nor its payload.
TEST_P(DeliverWith, CopiesTheBitsOfOneMemberToTheOthers) {
    kernels::WorkerPool pool(GetParam());
    base::Random random(5);
    for (const bool wait : {true, false}) {
        std::vector<Worker> root = {random_worker(kLayout, 1.0, random)};
        for (Bytes& segment : root[0].segments)
            for (std::byte& byte : segment) byte = static_cast<std::byte>(random.next() | 0x60U);
        const LocalPart part = local_part(kLayout, root);
        std::vector<Worker> others = {random_worker(kLayout, 1.0, random),
                                      random_worker(kLayout, 1.0, random)};
        const std::vector<Recipient> recipients = recipients_of(others);
        if (wait) {
            copy_among_members(part, recipients, pool);
        } else {
            std::promise<void> done;
            copy_among_members(
                part, recipients, pool,
                {[](const auto& callback) { callback(); }, [&done] { done.set_value(); }});
            done.get_future().wait();
        }
        for (const Worker& other : others) EXPECT_EQ(other.segments, root[0].segments);
        Bytes packed(kLayout.bytes(), std::byte{0xFF});
        part.copy({0, kLayout.bytes()}, packed.data());
        expect_result(root, packed);
        EXPECT_EQ(packed.back(), std::byte{0});
    }
}

TEST_P(DeliverWith, SumsInPlaceAndForThoseWhoDidNotContribute) {
    kernels::WorkerPool pool(GetParam());
    base::Random random(1);
    for (size_t members = 0; members <= 4; ++members)
        for (const bool wait : {true, false}) {
            std::vector<Worker> workers;
            for (size_t i = 0; i < members; ++i)
                workers.push_back(random_worker(kLayout, 0.5, random));
            const Bytes expected = reference_all_reduce(kLayout, {workers}, 0.75);
            const LocalPart part = local_part(kLayout, workers);
            std::vector<Worker> late = {random_worker(kLayout, 1.0, random)};
            std::vector<Recipient> recipients = recipients_of(workers);
            recipients.push_back(recipients_of(late)[0]);
            if (wait) {
                sum_into_members(part, 0.75, recipients, pool);
            } else {
                std::promise<void> done;
                sum_into_members(
                    part, 0.75, recipients, pool,
                    {[](const auto& callback) { callback(); }, [&done] { done.set_value(); }});
                done.get_future().wait();
            }
            expect_result(workers, expected);
            expect_result(late, expected);
        }
}

TEST_P(DeliverWith, CopiesAResultToEveryMember) {
    kernels::WorkerPool pool(GetParam());
    base::Random random(2);
    const std::vector<Worker> source = {random_worker(kLayout, 1.0, random)};
    const Bytes result = reference_all_reduce(kLayout, {source}, 1.0);
    for (const bool wait : {true, false}) {
        std::vector<Worker> workers;
        workers.reserve(3);
        for (int i = 0; i < 3; ++i) workers.push_back(random_worker(kLayout, 1.0, random));
        if (wait) {
            copy_to_members(kLayout, result.data(), recipients_of(workers), pool);
        } else {
            std::promise<void> done;
            copy_to_members(
                kLayout, result.data(), recipients_of(workers), pool,
                {[](const auto& callback) { callback(); }, [&done] { done.set_value(); }});
            done.get_future().wait();
        }
        expect_result(workers, result);
    }
}

TEST(LocalPart, SendsAMembersOwnMemoryOnlyWhereItIsThePartial) {
    base::Random random(3);
    const std::vector<Worker> one = {random_worker(kLayout, 1.0, random)};
    const LocalPart part = local_part(kLayout, one);
    EXPECT_EQ(part.direct({64, 192}).data(), one[0].segments[0].data() + 64);
    EXPECT_EQ(part.direct({64, 192}).size(), 128U);
    const size_t end = kLayout.offset(1);
    EXPECT_TRUE(part.direct({end - 64, end}).empty());        // padding
    EXPECT_TRUE(part.direct({end - 128, end + 64}).empty());  // two segments
    EXPECT_TRUE(local_part(kLayout, {random_worker(kLayout, 0.5, random)}).direct({0, 64}).empty());
    EXPECT_TRUE(local_part(kLayout, {}).direct({0, 64}).empty());
}

}  // namespace
}  // namespace pace::collectives
