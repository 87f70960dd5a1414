// gpu_exchange: measures exchanges of buffers on a GPU. The workers are processes. The daemons run
// already.
//
//   gpu_exchange copies --bytes N
//   gpu_exchange sum --endpoint E [--endpoint E]... --workers N --bytes N
//                    [--host] [--busy] [--gpus N] [--exchanges N] [--density D]
//                    [--warm-up SECONDS]
#include "bench/gpu/exchange/copies.h"
#include "bench/gpu/exchange/options.h"
#include "bench/gpu/exchange/sums.h"

using namespace pace::gpu_bench;

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    if (options.what == "copies")
        measure_copies(options);
    else if (options.what == "sum")
        measure_sums(options);
    else
        stop("say copies or sum", 2);
    return 0;
}
