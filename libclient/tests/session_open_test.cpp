// Opening a session with a daemon that is absent, slow, of another version or without its
// controller.
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstring>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using std::chrono::milliseconds;

class SessionOpenTest : public SessionFixture {};

TEST_F(SessionOpenTest, AMissingSocketFailsFastAndSaysWhatToDo) {
    const base::TimePoint begin = base::now();
    auto session = try_open();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::not_found);
    EXPECT_TRUE(says(session.error(), "start paced")) << session.error().message;
    EXPECT_TRUE(says(session.error(), "PACE_ENDPOINT"));
    EXPECT_LT(base::now() - begin, kPatience / 2);
}

TEST_F(SessionOpenTest, ASocketThatNobodyListensToIsAGoneDaemon) {
    const base::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, folder_.file("socket").c_str());
    ASSERT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    auto session = try_open();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::unavailable);
}

// The session allows no time for an absent daemon.
TEST_F(SessionOpenTest, ADaemonThatIsThereIsGivenTimeToAnswer) {
    start();
    const auto session = try_open(protocol::Policy::partial_reduce, {});
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_TRUE((*session)->create_buffer(protocol::DType::f32, 16));
}

TEST_F(SessionOpenTest, AnotherVersionIsRefusedNamingBoth) {
    Script script;
    script.version = 99;
    start(std::move(script));
    auto session = try_open();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::version);
    EXPECT_TRUE(says(session.error(), "version 99")) << session.error().message;
    EXPECT_TRUE(says(session.error(), fmt::format("speaks {}", protocol::kVersion).c_str()));
}

// The daemon's entries have more fields than this library knows.
TEST_F(SessionOpenTest, ADaemonOfTheReleaseAfterIsWorkedWith) {
    Script script;
    script.strides.header += 64;
    script.strides.submission += 128;
    script.strides.completion += 64;
    script.strides.mark += 8;
    script.strides.wait += 16;
    script.strides.member += 8;
    script.on_submission = [](Peer& peer, const protocol::SubmissionEntry& submission) {
        protocol::CompletionEntry entry{};
        entry.id = submission.id;
        entry.iteration = submission.iteration + 1;
        entry.member_count = entry.members_listed = 2;
        const std::array<protocol::MemberEntry, 2> members{{{0, 0, 3, 0.25}, {1, 0, 4, 0.75}}};
        peer.complete(entry, members);
    };
    start(std::move(script));
    auto session = open();
    const BufferHandle buffer = make_buffer(*session).handle;
    // There are more calls than slots.
    for (uint64_t iteration = 1; iteration < 20; ++iteration) {
        const auto request = average(*session, buffer, iteration);
        ASSERT_TRUE(request) << request.error().message;
        std::array<protocol::MemberEntry, 4> members{};
        RequestEnd end{.room = members};
        ASSERT_TRUE(session->wait(*request, base::now() + kPatience, &end).value());
        EXPECT_EQ(end.entry.iteration, iteration + 1);
        ASSERT_EQ(end.listed, 2U);
        EXPECT_EQ(members[1].staleness, 4U);
        EXPECT_EQ(members[1].weight, 0.75);
    }
}

TEST_F(SessionOpenTest, ADaemonWhoseRingIsOfNoReleaseIsRefused) {
    using Strides = protocol::RingStrides;
    for (uint32_t Strides::*part : {&Strides::header, &Strides::submission, &Strides::completion,
                                    &Strides::mark, &Strides::wait, &Strides::member}) {
        for (const uint32_t wrong : {uint32_t{0}, protocol::kRingStridesLeast.*part - 8,
                                     protocol::kRingStridesLeast.*part + 1, uint32_t{1} << 20U}) {
            Script script;
            // The daemon tells another stride than the ring has.
            script.told_strides = Strides{};
            (*script.told_strides).*part = wrong;
            start(std::move(script));
            EXPECT_FALSE(try_open(protocol::Policy::partial_reduce, std::chrono::seconds(1)));
        }
    }
}

TEST_F(SessionOpenTest, ADaemonThatRefusesOurVersionIsQuoted) {
    Script script;
    script.on_packet = [](Peer& peer, Packet&) {
        peer.send_failed(0, ErrorKind::version, "I speak 3");
        peer.close();
        return true;
    };
    start(std::move(script));
    auto session = try_open();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::version);
    EXPECT_TRUE(says(session.error(), "I speak 3"));
    EXPECT_TRUE(says(session.error(), fmt::format("version {}", protocol::kVersion).c_str()));
}

// A full daemon refuses and closes. Chance decides whether the hello comes before the refusal,
// between the refusal and the closing, or after both. The test therefore tries all three.
TEST_F(SessionOpenTest, ARefusalBeforeTheHelloIsQuotedHoweverTheDaemonCloses) {
    for (int round = 0; round < 200; ++round) {
        Script script;
        script.on_accepted = [](Peer& peer) {
            peer.send_failed(0, ErrorKind::limit, "nobody else fits");
            peer.close();
        };
        start(std::move(script));
        auto session = try_open();
        ASSERT_FALSE(session);
        ASSERT_EQ(session.error().kind, ErrorKind::limit) << session.error().message;
        ASSERT_TRUE(says(session.error(), "nobody else fits"));
    }
}

