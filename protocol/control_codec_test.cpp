// Envelopes: round trips, and bytes that are cut or flipped anywhere.

#include "protocol/control_codec.h"

#include <cstring>
#include <string>
#include <utility>
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
    uint8_t quorum = 0;
    uint32_t quorum_count = 0;
    uint8_t late = 0;
    uint32_t staleness_max = 0;
    uint8_t divide_by = 0;
    uint32_t resync_every = 0;
    uint8_t compression = 0;
    double density = 0;
    uint8_t residuals = 0;
    uint32_t teams = 0;
    uint8_t team_gather = 0;
    uint8_t indices = 0;
    uint8_t values = 0;
    uint8_t hierarchy = 0;
    uint8_t dense_fallback = 0;
    bool reject_nonfinite = false;
    uint32_t progress_gap = 0;
    std::vector<uint32_t> edges;
    uint64_t elements = 0;
    uint8_t rate = 0;
    double constant_rate = 0;
    double filter = 0;
    uint32_t shards = 0;
    uint32_t checkpoint_every_ms = 0;
    uint32_t checkpoint_copies = 0;
    bool restore = false;
    bool unsynchronized = false;
    bool operator==(const Options&) const = default;
};

// No two fields of one kind are equal, so that none can be taken for another.
const Options kOptions{
    .name = "fashion",
    .world = 8,
    .policy = 2,
    .group_size = 3,
    .group_min = 2,
    .weights = 2,
    .missing = 1,
    .alpha = 0.25,
    .group_wait_ms = 7,
    .history_window = 14,
    .worker_timeout_ms = 30'000,
    .quorum = 5,
    .quorum_count = 6,
    .late = 2,
    .staleness_max = 33,
    .divide_by = 1,
    .resync_every = 100,
    .compression = 8,
    .density = 0.125,
    .residuals = 3,
    .teams = 4,
    .team_gather = 2,
    .indices = 1,
    .values = 3,
    .hierarchy = 2,
    .dense_fallback = 1,
    .reject_nonfinite = true,
    .progress_gap = 9,
    .edges = {0, 1, 1, 7},
    .elements = uint64_t{1} << 33U,
    .rate = 3,
    .constant_rate = 0.125,
    .filter = 1e-5,
    .shards = 17,
    .checkpoint_every_ms = 4000,
    .checkpoint_copies = 1,
    .restore = true,
    .unsynchronized = true,
};

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

TEST(ControlCodec, AnUnknownChoiceIsRefusedByName) {
    const std::vector<std::pair<const char*, uint8_t Options::*>> choices{
        {"policy 77", &Options::policy},
        {"weights 77", &Options::weights},
        {"missing 77", &Options::missing},
        {"quorum 77", &Options::quorum},
        {"late 77", &Options::late},
        {"divide_by 77", &Options::divide_by},
        {"compression 77", &Options::compression},
        {"residuals 77", &Options::residuals},
        {"team_gather 77", &Options::team_gather},
        {"indices 77", &Options::indices},
        {"values 77", &Options::values},
        {"hierarchy 77", &Options::hierarchy},
        {"dense_fallback 77", &Options::dense_fallback},
    };
    for (const auto& [words, choice] : choices) {
        Options options = kOptions;
        options.*choice = 77;
        const auto bytes = join_message(options);
        const auto envelope = verify_envelope(bytes);
        ASSERT_TRUE(envelope);
        const auto read = read_job_options<Options>(*(*envelope)->body_as_WorkerJoin()->options());
        ASSERT_FALSE(read) << words;
        EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
    }
}

TEST(ControlCodec, ZeroLeavesTheReadersDefault) {
    struct Defaults : Options {
        Defaults() { policy = 2, quorum = 1; }
    };
    Options options = kOptions;
    options.policy = options.quorum = 0;
    const auto bytes = join_message(options);
    const auto envelope = verify_envelope(bytes);
    ASSERT_TRUE(envelope);
    const auto read = read_job_options<Defaults>(*(*envelope)->body_as_WorkerJoin()->options());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->policy, 2);
    EXPECT_EQ(read->quorum, 1);
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
