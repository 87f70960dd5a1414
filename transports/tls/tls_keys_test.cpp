// Keys that come late, change and leave.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "transports/conformance/fixture.h"
#include "transports/tls/testing/nodes.h"

namespace pace::transports::tls {
namespace {

using base::ErrorKind;
using testing::await;
using testing::make_node;
using testing::random_key;
using testing::share;

class TlsKeys : public ::testing::Test {
  protected:
    void begin(const TlsOptions& options = {}) {
        a_ = make_node(options);
        b_ = make_node(options);
        to_b_ = *a_->connect(b_->address());
        to_a_ = *b_->connect(a_->address());
        a_->set_peer_lost_handler(
            [this](PeerId, const base::Error& error) { lost_[0] += error.message; });
        b_->set_peer_lost_handler(
            [this](PeerId, const base::Error& error) { lost_[1] += error.message; });
    }

    template <typename Done>
    bool await_here(Done done) {
        return await({a_.get(), b_.get()}, done);
    }

    // Begins to send messages in both directions.
    void start(size_t size) {
        ended_ = failed_ = 0;
        const Tag tag{++exchange_, 0, 0};
        sent_ = conformance::pattern(size, exchange_);
        for (auto& bytes : received_) bytes.assign(size, std::byte{0});
        const auto end = [this](const base::Result<>& result) {
            ++ended_;
            if (!result) ++failed_;
        };
        a_->receive(to_b_, tag, received_[0], end);
        b_->receive(to_a_, tag, received_[1], end);
        a_->send(to_b_, tag, sent_, end);
        b_->send(to_a_, tag, sent_, end);
    }
    bool has_ended() const { return ended_ == 4; }
    bool arrives() {
        return await_here([this] { return has_ended(); }) && failed_ == 0 &&
               received_[0] == sent_ && received_[1] == sent_;
    }
    void turn(int times) {
        for (int i = 0; i < times; ++i) {
            a_->poll();
            b_->poll();
        }
    }

    std::unique_ptr<TlsTransport> a_;
    std::unique_ptr<TlsTransport> b_;
    PeerId to_b_ = 0;
    PeerId to_a_ = 0;
    uint64_t exchange_ = 0;
    int ended_ = 0;
    int failed_ = 0;
    std::vector<std::byte> sent_;
    std::array<std::vector<std::byte>, 2> received_;
    std::array<std::string, 2> lost_;
};

TEST_F(TlsKeys, ThatComeLateLetWhatWaitsGoOn) {
    begin();
    start(100'000);
    turn(100);
    EXPECT_FALSE(has_ended());
    const PairKey key = random_key();
    EXPECT_TRUE(a_->add_key(b_->address(), key));
    // The one that has the key tries, and is refused by the other.
    turn(200);
    EXPECT_FALSE(has_ended());
    EXPECT_TRUE(b_->add_key(a_->address(), key));
    EXPECT_TRUE(arrives());
    EXPECT_EQ(lost_[0] + lost_[1], "");
}

TEST_F(TlsKeys, ThatNeverComeEndWhatWaitsAndSaySo) {
    TlsOptions options;
    options.key_wait_max = std::chrono::milliseconds(100);
    begin(options);
    EXPECT_TRUE(a_->add_key(b_->address(), random_key()));
    start(10);
    EXPECT_TRUE(await_here([&] { return has_ended() && !lost_[0].empty() && !lost_[1].empty(); }));
    EXPECT_GE(failed_, 2);
    EXPECT_NE(lost_[0].find("it accepts none of its keys"), std::string::npos) << lost_[0];
    EXPECT_NE(lost_[1].find("no key for it has come"), std::string::npos) << lost_[1];
}

TEST_F(TlsKeys, ThatOneNodeGetsBeforeTheOtherKeepNobodyOut) {
    begin();
    share(*a_, *b_, random_key());
    const PairKey next = random_key();
    EXPECT_TRUE(a_->add_key(b_->address(), next));
    start(100'000);
    EXPECT_TRUE(arrives());
    // Both have the new key, and one of them has a newer one.
    EXPECT_TRUE(b_->add_key(a_->address(), next));
    EXPECT_TRUE(b_->add_key(a_->address(), random_key()));
    for (TlsTransport* each : {a_.get(), b_.get()})
        each->give_up(each == a_.get() ? to_b_ : to_a_, {ErrorKind::unavailable, "the test"});
    turn(10);
    lost_ = {};
    to_b_ = *a_->connect(b_->address());
    to_a_ = *b_->connect(a_->address());
    start(100'000);
    EXPECT_TRUE(arrives());
    EXPECT_EQ(lost_[0] + lost_[1], "");
}

TEST_F(TlsKeys, MayChangeWhileALargeMessageIsUnderWay) {
    begin();
    share(*a_, *b_, random_key());
    start(30'000'000);
    // One turn moves a quarter of a megabyte.
    turn(20);
    for (int i = 0; i < 10; ++i) {
        turn(2);
        EXPECT_FALSE(has_ended());
        share(*a_, *b_, random_key());
    }
    EXPECT_TRUE(arrives());
    EXPECT_EQ(lost_[0] + lost_[1], "");
}

TEST_F(TlsKeys, ThatAreForgottenEndThePeerOnBothSides) {
    begin();
    share(*a_, *b_, random_key());
    start(30'000'000);
    turn(50);
    EXPECT_FALSE(has_ended());
    EXPECT_TRUE(a_->forget_keys(b_->address()));
    EXPECT_TRUE(await_here([&] { return has_ended() && !lost_[0].empty() && !lost_[1].empty(); }));
    EXPECT_NE(lost_[0].find("its keys are forgotten"), std::string::npos) << lost_[0];
    EXPECT_EQ(failed_, 4);
    // A new key makes a new beginning.
    lost_ = {};
    to_b_ = *a_->connect(b_->address());
    to_a_ = *b_->connect(a_->address());
    share(*a_, *b_, random_key());
    start(1000);
    EXPECT_TRUE(arrives());
    EXPECT_TRUE(a_->forget_keys(b_->address()));
    EXPECT_TRUE(a_->forget_keys(b_->address())) << "there is nothing to forget";
}

TEST_F(TlsKeys, OfAnotherPairAndOfNoAddressAreRefused) {
    begin();
    const auto c = make_node();
    const PairKey key = random_key();
    EXPECT_TRUE(a_->add_key(b_->address(), key));
    const auto taken = a_->add_key(c->address(), key);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().kind, ErrorKind::taken);
    EXPECT_FALSE(a_->add_key(a_->address(), random_key())) << "its own address";
    EXPECT_FALSE(a_->add_key({}, random_key()));
    EXPECT_FALSE(a_->forget_keys({}));
}

// Many fresh keys of TLS itself within one connection.
TEST_F(TlsKeys, OfAConnectionAreMadeAnewWhileItMovesBytes) {
    TlsOptions options;
    options.bytes_of_one_key_max = 100'000;
    begin(options);
    share(*a_, *b_, random_key());
    start(10'000'000);
    EXPECT_TRUE(arrives());
    EXPECT_EQ(lost_[0] + lost_[1], "");
}

}  // namespace
}  // namespace pace::transports::tls
