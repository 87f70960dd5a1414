#include "bench/gpu/exchange/options.h"

#include <cstdio>
#include <cstdlib>

namespace pace::gpu_bench {

void stop(const std::string& why, int status) {
    std::fprintf(stderr, "gpu_exchange: %s\n", why.c_str());
    std::exit(status);
}

Options parse(int argc, char** argv) {
    Options options;
    if (argc < 2) stop("say copies or sum", 2);
    options.what = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--host" || name == "--busy") {
            (name == "--host" ? options.on_host : options.busy) = true;
            continue;
        }
        if (i + 1 == argc) stop(name + " needs a value", 2);
        const std::string value = argv[++i];
        if (name == "--endpoint")
            options.endpoints.push_back(value);
        else if (name == "--workers")
            options.workers = static_cast<uint32_t>(std::stoul(value));
        else if (name == "--bytes")
            options.bytes = std::stoull(value);
        else if (name == "--gpus")
            options.gpus = static_cast<uint32_t>(std::stoul(value));
        else if (name == "--exchanges")
            options.exchanges = std::stoi(value);
        else if (name == "--warm-up")
            options.warm_seconds = std::stod(value);
        else if (name == "--density")
            options.density = std::stod(value);
        else
            stop("unknown flag " + name, 2);
    }
    if (options.workers == 0 || options.gpus == 0 || options.exchanges <= 0)
        stop("--workers, --gpus and --exchanges are above 0", 2);
    if (options.what == "sum" && options.endpoints.empty()) stop("sum needs --endpoint", 2);
    return options;
}

}  // namespace pace::gpu_bench
