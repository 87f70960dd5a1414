// Waits for one other node, outside of any round: a giving, a taking, a donor's model, the
// residuals of a leaver. The engine watches each one. It names the node, grows older while nothing
// moves, and ends when the connection is cut.
#include "daemon/exchange/transfer.h"

#include <memory>
#include <vector>

#include "daemon/exchange/giving.h"
#include "daemon/exchange/taking.h"
#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kModelFloats = 1000;
constexpr size_t kGiftBytes = size_t{1} << 20U;

// The other node hears nothing: it stands still, or is cut off.
class Waits : public TwoNodes {
  protected:
    // The only wait under way; null if there is none.
    std::shared_ptr<Active> wait() {
        std::shared_ptr<Active> only;
        services_.active.each([&only](const std::shared_ptr<Active>& active) {
            EXPECT_EQ(only, nullptr) << "one wait";
            only = active;
        });
        EXPECT_NE(only, nullptr);
        return only;
    }
    void expect_watched(const char* what) {
        const auto waiting = wait();
        ASSERT_NE(waiting, nullptr);
        EXPECT_EQ(waiting->waiting_for(), std::vector<NodeId>{kOther});
        EXPECT_NE(waiting->what().find(what), std::string::npos) << waiting->what();
        const base::TimePoint later = base::now() + std::chrono::seconds(3);
        EXPECT_GE(waiting->stalled_for(later), std::chrono::seconds(2));
    }
    // As the engine's watch does once it knows that the connection is cut.
    void lose() {
        const transports::PeerId peer = *services_.peers.connection(kOther);
        const auto waiting = wait();
        services_.peers.lost(peer);
        waiting->peer_lost(peer, base::make_error(base::ErrorKind::unavailable, "it is cut off"));
    }
    static Transfer::About about(int deadlines) { return {1, "a thing", kOther, deadlines}; }
};

TEST_F(Waits, OfAGiftThatNobodyTakesEndWithTheWay) {
    ASSERT_TRUE(services_.peers.peer(kOther));
    const std::vector<std::byte> bytes(kGiftBytes);
    ASSERT_TRUE(Giving::give_copy(services_, about(0), 7, 0, bytes));
    turn();
    expect_watched("a thing");
    EXPECT_TRUE(wait()->patient()) << "its taker may come later";
    lose();
    turn();
    EXPECT_FALSE(services_.active.any());
}

TEST_F(Waits, OfATakingThatNobodyGivesEndWithTheWayAndSaySoOnce) {
    int told = 0;
    const base::Scope owner;
    const auto taking =
        Taking::take(owner, services_, about(2), 7, 0, kGiftBytes, [&told](const auto& result) {
            EXPECT_FALSE(result);
            ++told;
        });
    ASSERT_NE(taking, nullptr);
    turn();
    expect_watched("a thing");
    EXPECT_FALSE(wait()->patient());
    EXPECT_EQ(wait()->deadlines(), 2);
    lose();
    turn();
    EXPECT_EQ(told, 1);
}

TEST_F(Waits, OfATakingPastItsDeadlinesEnd) {
    int told = 0;
    const base::Scope owner;
    const auto taking =
        Taking::take(owner, services_, about(2), 7, 0, kGiftBytes, [&told](const auto& result) {
            ASSERT_FALSE(result);
            EXPECT_EQ(result.error().kind, base::ErrorKind::timeout);
            ++told;
        });
    turn();
    wait()->abort(base::make_error(base::ErrorKind::timeout, "nothing has moved"));
    turn();
    EXPECT_EQ(told, 1);
}

TEST_F(Waits, OfATakingThatTheOtherCannotGiveEndWithItsWord) {
    base::Error told;
    const base::Scope owner;
    const auto taking = Taking::take(owner, services_, about(0), 7, 0, kGiftBytes,
                                     [&told](const auto& result) { told = result.error(); });
    send_poison(other_services_, 7, {kSelf});
    turn();
    EXPECT_EQ(told.kind, base::ErrorKind::memory);
    EXPECT_NE(told.message.find("other cannot give a thing"), std::string::npos) << told.message;
}

