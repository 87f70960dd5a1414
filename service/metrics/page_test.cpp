#include "service/metrics/page.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/loop/event_loop.h"
#include "service/metrics/test_documents.h"

namespace pace::metrics {
namespace {

class MetricsPage : public testing::Test {
  protected:
    MetricsPage() {
        auto made = base::EventLoop::create();
        if (made) loop_ = std::move(*made);
    }
    // Runs the loop until the answer has come.
    http::Response ask(Page& page, std::string accept) {
        http::Request request;
        request.accept = std::move(accept);
        std::optional<http::Response> answer;
        page.answer(request, [&](http::Response response) { answer = std::move(response); });
        while (!answer) loop_->turn(true);
        return *answer;
    }

    std::unique_ptr<base::EventLoop> loop_;
};

TEST_F(MetricsPage, AnswersInTheFormatThatIsAskedFor) {
    Page page(*loop_, {.status = [] { return std::string(R"({"version": "1"})"); },
                       .daemon = [] { return std::string(R"({"name": "a"})"); },
                       .of_process = {}});
    const http::Response plain = ask(page, "text/plain");
    EXPECT_EQ(plain.type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_NE(plain.body.find("pace_controller_info{version=\"1\""), std::string::npos);
    EXPECT_NE(plain.body.find("pace_daemon_info{node=\"a\""), std::string::npos);
    const http::Response open = ask(page, "application/openmetrics-text");
    EXPECT_EQ(open.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    EXPECT_TRUE(open.body.ends_with("# EOF\n"));
}

// A document that is not JSON loses only its own series.
TEST_F(MetricsPage, AnswersWithoutADocument) {
    Page page(*loop_,
              {.status = [] { return std::string("no JSON"); }, .daemon = {}, .of_process = {}});
    const std::string text = ask(page, "").body;
    for (const char* family : {"process_cpu_seconds_total ", "process_resident_memory_bytes ",
                               "process_open_fds ", "process_start_time_seconds "})
        EXPECT_NE(text.find(family), std::string::npos) << family << text;
}

// Clients that ask while the text is made get the same text. Afterwards the text is good for a
// while.
TEST_F(MetricsPage, IsMadeOnceForAllWhoAsk) {
    int made = 0;
    const std::string large = status_of(500).dump();
    Page page(*loop_, {.status =
                           [&] {
                               ++made;
                               return large;
                           },
                       .daemon = {},
                       .of_process = {}});
    int answers = 0;
    for (int i = 0; i < 10; ++i) page.answer({}, [&](const http::Response&) { ++answers; });
    while (answers < 10) loop_->turn(true);
    ask(page, "");
    EXPECT_EQ(made, 1);
}

// The text for a thousand workers takes longer than a heartbeat may wait.
TEST_F(MetricsPage, DoesNotHoldUpTheLoop) {
    const std::string large = status_of(1000).dump();
    Page page(*loop_, {.status = [&] { return large; }, .daemon = {}, .of_process = {}});
    const base::TimePoint began = base::now();
    EXPECT_GT(ask(page, "").body.size(), 500'000U);
    // A sanitizer makes all of it slower, and so does a busy machine.
    const base::Duration most =
        std::max<base::Duration>(std::chrono::milliseconds(20), (base::now() - began) / 10);
    EXPECT_LT(loop_->watch_of_steps().longest().took, most);
}

// The text is made for a client that has gone.
TEST_F(MetricsPage, EndsWhileItIsMade) {
    int answers = 0;
    {
        Page page(*loop_,
                  {.status = [] { return status_of(500).dump(); }, .daemon = {}, .of_process = {}});
        page.answer({}, [&](const http::Response&) { ++answers; });
    }
    loop_->turn(false);
    EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace pace::metrics
