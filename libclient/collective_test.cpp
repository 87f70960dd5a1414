// What a session says and checks about quorums, compressions and residuals.
#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::Verb;

class CollectiveTest : public SessionFixture {
  protected:
    static JobOptions sparse() {
        JobOptions options = job_options(wire::Policy::all_reduce);
        options.compression = wire::Compression::gtopk;
        return options;
    }

    base::Result<std::unique_ptr<Session>> try_open_with(const JobOptions& options) {
        return Session::open(endpoint(), options, 1, kPatience);
    }

    static base::Result<RequestHandle> submit(Session& session, Verb verb,
                                              std::span<const BufferHandle> buffers) {
        Operation operation;
        operation.verb = verb;
        operation.buffers = buffers;
        return session.submit(operation);
    }
};

constexpr std::array kResidualVerbs{Verb::residual_save, Verb::residual_load};

TEST_F(CollectiveTest, EveryOptionArrivesAsItself) {
    JobOptions options = sparse();
    options.quorum = wire::Quorum::count;
    options.quorum_count = 3;
    options.late = wire::Late::drop;
    options.staleness_max = 7;
    options.divide_by = wire::DivideBy::contributors;
    options.resync_every = 100;
    options.density = 0.25;
    options.residuals = wire::Residuals::local;
    options.teams = 2;
    options.team_gather = wire::TeamGather::bruck;
    options.indices = wire::Indices::plain;
    options.values = wire::Values::bf16;
    options.hierarchy = wire::Hierarchy::flat;
    options.dense_fallback = wire::DenseFallback::never;
    options.reject_nonfinite = true;
    options.progress_gap = 9;
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(pack(builder, options));
    const auto& table = *flatbuffers::GetRoot<wire::JobOptions>(builder.GetBufferPointer());
    EXPECT_EQ(table.quorum(), wire::Quorum::count);
    EXPECT_EQ(table.quorum_count(), 3U);
    EXPECT_EQ(table.late(), wire::Late::drop);
    EXPECT_EQ(table.staleness_max(), 7U);
    EXPECT_EQ(table.divide_by(), wire::DivideBy::contributors);
    EXPECT_EQ(table.resync_every(), 100U);
    EXPECT_EQ(table.compression(), wire::Compression::gtopk);
    EXPECT_EQ(table.density(), 0.25);
    EXPECT_EQ(table.residuals(), wire::Residuals::local);
    EXPECT_EQ(table.teams(), 2U);
    EXPECT_EQ(table.team_gather(), wire::TeamGather::bruck);
    EXPECT_EQ(table.indices(), wire::Indices::plain);
    EXPECT_EQ(table.values(), wire::Values::bf16);
    EXPECT_EQ(table.hierarchy(), wire::Hierarchy::flat);
    EXPECT_EQ(table.dense_fallback(), wire::DenseFallback::never);
    EXPECT_TRUE(table.reject_nonfinite());
    EXPECT_EQ(table.progress_gap(), 9U);
}

TEST_F(CollectiveTest, ADensityThatIsNoneIsRefusedBeforeADaemonIsAsked) {
    for (const double density : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
        JobOptions options = sparse();
        options.density = density;
        const auto session = try_open_with(options);
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind, ErrorKind::invalid);
        EXPECT_TRUE(says(session.error(), "density is")) << session.error().message;
    }
}

TEST_F(CollectiveTest, ADaemonThatWouldDropTheOptionsIsRefused) {
    Script script;
    script.knows_quorums = false;
    start(std::move(script));
    EXPECT_TRUE(try_open_with(job_options(wire::Policy::all_reduce)));
    EXPECT_EQ(try_open_with(sparse()).error().kind, ErrorKind::version);
    JobOptions partial = job_options(wire::Policy::all_reduce);
    partial.quorum = wire::Quorum::solo;
    const auto session = try_open_with(partial);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::version);
    EXPECT_TRUE(says(session.error(), "quorum")) << session.error().message;
}

TEST_F(CollectiveTest, ResidualsAreSavedAndLoadedAlone) {
    std::vector<Verb> seen;
    Script script;
    script.on_submission = [&](Peer& peer, const protocol::SubmissionEntry& entry) {
        seen.push_back(entry.verb);
        peer.complete_done(entry.id);
    };
    start(std::move(script));
    auto session = try_open_with(sparse());
    ASSERT_TRUE(session);
    const std::array buffers{make_buffer(**session).handle, make_buffer(**session).handle};
    for (const Verb verb : kResidualVerbs) {
        auto request = submit(**session, verb, buffers);
        ASSERT_TRUE(request) << request.error().message;
        EXPECT_EQ(wait(**session, *request).entry.outcome, protocol::Outcome::done);
    }
    daemon_->settle();
    EXPECT_EQ(seen, (std::vector<Verb>(kResidualVerbs.begin(), kResidualVerbs.end())));
}

TEST_F(CollectiveTest, ResidualsNeedATopKCompression) {
    start();
    JobOptions halves = sparse();
    halves.compression = wire::Compression::f16;
    for (const JobOptions& options : {job_options(wire::Policy::partial_reduce),
                                      job_options(wire::Policy::all_reduce), halves}) {
        auto session = try_open_with(options);
        ASSERT_TRUE(session);
        const BufferHandle buffer = make_buffer(**session).handle;
        for (const Verb verb : kResidualVerbs) {
            const auto refused = submit(**session, verb, {&buffer, 1});
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().kind, ErrorKind::verb);
            EXPECT_TRUE(says(refused.error(), "nothing is owed")) << refused.error().message;
        }
    }
}

TEST_F(CollectiveTest, ResidualsGoInBuffersOfFloats) {
    start();
    auto session = try_open_with(sparse());
    ASSERT_TRUE(session);
    const BufferHandle floats = make_buffer(**session).handle;
    auto halves = (*session)->create_buffer(protocol::DType::f16, 16);
    ASSERT_TRUE(halves);
    const std::array buffers{floats, halves->handle};
    for (const Verb verb : kResidualVerbs) {
        const auto refused = submit(**session, verb, buffers);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
        EXPECT_TRUE(says(refused.error(), "buffers[1] is of type f16")) << refused.error().message;
        EXPECT_EQ(submit(**session, verb, {}).error().kind, ErrorKind::invalid);
    }
    // Nothing was claimed by the refusals.
    EXPECT_TRUE(submit(**session, Verb::reduce, buffers));
}

}  // namespace
}  // namespace pace::client::testing
