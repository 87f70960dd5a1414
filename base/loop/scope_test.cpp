#include "base/loop/scope.h"

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"

namespace pace::base {
namespace {

struct Owner {
    std::string heard;
    Scope scope;
};

TEST(Scope, LetsCallsThroughUntilItEnds) {
    auto owner = std::make_unique<Owner>();
    const std::function<void(const std::string&)> call =
        owner->scope.bind([raw = owner.get()](const std::string& word) { raw->heard += word; });
    const auto copy = call;
    call("a");
    copy("b");
    EXPECT_EQ(owner->heard, "ab");
    owner.reset();
    call("c");
    copy("d");
}

TEST(Scope, ThatHasEndedBeginsAnew) {
    Owner owner;
    const auto before = owner.scope.bind([&owner] { owner.heard += 'x'; });
    owner.scope.end();
    const auto after = owner.scope.bind([&owner] { owner.heard += 'a'; });
    before();
    after();
    EXPECT_EQ(owner.heard, "a");
}

TEST(Scope, MayEndInACallThatIsBoundToIt) {
    auto owner = std::make_unique<Owner>();
    int calls = 0;
    const auto call = owner->scope.bind([&] {
        ++calls;
        owner.reset();
    });
    call();
    call();
    EXPECT_EQ(calls, 1);
}

TEST(Scope, EndsWhatALoopWasGiven) {
    auto loop = EventLoop::create().value();
    auto owner = std::make_unique<Owner>();
    loop->defer(owner->scope.callback([] { FAIL(); }));
    loop->post(owner->scope.callback([] { FAIL(); }));
    loop->poster()(owner->scope.bind([] { FAIL(); }));
    owner.reset();
    loop->turn(false);
    loop->turn(false);
}

TEST(Keep, HoldsWhatTheCallTouchesUntilItHasBeenCalled) {
    auto loop = EventLoop::create().value();
    auto kept = std::make_shared<std::string>("a");
    std::string seen;
    loop->defer(keep(kept, [&seen](const std::string& word) { seen = word; }));
    const std::weak_ptr<std::string> weak = kept;
    kept.reset();
    EXPECT_FALSE(weak.expired());
    loop->turn(false);
    EXPECT_EQ(seen, "a");
    EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace pace::base