// ----------------------------------------------------------------- donors that cannot give a model

class CannotGive : public Waits {
  protected:
    CannotGive() {
        control::JobOptions options;
        options.policy = control::Policy::partial_reduce;
        open(options);
    }
    void commit_adoption(uint64_t epoch, control::Rank newcomer, control::Rank donor) {
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.adoptions = {{.newcomer = newcomer, .donor = donor}};
        job_->commit(view);
    }
    static uint64_t number(uint64_t epoch, control::Rank newcomer) {
        return exchange_number(kToken, ExchangeKind::adoption, epoch, newcomer);
    }
    // A buffer of more bytes than there are addresses.
    static BufferPtr boundless() {
        auto buffer = std::make_shared<Buffer>();
        buffer->memory = base::MappedMemfd::create("test", sizeof(float), false).value();
        buffer->count = uint64_t{1} << 46U;
        return buffer;
    }
};

TEST_F(CannotGive, SayWhyInTheirLogAndTellTheTaker) {
    worker_->model = {boundless()};
    call(Verb::average, buffer_of(kModelFloats, 3));
    testing::internal::CaptureStderr();
    commit_adoption(1, kTheirs, kOurs);
    turn();
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("cannot give a newcomer the model"), std::string::npos) << log;
    EXPECT_NE(log.find("no 281474976710720 bytes of memory"), std::string::npos) << log;
    int told = 0;
    other_transport_->receive(*other_peers_.peer(kSelf), {number(1, kTheirs), kPoisonSlot, 0}, {},
                              [&told](const base::Result<>& got) { told += got.ok() ? 1 : 0; });
    listen();
    turn();
    EXPECT_EQ(told, 1);
}

// The donor is not asked again and again. A newcomer that calls once more is still no member with a
// model.
TEST_F(CannotGive, EndTheNewcomersCallWhichMayAskAgain) {
    worker_->newcomer = true;
    const BufferPtr buffer = buffer_of(kModelFloats, 3);
    const uint64_t id = call(Verb::broadcast, buffer);
    commit_adoption(1, kOurs, kTheirs);
    send_poison(other_services_, number(1, kOurs), {kSelf});
    turn();
    ASSERT_TRUE(port_.ended(id));
    EXPECT_EQ(outcome_of(id), Outcome::failed);
    EXPECT_EQ(port_.endings.at(id).kind, base::ErrorKind::memory);
    EXPECT_FALSE(job_->state().wants_view) << "the next one would name the same donor";
    const uint64_t again = call(Verb::broadcast, buffer);
    EXPECT_EQ(worker_->state, Worker::State::adopting) << "it would wait for a round of all";
    commit_adoption(2, kOurs, kTheirs);
    turn();
    EXPECT_FALSE(port_.ended(again));
    expect_watched("a model for worker 1");
    lose();
    turn();
}

TEST_F(Waits, ForADonorsModelEndWithTheWayToItAndAskForAnother) {
    control::JobOptions options;
    options.policy = control::Policy::partial_reduce;
    open(options);
    worker_->newcomer = true;
    const BufferPtr buffer = buffer_of(kModelFloats, 3);
    const uint64_t id = call(Verb::broadcast, buffer);
    control::CommitView view;
    view.epoch = 1;
    view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
    view.adoptions = {{.newcomer = kOurs, .donor = kTheirs}};
    job_->commit(view);
    turn();
    expect_watched("a model for worker 1");
    lose();
    turn();
    EXPECT_TRUE(job_->state().wants_view);
    EXPECT_FALSE(port_.ended(id)) << "it waits for another donor";
    EXPECT_EQ(floats(*buffer).back(), 3);
}

