#include "bench/gpu/exchange/sums.h"

#include <optional>
#include <string>

#include "bench/gpu/exchange/background.h"
#include "bench/gpu/exchange/crew.h"
#include "bench/gpu/exchange/worker.h"

namespace pace::gpu_bench {

namespace {

// The least number of exchanges that are not counted.
constexpr int kWarmUp = 10;

std::string text_of(const Options& options) {
    std::string place = "host";
    if (!options.on_host)
        place = options.gpus == 1 ? "GPU" : std::to_string(options.gpus) + " GPUs";
    return std::to_string(options.workers) + " workers, " +
           std::to_string(options.endpoints.size()) + " nodes, " + place +
           (options.density > 0 ? ", top-k" : "") + (options.busy ? ", busy" : "");
}

void work(const Options& options, uint32_t rank, Crew& crew) {
    need_gpus(options.gpus);
    Worker worker(options, rank);
    std::optional<Background> background;
    if (options.busy) background.emplace(static_cast<int>(rank % options.gpus));
    for (;;) {
        worker.prepare();
        if (!crew.next()) return;
        const auto start = Clock::now();
        worker.exchange();
        crew.took(rank, seconds_since(start));
    }
}

}  // namespace

void measure_sums(const Options& options) {
    Crew crew(options.workers, options.exchanges, kWarmUp,
              options.gpus > 1 ? options.warm_seconds : 0);
    crew.run([&](uint32_t rank) { work(options, rank, crew); });
    // Each worker's buffer is read and written.
    print(text_of(options), crew.slowest(),
          2.0 * options.workers * static_cast<double>(options.bytes));
}

}  // namespace pace::gpu_bench
