// Envelopes: round trips, and bytes that are cut or flipped anywhere.

#include "protocol/control_codec.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::protocol {
namespace {

// What a side's own options look like to the templates.
struct Options {
    std::string name;
    uint32_t world = 0;
    uint8_t policy = 0;
    uint32_t group_size = 0;
    uint32_t group_min = 0;
    uint8_t weights = 0;
    uint8_t missing = 0;
    double alpha = 0;
    uint32_t group_wait_ms = 0;
    uint32_t history_window = 0;
    uint32_t worker_timeout_ms = 0;
    bool operator==(const Options&) const = default;
};

const Options kOptions{"fashion", 8, 2, 3, 2, 2, 1, 0.25, 7, 14, 30'000};

std::vector<std::byte> join_message(const Options& options) {
    EnvelopeWriter writer;
    auto& builder = writer.begin();
    const auto table = write_job_options(builder, options);
    const auto bytes =
        writer.finish(3, 99, control::CreateWorkerJoin(builder, 5, 1, table, 1000, true, 17, 4, 2));
    return {bytes.begin(), bytes.end()};
}

// Reads all that a receiver would read, so that a sanitizer sees every byte touched.
size_t read_everything(const control::Envelope& envelope) {
    size_t sum = envelope.node() + envelope.attachment();
    if (const auto* join = envelope.body_as_WorkerJoin()) {
        const auto options = read_job_options<Options>(*join->options());
        if (options) sum += options->name.size() + options->world;
        sum += join->request() + join->rank() + join->iteration() + join->epoch();
    }
    return sum;
}

TEST(ControlCodec, AnEnvelopeComesBackAsItWasWritten) {
    const auto bytes = join_message(kOptions);
    const auto envelope = verify_envelope(bytes);
    ASSERT_TRUE(envelope);
    EXPECT_EQ((*envelope)->node(), 3U);
    EXPECT_EQ((*envelope)->attachment(), 99U);
    const auto* join = (*envelope)->body_as_WorkerJoin();
    ASSERT_NE(join, nullptr);
    EXPECT_EQ(join->iteration(), 17U);
    const auto options = read_job_options<Options>(*join->options());
    ASSERT_TRUE(options);
    EXPECT_EQ(*options, kOptions);
}

TEST(ControlCodec, AnEnvelopeCutAnywhereIsRefused) {
    const auto bytes = join_message(kOptions);
    for (size_t size = 0; size < bytes.size(); ++size) {
        // A copy of exactly this size, so that a read past the cut is out of bounds.
        const std::vector<std::byte> cut(bytes.begin(),
                                         bytes.begin() + static_cast<ptrdiff_t>(size));
        const auto envelope = verify_envelope(cut);
        if (envelope) read_everything(**envelope);
        EXPECT_FALSE(envelope) << "cut to " << size << " bytes";
    }
}

TEST(ControlCodec, AFlippedBitIsRefusedOrReadsWithinBounds) {
    const auto bytes = join_message(kOptions);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto flipped = bytes;
        flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto envelope = verify_envelope(flipped);
        if (envelope) read_everything(**envelope);
    }
}

TEST(ControlCodec, NoiseIsRefusedOrReadsWithinBounds) {
    base::Random random(7);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::byte> noise(random.below(200));
        for (std::byte& byte : noise) byte = static_cast<std::byte>(random.below(8));
        const auto envelope = verify_envelope(noise);
        if (envelope) read_everything(**envelope);
    }
}

TEST(ControlCodec, ABodyOfAnUnknownTypeIsRefused) {
    flatbuffers::FlatBufferBuilder builder;
    const auto probe = control::CreateProbe(builder);
    builder.Finish(
        control::CreateEnvelope(builder, 1, 2, static_cast<control::Body>(200), probe.Union()));
    const auto envelope = verify_envelope(
        {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()});
    ASSERT_FALSE(envelope);
    EXPECT_EQ(envelope.error().kind, base::ErrorKind::corrupt);
}

TEST(ControlCodec, AnUnknownPolicyIsRefusedByName) {
    Options options = kOptions;
    options.policy = 77;
    const auto bytes = join_message(options);
    const auto envelope = verify_envelope(bytes);
    ASSERT_TRUE(envelope);
    const auto read = read_job_options<Options>(*(*envelope)->body_as_WorkerJoin()->options());
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("policy 77"), std::string::npos) << read.error().message;
}

TEST(ControlCodec, ZeroLeavesTheReadersDefault) {
    struct Defaults : Options {
        Defaults() { policy = 2; }
    };
    Options options = kOptions;
    options.policy = 0;
    const auto bytes = join_message(options);
    const auto envelope = verify_envelope(bytes);
    ASSERT_TRUE(envelope);
    const auto read = read_job_options<Defaults>(*(*envelope)->body_as_WorkerJoin()->options());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->policy, 2);
}

TEST(ControlCodec, ALongNameIsCutButStaysTooLong) {
    Options options = kOptions;
    options.name = std::string(5000, 'x');
    const auto bytes = join_message(options);
    const auto envelope = verify_envelope(bytes);
    ASSERT_TRUE(envelope);
    const auto read = read_job_options<Options>(*(*envelope)->body_as_WorkerJoin()->options());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name.size(), kNameBytesMax + 1);
}

}  // namespace
}  // namespace pace::protocol
