// Claims: which elements a request may name beside those of other requests.
#include "libclient/requests/claims.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pace::client {
namespace {

using protocol::DType;
using protocol::Verb;

class ClaimsTest : public testing::Test {
  protected:
    ClaimsTest() { requests_.set_limit(4); }

    BufferHandle buffer(uint64_t count, DType type = DType::f32) {
        buffers_.reserve();
        NewBuffer made;
        made.memory = base::MappedMemfd::create("claims", count * size_of(type), false).value();
        return buffers_.add(type, count, std::move(made));
    }
    Request& request(Verb verb = Verb::sync) {
        Request& made = **requests_.begin();
        made.verb = verb;
        return made;
    }
    std::string refusal(Request& request, const std::vector<Slice>& slices,
                        const std::vector<Slice>& results = {}) {
        Operation operation;
        operation.verb = request.verb;
        operation.slices = slices;
        operation.results = results;
        const auto claimed = claim(buffers_, operation, request);
        return claimed ? "" : claimed.error().message;
    }

    BufferTable buffers_{7};
    RequestTable requests_{7};
};

TEST_F(ClaimsTest, PartsHaveTheirElementsAndTheRestOfTheBuffer) {
    const BufferHandle first = buffer(16);
    const BufferHandle second = buffer(8);
    Request& one = request();
    EXPECT_EQ(refusal(one, {{first, 3, 2}, {second}}), "");
    ASSERT_EQ(one.parts.size(), 2U);
    EXPECT_EQ(one.given, 2U);
    EXPECT_EQ(one.elements, 10U);
    EXPECT_EQ(one.parts[0].first, 3U);
    EXPECT_EQ(one.parts[1].count, 8U);
    EXPECT_FALSE(one.is_out_of_place());
}

TEST_F(ClaimsTest, ElementsAreFreeAgainWhenTheirRequestLetsThemGo) {
    const BufferHandle handle = buffer(16);
    Request& one = request();
    Request& other = request();
    EXPECT_EQ(refusal(one, {{handle, 0, 8}}), "");
    EXPECT_NE(refusal(other, {{handle, 7, 2}}).find("wait for that first"), std::string::npos);
    release_claims(buffers_, other);
    EXPECT_EQ(refusal(other, {{handle, 8, 8}}), "") << "beside the other request's elements";
    release_claims(buffers_, other);
    release_claims(buffers_, one);
    EXPECT_EQ(refusal(other, {{handle}}), "");
}

TEST_F(ClaimsTest, AnElementCountsOnce) {
    const BufferHandle handle = buffer(16);
    Request& one = request();
    EXPECT_EQ(refusal(one, {{handle, 0, 4}, {handle, 3, 4}}),
              "slices[1] is named twice, at least in part; each element counts once");
    release_claims(buffers_, one);
    EXPECT_EQ(refusal(one, {{handle}}, {{handle}}),
              "options->call.results[0] is named twice, at least in part; each element counts "
              "once, and a result in place is asked for by leaving out options->call.results");
}

TEST_F(ClaimsTest, RangesBeyondTheBufferAreRefused) {
    const BufferHandle handle = buffer(16);
    Request& one = request();
    EXPECT_EQ(refusal(one, {{handle, 16, 1}}),
              "slices[0].first is 16, but the buffer has 16 elements");
    EXPECT_EQ(refusal(one, {{handle, 15, 2}}), "slices[0].count is 2; give 1 to 1, or PACE_REST");
    EXPECT_EQ(refusal(one, {{handle, 0, 0}}), "slices[0].count is 0; give 1 to 16, or PACE_REST");
    // The sum of both would overflow.
    EXPECT_EQ(refusal(one, {{handle, 1, kRest - 1}}),
              "slices[0].count is 18446744073709551614; give 1 to 15, or PACE_REST");
    EXPECT_TRUE(one.parts.empty());
}

TEST_F(ClaimsTest, ResultsAreLikeTheSlices) {
    const BufferHandle given = buffer(16);
    const auto refused = [&](BufferHandle result) {
        Request& one = request();
        std::string message = refusal(one, {{given}}, {{result}});
        if (message.empty()) {
            EXPECT_TRUE(one.is_out_of_place());
            EXPECT_EQ(one.elements, 16U);
        }
        release_claims(buffers_, one);
        requests_.abandon(one);
        return message;
    };
    EXPECT_EQ(refused(buffer(8)),
              "options->call.results[0] has 8 elements of type f32, but slices[0] has 16 of type "
              "f32; give equal ones");
    EXPECT_EQ(refused(buffer(16, DType::f64)),
              "options->call.results[0] has 16 elements of type f64, but slices[0] has 16 of type "
              "f32; give equal ones");
    EXPECT_EQ(refused(buffer(16)), "");
}

TEST_F(ClaimsTest, ResidualsAreOfTypeF32) {
    const BufferHandle handle = buffer(16, DType::f16);
    Request& one = request(Verb::residual_save);
    EXPECT_EQ(refusal(one, {{handle}}),
              "slices[0] is of type f16; a residual save takes buffers of type f32");
}

TEST_F(ClaimsTest, AStreamNeedsBuffersOnItsGpu) {
    const BufferHandle handle = buffer(16);
    Request& one = request();
    Operation operation;
    operation.verb = Verb::sync;
    const std::vector<Slice> slices{{handle}};
    operation.slices = slices;
    ASSERT_TRUE(claim(buffers_, operation, one));
    const auto none = common_gpu(buffers_, operation, one);
    ASSERT_TRUE(none);
    EXPECT_EQ(*none, nullptr);
    operation.after = Stream{2, nullptr};
    const auto refused = common_gpu(buffers_, operation, one);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "options->call.device is GPU 2, but the call names no buffer there; leave device and "
              "stream out");
}

}  // namespace
}  // namespace pace::client
