#include "daemon/jobs/questions.h"

#include <gtest/gtest.h>

#include "base/simulation/simulated_time.h"

namespace pace::daemon {
namespace {

std::optional<base::Error> no_problem() {
    return std::nullopt;
}

TEST(Questions, AreSentAgainUntilTheyAreAnsweredOnce) {
    const auto loop = base::EventLoop::create().value();
    Questions questions(*loop, no_problem);
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
    Questions questions(*loop, no_problem);
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
    Questions questions(*loop, no_problem);
    Questions::Question question;
    question.send = [] { return true; };
    const uint64_t ticket = questions.new_ticket();
    questions.ask(ticket, question);
    Questions::Question answer;
    EXPECT_FALSE(questions.take(questions.new_ticket(), answer));
    EXPECT_TRUE(questions.take(ticket, answer));
}

TEST(Questions, WithoutAnAnswerAreToldWhyThereIsNoControllerNow) {
    const base::SimulatedTime time(1);
    const auto loop = base::EventLoop::create().value();
    std::optional<base::Error> problem;
    Questions questions(*loop, [&] { return problem; });
    std::vector<std::string> told;
    Questions::Question question;
    question.send = [] { return false; };
    question.refused = [&](const base::Error& error) { told.push_back(error.message); };
    const auto wait = [&](base::Duration duration) {
        base::SimulatedTime::set(base::now() + duration);
        loop->turn(false);
    };
    questions.ask(questions.new_ticket(), question);
    problem = base::make_error(base::ErrorKind::no_controller, "its port ends connections");
    wait(Questions::kControllerWait - std::chrono::milliseconds(1));
    EXPECT_TRUE(told.empty());
    problem->message = "nothing listens there";
    wait(std::chrono::milliseconds(1));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.back(), "nothing listens there");

    questions.ask(questions.new_ticket(), question);
    problem.reset();
    wait(Questions::kControllerWait);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told.back().find("the controller does not answer"), 0U) << told.back();
}

}  // namespace
}  // namespace pace::daemon
