// server_convergence: one training with a parameter server, in virtual time or with real daemons.
// It prints one JSON object. bench/servers/run starts it.
#include <cstdio>

#include "flags.h"

namespace {

void print(const pace::bench::Outcome& outcome) {
    std::printf("{\"samples\": [");
    const char* separator = "";
    for (const auto& sample : outcome.samples) {
        std::printf("%s[%.4f, %llu, %.6f]", separator, sample.time,
                    static_cast<unsigned long long>(sample.updates), sample.objective);
        separator = ", ";
    }
    std::printf("], \"time\": %.4f, \"updates\": %llu, \"accuracy\": %.4f, \"versions_max\": %zu, ",
                outcome.reached.time, static_cast<unsigned long long>(outcome.reached.updates),
                outcome.accuracy, outcome.versions_max);
    std::printf("\"model_bytes\": %zu, \"versions_bytes_max\": %zu}\n", outcome.model_bytes,
                outcome.versions_bytes_max);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace pace::bench;
    const Flags flags = parse_flags(argc, argv);
    const auto data = DataSet::read(flags.data);
    if (!data) {
        std::fprintf(stderr, "%s\n", data.error().message.c_str());
        return 1;
    }
    if (!flags.real) {
        print(simulate(*data, flags.run));
        return 0;
    }
    const auto outcome = train(*data, flags.run, flags.real_run);
    if (!outcome) {
        std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
        return 1;
    }
    print(*outcome);
    return 0;
}
