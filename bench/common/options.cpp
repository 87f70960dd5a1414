#include "bench/common/options.h"

#include <getopt.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace pace::bench {

namespace {

constexpr std::array<option, 17> kOptions = {{
    {"board", required_argument, nullptr, 'b'},
    {"out", required_argument, nullptr, 'o'},
    {"algorithm", required_argument, nullptr, 'a'},
    {"interface", required_argument, nullptr, 'i'},
    {"store", required_argument, nullptr, 's'},
    {"endpoint", required_argument, nullptr, 'e'},
    {"job", required_argument, nullptr, 'j'},
    {"rank", required_argument, nullptr, 'r'},
    {"world", required_argument, nullptr, 'w'},
    {"bytes", required_argument, nullptr, 'n'},
    {"seconds", required_argument, nullptr, 't'},
    {"iterations-min", required_argument, nullptr, 'm'},
    {"yield", no_argument, nullptr, 'y'},
    {"skew-ms", required_argument, nullptr, 'k'},
    {"iterations", required_argument, nullptr, 'c'},
    {"density", required_argument, nullptr, 'd'},
    {nullptr, 0, nullptr, 0},
}};

[[noreturn]] void usage(const char* program) {
    std::fprintf(stderr, "usage: %s --board FILE --out FILE --world N --rank R --bytes N ...\n",
                 program);
    std::fprintf(stderr, "It is started by bench/run; see bench/common/options.h.\n");
    std::exit(2);
}

uint32_t to_u32(const char* text) {
    return static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table of options
Options parse_options(int argc, char** argv) {
    Options options;
    for (;;) {
        const int found = getopt_long(argc, argv, "", kOptions.data(), nullptr);
        if (found == -1) break;
        switch (found) {
            case 'b':
                options.board = optarg;
                break;
            case 'o':
                options.out = optarg;
                break;
            case 'a':
                options.algorithm = optarg;
                break;
            case 'i':
                options.interface = optarg;
                break;
            case 's':
                options.store = optarg;
                break;
            case 'e':
                options.endpoint = optarg;
                break;
            case 'j':
                options.job = optarg;
                break;
            case 'r':
                options.rank = to_u32(optarg);
                break;
            case 'w':
                options.world = to_u32(optarg);
                break;
            case 'n':
                options.bytes = std::strtoull(optarg, nullptr, 10);
                break;
            case 't':
                options.seconds = std::strtod(optarg, nullptr);
                break;
            case 'm':
                options.iterations_min = to_u32(optarg);
                break;
            case 'y':
                options.yield = true;
                break;
            case 'k':
                options.skew_ms = std::strtod(optarg, nullptr);
                break;
            case 'c':
                options.iterations = to_u32(optarg);
                break;
            case 'd':
                options.density = std::strtod(optarg, nullptr);
                break;
            default:
                usage(argv[0]);
        }
    }
    const bool complete = optind == argc && !options.board.empty() && !options.out.empty();
    const bool skewed = options.skew_ms > 0 && options.iterations > 0;
    if (!complete || options.bytes % sizeof(float) != 0) usage(argv[0]);
    if (options.skew_ms != 0 && !skewed) usage(argv[0]);
    return options;
}

}  // namespace pace::bench
