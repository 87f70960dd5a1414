#include "service/pacectl/daemon_text.h"

#include <gtest/gtest.h>

namespace pace::pacectl {
namespace {

bool shows(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// As daemon/telemetry/document.cpp writes it.
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

}  // namespace
}  // namespace pace::pacectl