TEST_F(Waits, ForWhatALeaverOwesHaveADeadlineAndLeaveTheJobToGoOn) {
    control::JobOptions options;
    options.policy = control::Policy::all_reduce;
    options.compression = control::Compression::spardl;
    options.density = 0.05;
    options.teams = 1;
    options.residuals = control::Residuals::global;
    options.dense_fallback = control::DenseFallback::never;
    open(options);
    commit(1);
    control::CommitView view;
    view.epoch = 2;
    view.members = {{kOurs, kSelf, 0, 0}};
    view.leavers = {kOther};
    job_->commit(view);
    const BufferPtr buffer = buffer_of(kModelFloats, 3);
    const uint64_t id = call(Verb::reduce, buffer);
    turn();
    expect_watched("what a node owed");
    EXPECT_FALSE(wait()->patient());
    EXPECT_GT(wait()->deadlines(), 0);
    wait()->abort(base::make_error(base::ErrorKind::timeout, "nothing has moved"));
    ASSERT_TRUE(until([&] { return port_.ended(id) && !services_.active.any(); }));
    EXPECT_EQ(outcome_of(id), Outcome::done);
}

// A residual that the other node transfers to this one when it leaves, where the job's user may
// have `user_bytes_max` bytes on this node.
class ADebt : public Waits {
  protected:
    float after_it_left(uint64_t user_bytes_max) {
        services_.accounts = Accounts::create({.user_bytes_max = user_bytes_max});
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        options.compression = control::Compression::spardl;
        options.density = 0.05;
        options.teams = 1;
        options.dense_fallback = control::DenseFallback::never;
        open(options);
        listen();
        commit(1);
        const BufferPtr theirs = buffer_of(kModelFloats, 3);
        const uint64_t loaded = call_there(Verb::residual_load, theirs);
        EXPECT_TRUE(until([&] { return other_port_.ended(loaded); }));
        control::CommitView view;
        view.epoch = 2;
        view.members = {{kOurs, kSelf, 0, 0}};
        view.leavers = {kOther};
        job_->commit(view);
        other_job_->commit(view);
        const BufferPtr ours = buffer_of(kModelFloats, 1);
        // The residual has come, or is refused: until then it counts in no reduction.
        EXPECT_TRUE(until([&] { return !services_.active.any(); }));
        const uint64_t reduced = call(Verb::reduce, ours);
        EXPECT_TRUE(until([&] { return port_.ended(reduced); }));
        return floats(*ours).back();
    }
};

TEST_F(ADebt, IsTakenOverWhereThereIsRoomForIt) {
    EXPECT_EQ(after_it_left(uint64_t{1} << 26U), 1 + 3);
}

TEST_F(ADebt, IsRefusedWhereThereIsNoneAndTheJobGoesOn) {
    EXPECT_EQ(after_it_left(kModelFloats), 1);
}

// A message that has an answer waits for the answer, however long the message itself took.
TEST_F(Waits, ForTheAnswerToALetterNameTheNodeUntilItComes) {
    const Payer payer{Accounts::create(), 0};
    const auto broken = [](NodeId, const base::Error& error) { ADD_FAILURE() << error.message; };
    const auto refused = [](NodeId, const server::Letter&, const base::Error& error) {
        ADD_FAILURE() << error.message;
    };
    int answers = 0;
    ServerMail mail(
        services_, kModelFloats, payer,
        [&answers](NodeId, const server::Letter&, const Parcel&) { ++answers; }, refused, broken);
    std::vector<server::Letter> come;
    ServerMail other_mail(
        other_services_, kModelFloats, payer,
        [&come](NodeId, const server::Letter& letter, const Parcel&) { come.push_back(letter); },
        refused, broken);
    mail.open(kToken, 1, {kSelf, kOther});
    other_mail.open(kToken, 1, {kSelf, kOther});
    const auto overdue = [&mail] {
        return mail.overdue(base::now() + std::chrono::seconds(3), std::chrono::seconds(2));
    };
    EXPECT_TRUE(overdue().empty()) << "nothing is due";
    mail.send(kOther, {.kind = server::LetterKind::update, .clock = 3});
    listen();
    ASSERT_TRUE(until([&come] { return !come.empty(); }));
    ASSERT_EQ(overdue().size(), 1U);
    EXPECT_EQ(overdue().front().node, kOther);
    EXPECT_FALSE(overdue().front().moving);
    come.front().kind = server::LetterKind::held;
    other_mail.send(kSelf, come.front());
    ASSERT_TRUE(until([&answers] { return answers == 1; }));
    EXPECT_TRUE(overdue().empty());
}