TEST_F(SessionOpenTest, ADaemonThatDoesNotAnswerIsGivenUpAtTheDeadline) {
    for (const wire::Body silent : {wire::Body::Hello, wire::Body::Join}) {
        Script script;
        script.on_packet = [silent](Peer&, Packet& packet) { return packet.type() == silent; };
        start(std::move(script));
        auto session = try_open(protocol::Policy::partial_reduce, milliseconds(30));
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind, ErrorKind::unavailable) << session.error().message;
    }
}

TEST_F(SessionOpenTest, ADaemonWithoutItsControllerIsAskedAgainWhileThereIsTime) {
    int joins = 0;
    Script script;
    script.on_packet = [&joins](Peer& peer, Packet& packet) {
        const auto* join = packet.body<wire::Join>();
        if (join == nullptr || ++joins > 2) return false;
        peer.send_failed(join->request(), ErrorKind::no_controller, "the controller is away");
        return true;
    };
    start(std::move(script));
    EXPECT_NE(open(), nullptr);
    daemon_->settle();
    EXPECT_EQ(joins, 3);
}

TEST_F(SessionOpenTest, AControllerThatStaysAwayIsToldAsThatAndNotAsSilence) {
    int joins = 0;
    Script script;
    script.on_packet = [&joins](Peer& peer, Packet& packet) {
        const auto* join = packet.body<wire::Join>();
        if (join == nullptr) return false;
        // The answer to the second join does not come before the deadline.
        if (++joins == 1)
            peer.send_failed(join->request(), ErrorKind::no_controller, "the controller is away");
        return true;
    };
    start(std::move(script));
    // The time is long enough for the first answer on a busy machine.
    auto session = try_open(protocol::Policy::partial_reduce, std::chrono::seconds(1));
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::no_controller);
    EXPECT_EQ(session.error().message, "the controller is away");
}

TEST_F(SessionOpenTest, ARefusedJoinIsPassedOn) {
    Script script;
    script.on_packet = [](Peer& peer, Packet& packet) {
        const auto* join = packet.body<wire::Join>();
        if (join != nullptr) peer.send_failed(join->request(), ErrorKind::taken, "rank 1 is held");
        return join != nullptr;
    };
    start(std::move(script));
    auto session = try_open();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::taken);
    EXPECT_EQ(session.error().message, "rank 1 is held");
}

TEST_F(SessionOpenTest, DeathAtEachStepOfOpeningIsAnError) {
    for (const wire::Body step : {wire::Body::Hello, wire::Body::Join}) {
        Script script;
        script.on_packet = [step](Peer& peer, Packet& packet) {
            if (packet.type() != step) return false;
            peer.close();
            return true;
        };
        start(std::move(script));
        auto session = try_open();
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind, ErrorKind::unavailable) << session.error().message;
    }
}

// ----------------------------------------------------------------------------------------- signals

// A signal comes again and again, as if somebody held Ctrl-C.
class Signals {
  public:
    Signals() {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        sigaction(SIGALRM, &action, &before_);
        const itimerval often{{0, 5000}, {0, 5000}};
        setitimer(ITIMER_REAL, &often, nullptr);
    }
    ~Signals() {
        const itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        sigaction(SIGALRM, &before_, nullptr);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

  private:
    struct sigaction before_ {};
};

Script silent_at(wire::Body step) {
    Script script;
    script.on_packet = [step](Peer&, Packet& packet) { return packet.type() == step; };
    return script;
}

Script without_controller() {
    Script script;
    script.on_packet = [](Peer& peer, Packet& packet) {
        const auto* join = packet.body<wire::Join>();
        if (join != nullptr)
            peer.send_failed(join->request(), ErrorKind::no_controller, "the controller is away");
        return join != nullptr;
    };
    return script;
}

TEST_F(SessionOpenTest, ASignalEndsAnInterruptibleOpenWhereverItWaits) {
    const auto open_interruptibly = [this] {
        return Session::open(endpoint(), job_options(), 1, kPatience, {}, true);
    };
    for (Script script :
         {silent_at(wire::Body::Hello), silent_at(wire::Body::Join), without_controller()}) {
        start(std::move(script));
        const base::TimePoint begin = base::now();
        const Signals signals;
        auto session = open_interruptibly();
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind, ErrorKind::interrupted) << session.error().message;
        EXPECT_LT(base::now() - begin, kPatience / 2);
    }
}

TEST_F(SessionOpenTest, ASignalDoesNotEndAnotherOpen) {
    start(silent_at(wire::Body::Join));
    const Signals signals;
    auto session = try_open(protocol::Policy::partial_reduce, milliseconds(100));
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind, ErrorKind::unavailable) << session.error().message;
}

TEST_F(SessionOpenTest, ASignalEndsACallThatReconnects) {
    start();
    auto session = Session::open(endpoint(), job_options(), 1, kPatience, {}, true);
    ASSERT_TRUE(session) << session.error().message;
    const auto handle = make_buffer(**session).handle;
    for (Script script : {silent_at(wire::Body::Join), without_controller()}) {
        daemon_->restart(std::move(script));
        const Signals signals;
        auto request = average(**session, handle);
        ASSERT_FALSE(request);
        EXPECT_EQ(request.error().kind, ErrorKind::interrupted) << request.error().message;
    }
    // The next call goes on.
    daemon_->restart({});
    EXPECT_TRUE(average(**session, handle));
}

}  // namespace
}  // namespace pace::client::testing
