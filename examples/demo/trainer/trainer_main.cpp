// demo-trainer: one worker. It prints its result as one JSON line.
#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trainer.h"

int main(int argc, char** argv) {
    int exit_code = 0;
    const auto options = demo::parse_options(argc, argv, &exit_code);
    if (!options) return exit_code;
    try {
        const demo::Result result = demo::Trainer(*options).run();
        const nlohmann::json line = {{"rank", options->rank},       {"steps", result.steps},
                                     {"seconds", result.seconds},   {"distance", result.distance},
                                     {"checksum", result.checksum}, {"accuracy", result.accuracy}};
        fmt::print("{}\n", line.dump());
    } catch (const std::exception& error) {
        fmt::print(stderr, "worker {}: {}\n", options->rank, error.what());
        return 1;
    }
    return 0;
}