// The user may have nothing more on the node that gets the messages.
class Full : public TwoNodes {
  protected:
    static constexpr uint64_t kElements = kGiftBytes / sizeof(float);

    Full() {
        mail_.open(kToken, 1, {kSelf, kOther});
        full_mail_.open(kToken, 1, {kSelf, kOther});
        listen();
    }
    void send(server::Letter letter) {
        letter.clock = ++sent_;
        const auto bytes = std::make_shared<std::vector<std::byte>>(letter.bytes);
        mail_.send(kOther, letter, {bytes, *bytes});
    }
    ServerMail::Broken broken() {
        return [](NodeId, const base::Error& error) { ADD_FAILURE() << error.message; };
    }

    const Payer user_{Accounts::create({.user_bytes_max = 1}), 0};
    uint64_t sent_ = 0;
    std::vector<uint64_t> come_;     // by clock
    std::vector<uint64_t> refused_;  // by clock
    ServerMail mail_{services_,
                     kElements,
                     {Accounts::create(), 0},
                     [](NodeId, const server::Letter&, const Parcel&) {},
                     [](NodeId, const server::Letter&, const base::Error&) {},
                     broken()};
    ServerMail full_mail_{other_services_,
                          kElements,
                          user_,
                          [this](NodeId, const server::Letter& letter, const Parcel& parcel) {
                              EXPECT_EQ(parcel.bytes.size(), letter.bytes);
                              EXPECT_EQ(user_.accounts->bytes_used(), letter.bytes);
                              come_.push_back(letter.clock);
                          },
                          [this](NodeId, const server::Letter& letter, const base::Error& error) {
                              EXPECT_NE(error.message.find("user_bytes_max"), std::string::npos);
                              refused_.push_back(letter.clock);
                          },
                          broken()};
};

// If an update were refused, it would be sent again in every view, for ever.
TEST_F(Full, UpdatesPartsAndModelsComeAllTheSameAndCount) {
    for (const auto kind :
         {server::LetterKind::update, server::LetterKind::part, server::LetterKind::model})
        send({.kind = kind, .count = kElements, .bytes = kGiftBytes});
    ASSERT_TRUE(until([this] { return come_.size() == 3; }));
    EXPECT_TRUE(refused_.empty());
    EXPECT_EQ(user_.accounts->bytes_used(), 0U);
}

TEST_F(Full, ACopyOfACheckpointIsPassedOverAndTheLettersAfterItCome) {
    for (const uint64_t bytes : {uint64_t{10}, uint64_t{kGiftBytes}, uint64_t{8} * kGiftBytes})
        send({.kind = server::LetterKind::checkpoint, .bytes = bytes});
    send({.kind = server::LetterKind::update, .count = kElements, .bytes = kGiftBytes});
    ASSERT_TRUE(until([this] { return !come_.empty(); }));
    EXPECT_EQ(refused_, (std::vector<uint64_t>{1, 2, 3}));
    EXPECT_EQ(come_, (std::vector<uint64_t>{4}));
    // The sender waits for nobody to take the message.
    const auto in_an_hour = [] { return base::now() + std::chrono::hours(1); };
    EXPECT_TRUE(until([&] {
        const auto overdue = mail_.overdue(in_an_hour(), {});
        return overdue.size() == 1 && !overdue.front().moving;
    }));
}

}  // namespace
}  // namespace pace::daemon
