#include "capi/options.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "capi/guard.h"

namespace pace::capi {
namespace {

using base::ErrorKind;

constexpr StructName kName{"options", "PACE_WAIT_OPTIONS_INIT"};

TEST(ReadOptions, ANewerCallersStructIsReadIfItsUnknownTailIsZero) {
    struct Newer {
        pace_wait_options known;
        uint64_t unknown;
    };
    Newer newer{PACE_WAIT_OPTIONS_INIT, 0};
    newer.known.struct_size = sizeof(newer);
    EXPECT_TRUE(read_options(&newer.known, kName));
    newer.unknown = uint64_t{1} << 63U;
    auto refused = read_options(&newer.known, kName);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    EXPECT_NE(refused.error().message.find("does not know"), std::string::npos);
}

TEST(ReadOptions, AnOlderCallersStructEndsInZerosAndIsNotReadPastItsEnd) {
    // The array has exactly as many bytes as the caller has. A sanitizer reports a read of more
    // bytes.
    const size_t size = offsetof(pace_wait_options, local_iteration);
    pace_wait_options full = PACE_WAIT_OPTIONS_INIT;
    full.struct_size = static_cast<uint32_t>(size);
    full.flags = PACE_WAIT_SIGNALS;
    full.local_iteration = 9;
    const std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
    std::memcpy(bytes.get(), &full, size);
    auto options = read_options(reinterpret_cast<const pace_wait_options*>(bytes.get()), kName);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->flags, uint32_t{PACE_WAIT_SIGNALS});
    EXPECT_EQ(options->local_iteration, 0U);
}

TEST(ReadOptions, ASizeThatNoMacroSetNamesTheMacro) {
    for (const uint32_t size : {0U, 1U, 3U, 4097U, std::numeric_limits<uint32_t>::max()}) {
        pace_wait_options options = PACE_WAIT_OPTIONS_INIT;
        options.struct_size = size;
        auto refused = read_options(&options, kName);
        ASSERT_FALSE(refused) << size;
        EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
        EXPECT_NE(refused.error().message.find("PACE_WAIT_OPTIONS_INIT"), std::string::npos);
    }
}

TEST(Argument, IsTheNameThatAMessageBeginsWith) {
    EXPECT_EQ(argument_of("topk.density is 2; give a number above 0"), "topk.density");
    EXPECT_EQ(argument_of("quorum is 'none'; use all"), "quorum");
    EXPECT_EQ(argument_of("options->flags is 0x8; use 0"), "flags");
    EXPECT_EQ(argument_of("options[3].name is NULL; give the name of an option"),
              "options[3].name");
    EXPECT_EQ(argument_of("there is no option 'topk.densty'; is topk.density meant?"),
              "topk.densty");
    EXPECT_EQ(argument_of("session is NULL; it must point to something"), "session");
}

TEST(Argument, IsNoneWhereAMessageIsAboutNone) {
    for (const char* message : {"", "session", "the session has left its job; open another",
                                "rank 3 is taken", "it is too late", "buffer 3.1 is named twice"})
        EXPECT_EQ(argument_of(message), "") << message;
}

}  // namespace
}  // namespace pace::capi
