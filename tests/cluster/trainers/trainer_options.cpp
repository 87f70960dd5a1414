#include "tests/cluster/trainers/trainer_options.h"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace pace::cluster {

namespace {

template <typename Value>
using Flags = std::map<std::string, Value TrainerOptions::*>;

const Flags<std::string> kWords = {
    {"--endpoint", &TrainerOptions::endpoint},
    {"--job", &TrainerOptions::job},
    {"--mode", &TrainerOptions::mode},
    {"--policy", &TrainerOptions::policy},
    {"--weights", &TrainerOptions::weights},
    {"--missing", &TrainerOptions::missing},
    {"--quorum", &TrainerOptions::quorum},
    {"--late", &TrainerOptions::late},
    {"--compression", &TrainerOptions::compression},
    {"--hierarchy", &TrainerOptions::hierarchy},
    {"--order", &TrainerOptions::order},
};
const Flags<uint32_t> kNumbers = {
    {"--rank", &TrainerOptions::rank},
    {"--world", &TrainerOptions::world},
    {"--group-size", &TrainerOptions::group_size},
    {"--teams", &TrainerOptions::teams},
    {"--checkpoint-every-ms", &TrainerOptions::checkpoint_every_ms},
    {"--tensors", &TrainerOptions::tensors},
    {"--step-us", &TrainerOptions::step_us},
    {"--connect-ms", &TrainerOptions::connect_ms},
};
const Flags<uint64_t> kLongNumbers = {
    {"--steps", &TrainerOptions::steps},
    {"--elements", &TrainerOptions::elements},
};
const Flags<double> kFractions = {
    {"--density", &TrainerOptions::density},
};
const Flags<bool> kChoices = {
    {"--save", &TrainerOptions::save},
    {"--retry", &TrainerOptions::retry},
    {"--keep-local", &TrainerOptions::keep_local},
    {"--announce", &TrainerOptions::announce},
    {"--on-gpu", &TrainerOptions::on_gpu},
    {"--on-own-gpu", &TrainerOptions::on_own_gpu},
    {"--hold", &TrainerOptions::hold},
};

// False: the flag is none of these.
template <typename Value>
bool set(TrainerOptions& options, const Flags<Value>& flags, const std::string& name,
         const Value& value) {
    const auto flag = flags.find(name);
    if (flag == flags.end()) return false;
    options.*flag->second = value;
    return true;
}

}  // namespace

TrainerOptions parse_trainer_options(int argc, char** argv) {
    TrainerOptions options;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        const auto number = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
        const bool known = set(options, kWords, name, value) ||
                           set(options, kNumbers, name, number) ||
                           set(options, kLongNumbers, name, uint64_t{number}) ||
                           set(options, kFractions, name, std::strtod(value.c_str(), nullptr)) ||
                           set(options, kChoices, name, number != 0);
        if (known) continue;
        std::fprintf(stderr, "trainer: unknown flag %s\n", name.c_str());
        std::exit(2);
    }
    return options;
}

}  // namespace pace::cluster
