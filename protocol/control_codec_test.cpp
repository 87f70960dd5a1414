// Tests of envelopes: round trips, and bytes that are cut or flipped anywhere.

#include "protocol/control_codec.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/option_codec.h"
#include "protocol/options/limits.h"

namespace pace::protocol {
namespace {

// Returns options with one value of each kind.
AskedOptions options_of_each_kind() {
    AskedOptions options("fashion", 8, "ad-psgd");
    options.values = {{"average.weights", std::string("dynamic")},
                      {"average.alpha", 0.25},
                      {"worker.timeout_ms", int64_t{30'000}},
                      {"group.edges", std::vector<uint8_t>{0, 0, 0, 0, 1, 0, 0, 0}},
                      {"later.hint", int64_t{-1}, true}};
    return options;
}

const AskedOptions kOptions = options_of_each_kind();

std::vector<std::byte> join_message(const AskedOptions& options) {
    EnvelopeWriter writer;
    auto& builder = writer.begin();
    const auto table = write_job_options(builder, options);
    const auto bytes =
        writer.finish(3, 99, control::CreateWorkerJoin(builder, 5, 1, table, 1000, true, 17, 4, 2));
    return {bytes.begin(), bytes.end()};
}

// Reads everything that a receiver would read, so that a sanitizer sees every access.
size_t read_everything(const control::Envelope& envelope) {
    size_t sum = envelope.node() + envelope.attachment();
    if (const auto* join = envelope.body_as_WorkerJoin()) {
        const auto options = read_job_options(*join->options());
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
    const auto options = read_job_options(*join->options());
    ASSERT_TRUE(options);
    EXPECT_EQ(*options, kOptions);
}

TEST(ControlCodec, AnEnvelopeCutAnywhereIsRefused) {
    const auto bytes = join_message(kOptions);
    for (size_t size = 0; size < bytes.size(); ++size) {
        // A copy of exactly this size: a read past the cut is out of bounds.
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

base::Result<AskedOptions> read_back(const AskedOptions& options) {
    const auto bytes = join_message(options);
    return read_job_options(*(*verify_envelope(bytes))->body_as_WorkerJoin()->options());
}

TEST(ControlCodec, OptionsThatAreTooMuchAreRefused) {
    AskedOptions options("fashion", 8, "full");
    options.values.assign(kOptionsMax + 1, {"group.size", int64_t{3}});
    EXPECT_EQ(read_back(options).error().message, "257 options are given; give at most 256");
    options.values = {{std::string(64, 'x'), int64_t{1}}};
    EXPECT_EQ(read_back(options).error().message, "an option's name has 64 bytes; use at most 63");
    options.values = {{"topk.values", std::string(4097, 'x')}};
    EXPECT_EQ(read_back(options).error().message, "topk.values has 4097 bytes; use at most 4096");
    options.values = {{"group.edges", std::vector<uint8_t>(kOptionBytesMax + 1)}};
    EXPECT_EQ(read_back(options).error().message, "group.edges has 32769 bytes; use at most 32768");
}

TEST(ControlCodec, TextsOfOptionsArePrintable) {
    AskedOptions options("fash\nion", 8, "fu\x1bll");
    options.values = {{"a\x07z", std::string("\x1b[31mred")}};
    const auto read = read_back(options);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "fash?ion");
    EXPECT_EQ(read->policy, "fu?ll");
    EXPECT_EQ(read->values[0].name, "a?z");
    EXPECT_EQ(std::get<std::string>(read->values[0].value), "?[31mred");
}

TEST(ControlCodec, AnOptionOfNoKindIsRefused) {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("group.size");
    const std::vector values{wire::CreateOption(builder, name, 9)};
    const auto table =
        wire::CreateJobOptions(builder, builder.CreateString("fashion"), 8,
                               builder.CreateString("full"), builder.CreateVector(values));
    builder.Finish(table);
    const auto read =
        read_job_options(*flatbuffers::GetRoot<wire::JobOptions>(builder.GetBufferPointer()));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "group.size is of kind 9, which is none");
}

TEST(ControlCodec, ALongNameIsCutButStaysTooLong) {
    AskedOptions options = kOptions;
    options.name = std::string(5000, 'x');
    const auto bytes = join_message(options);
    const auto envelope = verify_envelope(bytes);
    ASSERT_TRUE(envelope);
    const auto read = read_job_options(*(*envelope)->body_as_WorkerJoin()->options());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name.size(), kNameBytesMax + 1);
}

}  // namespace
}  // namespace pace::protocol
