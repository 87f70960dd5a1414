#include "daemon/jobs/questions.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

TEST(Questions, AreSentAgainUntilTheyAreAnsweredOnce) {
    const auto loop = base::EventLoop::create().value();
    Questions questions(*loop);
    int sent = 0;
    int answered = 0;
    bool controller = false;
    const uint64_t ticket = questions.new_ticket();
    Questions::Question question;
    question.send = [&] {
        ++sent;
        return controller;
    };
    question.done = [&] { ++answered; };
    EXPECT_FALSE(questions.ask(ticket, question));
    controller = true;
    questions.send_all_again();
    EXPECT_EQ(sent, 2);

    Questions::Question answer;
    ASSERT_TRUE(questions.take(ticket, answer));
    answer.done();
    EXPECT_EQ(answered, 1);
    EXPECT_FALSE(questions.take(ticket, answer));
    questions.send_all_again();
    EXPECT_EQ(sent, 2);
}

TEST(Questions, MayBeAskedWhileOthersAreSentAgain) {
    const auto loop = base::EventLoop::create().value();
    Questions questions(*loop);
    int sent = 0;
    Questions::Question inner;
    inner.send = [&] { return ++sent != 0; };
    Questions::Question outer;
    outer.send = [&] {
        for (int i = 0; i < 100; ++i) questions.ask(questions.new_ticket(), inner);
        return true;
    };
    questions.ask(questions.new_ticket(), outer);
    EXPECT_EQ(sent, 100);
    questions.send_all_again();
    EXPECT_EQ(sent, 300);
}

TEST(Questions, OneOfAnotherNumberIsNobodys) {
    const auto loop = base::EventLoop::create().value();
    Questions questions(*loop);
    Questions::Question question;
    question.send = [] { return true; };
    const uint64_t ticket = questions.new_ticket();
    questions.ask(ticket, question);
    Questions::Question answer;
    EXPECT_FALSE(questions.take(questions.new_ticket(), answer));
    EXPECT_TRUE(questions.take(ticket, answer));
}

}  // namespace
}  // namespace pace::daemon
