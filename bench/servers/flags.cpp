#include "flags.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

namespace pace::bench {

namespace {

[[noreturn]] void usage(const std::string& about) {
    std::fprintf(stderr,
                 "server_convergence: %s\n"
                 "usage: server_convergence --data FILE [--loss logistic|hinge] [--l2 L]\n"
                 "  [--method bsp|asp|ssp] [--staleness S] [--rate sum|constant|dynamic]\n"
                 "  [--workers N] [--slow N] [--slow-factor F] [--learning-rate R] [--decays 1]\n"
                 "  [--until TIME] [--target OBJECTIVE] [--pull-time T] [--seed N]\n"
                 "  [--endpoints A,B,...] [--step-ms MS]   real daemons in place of virtual time\n",
                 about.c_str());
    std::exit(2);
}

template <typename Choice>
Choice choose(const std::string& word, const std::map<std::string, Choice>& choices) {
    const auto found = choices.find(word);
    if (found == choices.end()) usage("\"" + word + "\" is no choice here");
    return found->second;
}

double number_of(const std::string& word) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0') usage("\"" + word + "\" is no number");
    return number;
}

std::vector<std::string> words_of(const std::string& list) {
    std::vector<std::string> words(1);
    for (const char letter : list) {
        if (letter == ',') {
            words.emplace_back();
        } else {
            words.back() += letter;
        }
    }
    return words;
}

// What the flags say, before it is known whether it makes sense.
struct Given {
    Flags flags;
    std::string method = "ssp";
    uint64_t staleness = 3;
};

using Setter = std::function<void(const std::string& word)>;

template <typename Target>
Setter set(Target& target) {
    return [&target](const std::string& word) { target = static_cast<Target>(number_of(word)); };
}

// The setters keep references to `given`.
std::map<std::string, Setter> setters_of(Given& given) {
    Flags& flags = given.flags;
    SimulationOptions& run = flags.run;
    return {
        {"--data", [&](const std::string& word) { flags.data = word; }},
        {"--loss",
         [&](const std::string& word) {
             run.learner.loss =
                 choose<Loss>(word, {{"logistic", Loss::logistic}, {"hinge", Loss::hinge}});
         }},
        {"--method", [&](const std::string& word) { given.method = word; }},
        {"--rate",
         [&](const std::string& word) {
             using controller::Rate;
             run.server.rate = choose<Rate>(
                 word,
                 {{"sum", Rate::sum}, {"constant", Rate::constant}, {"dynamic", Rate::dynamic}});
         }},
        {"--endpoints",
         [&](const std::string& word) {
             flags.real = true;
             flags.real_run.endpoints = words_of(word);
         }},
        {"--staleness", set(given.staleness)},
        {"--l2", set(run.learner.l2)},
        {"--workers", set(run.workers)},
        {"--slow", set(run.slow)},
        {"--slow-factor", set(run.slow_factor)},
        {"--learning-rate", set(run.learning_rate)},
        {"--decays", set(run.decays)},
        {"--until", set(run.until)},
        {"--target", set(run.target)},
        {"--pull-time", set(run.pull_time)},
        {"--seed", set(run.seed)},
        {"--step-ms", set(flags.real_run.step_ms)},
    };
}

}  // namespace

Flags parse_flags(int argc, char** argv) {
    Given given;
    const std::map<std::string, Setter> known = setters_of(given);
    for (int i = 1; i < argc; i += 2) {
        const auto flag = known.find(argv[i]);
        if (flag == known.end() || i + 1 == argc) usage(std::string("what is ") + argv[i] + "?");
        flag->second(argv[i + 1]);
    }
    auto& [flags, method, staleness] = given;
    SimulationOptions& run = flags.run;
    if (flags.data.empty()) usage("--data is missing");
    if (run.slow > run.workers || run.workers == 0) usage("--workers are fewer than --slow");
    if (method == "bsp") run.server.staleness = 0;
    if (method == "ssp") run.server.staleness = staleness;
    if (method != "bsp" && method != "ssp" && method != "asp") usage("--method is " + method);
    run.server.constant = 1 / static_cast<double>(run.workers);
    return std::move(flags);
}

}  // namespace pace::bench
