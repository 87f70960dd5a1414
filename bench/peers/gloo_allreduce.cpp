// gloo_allreduce.cpp: Gloo's all-reduce of float32 over its TCP transport.
//
// --algorithm ring             gloo::allreduce with Algorithm::RING, what PyTorch calls
//             ring-chunked     the older AllreduceRingChunked
//             halving-doubling AllreduceHalvingDoubling
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "bench/common/check.h"
#include "bench/common/measure.h"

namespace {

namespace bench = pace::bench;

std::shared_ptr<gloo::rendezvous::Context> connect(const bench::Options& options) {
    gloo::transport::tcp::attr attributes;
    attributes.iface = options.interface;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(options.store);
    auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(options.rank),
                                                               static_cast<int>(options.world));
    context->setTimeout(std::chrono::seconds(60));
    context->connectFullMesh(store, device);
    return context;
}

std::function<void()> exchange_of(const std::string& algorithm,
                                  const std::shared_ptr<gloo::rendezvous::Context>& context,
                                  std::span<float> buffer) {
    const std::vector<float*> pointers{buffer.data()};
    const int count = static_cast<int>(buffer.size());
    if (algorithm == "ring-chunked") {
        auto ring = std::make_shared<gloo::AllreduceRingChunked<float>>(context, pointers, count);
        return [ring] { ring->run(); };
    }
    if (algorithm == "halving-doubling") {
        auto halving =
            std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, pointers, count);
        return [halving] { halving->run(); };
    }
    auto call = std::make_shared<gloo::AllreduceOptions>(context);
    call->setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    call->setOutput(buffer.data(), buffer.size());
    call->setReduceFunction(
        [](void* sum, const void* a, const void* b, size_t n) { gloo::sum<float>(sum, a, b, n); });
    return [call] { gloo::allreduce(*call); };
}

int run(const bench::Options& options) {
    bench::Scoreboard board(options.board, options.world, options.rank);
    const auto context = connect(options);
    auto* data =
        static_cast<float*>(std::aligned_alloc(4096, (options.bytes + 4095) / 4096 * 4096));
    if (data == nullptr) throw std::bad_alloc();
    bench::Subject subject;
    subject.buffer = std::span(data, options.bytes / sizeof(float));
    subject.expected = bench::expected_sum(options);
    subject.exchange = exchange_of(options.algorithm, context, subject.buffer);
    subject.progress = [] {};  // Gloo's own thread moves its bytes
    subject.version = "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." +
                      std::to_string(GLOO_VERSION_MINOR) + "." + std::to_string(GLOO_VERSION_PATCH);
    bench::measure(options, board, subject);
    // Destroyed before its buffers and connections.
    subject.exchange = nullptr;
    std::free(data);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    try {
        return run(options);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "rank %u: %s\n", options.rank, failure.what());
        return 1;
    }
}
