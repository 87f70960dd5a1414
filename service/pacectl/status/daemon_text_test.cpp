#include "service/pacectl/status/daemon_text.h"

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

bool shows(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// In the format of daemon/telemetry/document.cpp.
Json daemon_example() {
    return Json::parse(R"({
      "name": "a", "version": "0.1.0", "pid": 7, "gpus": {
        "devices": [{"id": "GPU-1", "name": "H100", "bytes": 1024, "open": false}],
        "between_nodes": "by NCCL, else", "nccl": "2.21.5"}
    })");
}

TEST(DaemonText, TellsHowGpusOfSeveralNodesExchange) {
    Json daemon = daemon_example();
    const std::string shown = daemon_text(daemon);
    EXPECT_TRUE(shows(shown, "GPU-1")) << shown;
    EXPECT_TRUE(shows(shown, "between nodes: by NCCL, else\n")) << shown;
    EXPECT_TRUE(shows(shown, "\nNCCL 2.21.5\n")) << shown;
    daemon["gpus"].erase("nccl");
    daemon["gpus"]["nccl_absent"] = "the setting `nccl` is off";
    EXPECT_TRUE(shows(daemon_text(daemon), "\nno NCCL is used: the setting `nccl` is off\n"));
}

TEST(DaemonText, SaysNothingOfNcclWithoutAGpu) {
    Json daemon = daemon_example();
    daemon["gpus"] = {{"devices", Json::array()}, {"absent", "no driver"}};
    EXPECT_FALSE(shows(daemon_text(daemon), "NCCL"));
}

TEST(DaemonText, TellsWhyTheDaemonIsNotAttached) {
    Json daemon = daemon_example();
    EXPECT_FALSE(shows(daemon_text(daemon), "not attached"));
    daemon["controller_problem"] = nullptr;
    EXPECT_FALSE(shows(daemon_text(daemon), "not attached"));
    daemon["controller_problem"] = "it asks for keys";
    EXPECT_TRUE(shows(daemon_text(daemon), "\nnot attached: it asks for keys\n"));
}

TEST(DaemonText, TellsWhatCallsWaitFor) {
    Json daemon = daemon_example();
    EXPECT_EQ(waits_text(daemon), "");
    daemon["waits"] = Json::parse(R"([
      {"job": "fashion", "rank": 3, "call": "reduce", "waited_s": 12.5, "for": "worker 1 on node b"},
      {"job": "other", "rank": 0, "call": "barrier", "waited_s": 99, "for": "worker 7"}])");
    for (const char* part : {"waiting on a:", "fashion", "reduce", "12.5 s", "worker 1 on node b"})
        EXPECT_TRUE(shows(daemon_text(daemon), part)) << part << daemon_text(daemon);
    EXPECT_TRUE(shows(waits_text(daemon, "fashion"), "worker 1"));
    EXPECT_FALSE(shows(waits_text(daemon, "fashion"), "worker 7"));
}

}  // namespace
}  // namespace pace::pacectl
