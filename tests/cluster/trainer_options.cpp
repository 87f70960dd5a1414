#include "trainer_options.h"

#include <cstdio>
#include <cstdlib>

namespace pace::cluster {

TrainerOptions parse_trainer_options(int argc, char** argv) {
    TrainerOptions options;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        const auto number = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
        if (name == "--endpoint")
            options.endpoint = value;
        else if (name == "--job")
            options.job = value;
        else if (name == "--mode")
            options.mode = value;
        else if (name == "--policy")
            options.policy = value;
        else if (name == "--rank")
            options.rank = number;
        else if (name == "--world")
            options.world = number;
        else if (name == "--group-size")
            options.group_size = number;
        else if (name == "--weights")
            options.weights = value;
        else if (name == "--missing")
            options.missing = value;
        else if (name == "--quorum")
            options.quorum = value;
        else if (name == "--late")
            options.late = value;
        else if (name == "--compression")
            options.compression = value;
        else if (name == "--hierarchy")
            options.hierarchy = value;
        else if (name == "--teams")
            options.teams = number;
        else if (name == "--density")
            options.density = std::strtod(value.c_str(), nullptr);
        else if (name == "--save")
            options.save = number != 0;
        else if (name == "--steps")
            options.steps = number;
        else if (name == "--checkpoint-every-ms")
            options.checkpoint_every_ms = static_cast<uint32_t>(number);
        else if (name == "--elements")
            options.elements = number;
        else if (name == "--tensors")
            options.tensors = number;
        else if (name == "--step-us")
            options.step_us = number;
        else if (name == "--connect-ms")
            options.connect_ms = number;
        else if (name == "--retry")
            options.retry = number != 0;
        else if (name == "--order")
            options.order = value;
        else if (name == "--keep-local")
            options.keep_local = number != 0;
        else if (name == "--announce")
            options.announce = number != 0;
        else if (name == "--on-gpu")
            options.on_gpu = number != 0;
        else if (name == "--on-own-gpu")
            options.on_own_gpu = number != 0;
        else if (name == "--hold")
            options.hold = number != 0;
        else {
            std::fprintf(stderr, "trainer: unknown flag %s\n", name.c_str());
            std::exit(2);
        }
    }
    return options;
}

}  // namespace pace::cluster
