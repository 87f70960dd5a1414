// collectives_bench: measures all-reduce and broadcast between processes over UCX, and prints the
// bound set by the links beside the times.
//
//     collectives_bench NODES MBIT
//         [CHUNK_BYTES_MAX CHUNKS_PER_BLOCK WINDOW SENDS_MAX [NETNS_PREFIX DEVICE [ZONES]]]
//
// Forks one process per node. With a non-empty NETNS_PREFIX, node i first moves into network
// namespace PREFIXi and uses DEVICE. Otherwise all nodes meet on loopback. With ZONES, node i is in
// zone i modulo ZONES, so that all-reduces use relays. MBIT is the links' goodput, for the bound
// 2(N-1)/N · S. With 0 no bound is printed. Each time is counted from a common barrier to the
// slowest node's end. The median of several times is printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/bench/bench_fixture.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/collectives/messages/barrier.h"
#include "daemon/collectives/messages/broadcast.h"

namespace {

using namespace pace;
using namespace pace::collectives;

struct Settings {
    BenchCluster cluster;
    double mbit = 0;
    AllReduceOptions all_reduce;
};

struct Case {
    size_t bytes;
    int rounds;
};
constexpr Case kCases[] = {{4096, 60},    {65536, 60},   {1 << 20, 30},
                           {16 << 20, 8}, {64 << 20, 5}, {100 << 20, 5}};

void measure(BenchNode& node, const Settings& settings, const Case& test, bool reduce) {
    std::vector<std::byte> own(test.bytes);
    std::vector<std::byte> result(test.bytes);
    const LocalPart part(Layout({{protocol::DType::f32, test.bytes / 4}}), {{{own.data()}, 1.0}});
    for (int round = 0; round <= test.rounds; ++round) {
        Communicator communicator(node.transport(), node.next_group());
        node.await(barrier(communicator));
        const auto begin = base::now();
        if (reduce)
            node.await(all_reduce(communicator, part, 0.25, result, settings.all_reduce));
        else
            node.await(broadcast(communicator, 0, result, BroadcastOptions()));
        const double seconds = base::to_seconds(base::now() - begin);
        if (round > 0) node.tell(seconds);  // the first round warms up
    }
}

void run_node(const Settings& settings, size_t self, int fd) {
    BenchNode node(settings.cluster, self, fd);
    for (const Case& test : kCases) {
        measure(node, settings, test, true);
        measure(node, settings, test, false);
    }
}

double median_of_slowest(const std::vector<int>& fds, int rounds) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        double slowest = 0;
        for (const int fd : fds) {
            double seconds = 0;
            read_all(fd, &seconds, sizeof(seconds));
            slowest = std::max(slowest, seconds);
        }
        times.push_back(slowest);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void print(const char* what, double seconds, double bound) {
    std::printf(" | %s %9.3f ms", what, seconds * 1e3);
    if (bound > 0) std::printf(" (%3.0f %% of the bound)", 100 * bound / seconds);
}

void report(const Settings& settings, const std::vector<int>& fds) {
    const auto nodes = static_cast<double>(settings.cluster.nodes);
    for (const Case& test : kCases) {
        const double wire =
            settings.mbit > 0 ? static_cast<double>(test.bytes) * 8 / settings.mbit / 1e6 : 0;
        std::printf("%8zu KB", test.bytes >> 10U);
        print("all-reduce", median_of_slowest(fds, test.rounds), wire * 2 * (nodes - 1) / nodes);
        print("broadcast", median_of_slowest(fds, test.rounds), wire);
        std::printf("\n");
        std::fflush(stdout);
    }
}

size_t number(const char* text) {
    return std::strtoul(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    if (argc > 1) settings.cluster.nodes = number(argv[1]);
    if (argc > 2) settings.mbit = static_cast<double>(number(argv[2]));
    if (argc > 6) {
        settings.all_reduce.chunk_bytes_max = number(argv[3]);
        settings.all_reduce.chunks_per_block = number(argv[4]);
        settings.all_reduce.window = number(argv[5]);
        settings.all_reduce.sends_max = number(argv[6]);
    }
    if (argc > 8) {
        settings.cluster.netns_prefix = argv[7];
        settings.cluster.device = argv[8];
    }
    if (argc > 9) settings.cluster.zones = number(argv[9]);
    report(settings, start_bench(settings.cluster, [&settings](size_t self, int fd) {
               run_node(settings, self, fd);
           }));
    finish_bench();
}
