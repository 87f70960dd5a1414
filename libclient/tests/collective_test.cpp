// The checks and messages of a session about quorums, compressions and residuals.
#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::Verb;

class CollectiveTest : public SessionFixture {
  protected:
    static JobOptions sparse() {
        JobOptions options = job_options(protocol::Policy::all_reduce);
        options.compression = protocol::Compression::gtopk;
        return options;
    }

    base::Result<std::unique_ptr<Session>> try_open_with(const JobOptions& options) {
        return Session::open(endpoint(), options, 1, kPatience);
    }

    static base::Result<RequestHandle> submit(Session& session, Verb verb,
                                              std::span<const BufferHandle> buffers) {
        const std::vector<Slice> slices = slices_of(buffers);
        Operation operation;
        operation.verb = verb;
        operation.slices = slices;
        return session.submit(operation);
    }
};

constexpr std::array kResidualVerbs{Verb::residual_save, Verb::residual_load};

// A later daemon may know the option.
TEST_F(CollectiveTest, AnOptionThatThisLibraryDoesNotKnowIsTheDaemonsToJudge) {
    start();
    protocol::AskedOptions asked(sparse());
    asked.values.push_back({"later.option", int64_t{7}});
    EXPECT_TRUE(Session::open(endpoint(), asked, 1, kPatience));
    protocol::AskedOptions policy("job", 4, "later-policy");
    const auto session = Session::open(endpoint(), policy, 1, kPatience);
    ASSERT_TRUE(session) << session.error().message;
    // The daemon also judges which verbs fit the option.
    const BufferHandle buffer = make_buffer(**session).handle;
    EXPECT_TRUE(submit(**session, Verb::average, {&buffer, 1}));
}

TEST_F(CollectiveTest, ADensityThatIsNoneIsRefusedBeforeADaemonIsAsked) {
    for (const double density : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
        JobOptions options = sparse();
        options.density = density;
        const auto session = try_open_with(options);
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind, ErrorKind::invalid);
        EXPECT_TRUE(says(session.error(), "topk.density is")) << session.error().message;
    }
}

TEST_F(CollectiveTest, ADaemonThatWouldDropTheOptionsIsRefused) {
    Script script;
    script.knows_options = false;
    start(std::move(script));
    EXPECT_TRUE(try_open_with(job_options(protocol::Policy::all_reduce)));
    EXPECT_EQ(try_open_with(sparse()).error().kind, ErrorKind::version);
    JobOptions partial = job_options(protocol::Policy::all_reduce);
    partial.quorum = protocol::Quorum::solo;
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
    halves.compression = protocol::Compression::f16;
    for (const JobOptions& options : {job_options(protocol::Policy::partial_reduce),
                                      job_options(protocol::Policy::all_reduce), halves}) {
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
        EXPECT_TRUE(says(refused.error(), "slices[1] is of type f16")) << refused.error().message;
        EXPECT_EQ(submit(**session, verb, {}).error().kind, ErrorKind::invalid);
    }
    // The refused calls claimed nothing.
    EXPECT_TRUE(submit(**session, Verb::reduce, buffers));
}

}  // namespace
}  // namespace pace::client::testing
