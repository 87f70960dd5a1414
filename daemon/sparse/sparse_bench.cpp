// sparse_bench: compares SparDL with its rivals and the dense all-reduce, between processes over
// UCX, in one run.
//
//     sparse_bench NODES [ELEMENTS [DENSITY [NETNS_PREFIX DEVICE]]]
//
// There is one process per node, forked here. With NETNS_PREFIX, node i first moves into the
// network namespace PREFIXi and uses DEVICE. Otherwise all nodes meet on loopback. A time is the
// longest among the nodes, from a common barrier on, with the selection and the writing of the
// result. The median of several times is printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/bench/bench_fixture.h"
#include "daemon/collectives/messages/barrier.h"
#include "daemon/sparse/exchange/link_probe.h"
#include "daemon/sparse/sparse_all_reduce.h"

namespace {

using namespace pace;

struct BenchSettings {
    collectives::BenchCluster cluster{6, "", "lo"};
    size_t elements = 14728266;  // VGG-16
    double density = 0.01;
};

struct Contender {
    const char* name;
    bool dense;
    sparse::Algorithm algorithm;
    size_t teams;
    sparse::WireFormat format;
};

constexpr sparse::WireFormat kPaper{sparse::IndexFormat::plain, sparse::ValueFormat::f32};
constexpr sparse::WireFormat kIndices{sparse::IndexFormat::elias_fano, sparse::ValueFormat::f32};
constexpr sparse::WireFormat kHalves{sparse::IndexFormat::elias_fano, sparse::ValueFormat::f16};
constexpr int kRounds = 5;

constexpr Contender kContenders[] = {
    {"dense all-reduce", true, sparse::Algorithm::dense, 1, kPaper},
    {"dense with a residual", false, sparse::Algorithm::dense, 1, kPaper},
    {"topka", false, sparse::Algorithm::topk_a, 1, kPaper},
    {"topkdsa", false, sparse::Algorithm::topk_dsa, 1, kPaper},
    {"gtopk", false, sparse::Algorithm::g_topk, 1, kPaper},
    {"oktopk", false, sparse::Algorithm::ok_topk, 1, kPaper},
    {"spardl, the paper's format", false, sparse::Algorithm::spar_dl, 1, kPaper},
    {"spardl, 2 teams, the same", false, sparse::Algorithm::spar_dl, 2, kPaper},
    {"spardl, Elias-Fano and f32", false, sparse::Algorithm::spar_dl, 1, kIndices},
    {"spardl, Elias-Fano and f16", false, sparse::Algorithm::spar_dl, 1, kHalves},
    {"spardl, 2 teams, the same", false, sparse::Algorithm::spar_dl, 2, kHalves},
};

struct Sample {
    double seconds = 0;
    uint64_t bytes_sent = 0;
    uint64_t messages_sent = 0;
};

class SparseBench {
  public:
    SparseBench(const BenchSettings& settings, size_t self, int fd)
        : settings_(settings),
          node_(settings.cluster, self, fd),
          pool_(0),
          gradient_(settings.elements),
          is_first_(self == 0) {
        base::Random random(self);
        for (float& value : gradient_) {
            const double u = random.uniform() + random.uniform() + random.uniform() - 1.5;
            value = static_cast<float>(1e-3 * u * u * u);
        }
    }

    void run() {
        measure_link();
        for (const Contender& contender : kContenders) measure(contender);
    }

  private:
    // Measures three times what the cost model would be told here.
    void measure_link() {
        const auto probe = [](collectives::Communicator& communicator,
                              bool is_first) -> base::Task<base::Result<>> {
            base::Result<sparse::Link> link = co_await sparse::measure_links(communicator);
            if (!link) co_return std::move(link).error();
            if (is_first)
                std::printf("link: %.1f us a message, %.3f ns a byte\n", link->alpha_s * 1e6,
                            link->beta_s_per_byte * 1e9);
            co_return base::Result<>();
        };
        for (int round = 0; round < 3; ++round) {
            collectives::Communicator communicator(node_.transport(), node_.next_group());
            const base::TimePoint begin = base::now();
            node_.await(probe(communicator, is_first_));
            if (is_first_)
                std::printf("measured in %.2f ms\n", base::to_seconds(base::now() - begin) * 1e3);
            std::fflush(stdout);
        }
    }

    void measure(const Contender& contender) {
        const auto* bytes = reinterpret_cast<const std::byte*>(gradient_.data());
        const collectives::LocalPart part(
            collectives::Layout({{protocol::DType::f32, gradient_.size()}}), {{{bytes}, 1.0}});
        std::vector<std::byte> result(part.layout().bytes());
        sparse::SparseState state(gradient_.size());
        sparse::Options options;
        options.algorithm = contender.algorithm;
        options.teams = contender.teams;
        options.density = settings_.density;
        options.format = contender.format;
        for (int round = 0; round <= kRounds; ++round) {
            collectives::Communicator communicator(node_.transport(), node_.next_group());
            node_.await(collectives::barrier(communicator));
            const auto before = communicator.counters();
            const auto begin = base::now();
            if (contender.dense)
                node_.await(collectives::all_reduce(communicator, part, 0.25, result, {}));
            else
                node_.await(
                    sparse_all_reduce(communicator, part, 0.25, result, state, options, pool_));
            Sample sample{base::to_seconds(base::now() - begin), 0, 0};
            state.commit();
            sample.bytes_sent = communicator.counters().bytes_sent - before.bytes_sent;
            sample.messages_sent = communicator.counters().messages_sent - before.messages_sent;
            if (round > 0) node_.tell(sample);  // the first round warms up
        }
    }

    BenchSettings settings_;
    collectives::BenchNode node_;
    kernels::WorkerPool pool_;
    std::vector<float> gradient_;
    bool is_first_;
};

void report(const std::vector<int>& fds) {
    for (const Contender& contender : kContenders) {
        std::vector<double> times;
        uint64_t bytes = 0;
        uint64_t messages = 0;
        for (int round = 0; round < kRounds; ++round) {
            double slowest = 0;
            for (const int fd : fds) {
                Sample sample;
                collectives::read_all(fd, &sample, sizeof(sample));
                slowest = std::max(slowest, sample.seconds);
                bytes = std::max(bytes, sample.bytes_sent);
                messages = std::max(messages, sample.messages_sent);
            }
            times.push_back(slowest);
        }
        std::sort(times.begin(), times.end());
        std::printf("%-28s %8.2f ms, at most %6.2f MB in %3llu messages sent by a node\n",
                    contender.name, times[times.size() / 2] * 1e3,
                    static_cast<double>(bytes) * 1e-6, static_cast<unsigned long long>(messages));
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    BenchSettings settings;
    if (argc > 1) settings.cluster.nodes = std::strtoul(argv[1], nullptr, 10);
    if (argc > 2) settings.elements = std::strtoul(argv[2], nullptr, 10);
    if (argc > 3) settings.density = std::strtod(argv[3], nullptr);
    if (argc > 5) {
        settings.cluster.netns_prefix = argv[4];
        settings.cluster.device = argv[5];
    }
    report(collectives::start_bench(settings.cluster, [&settings](size_t self, int fd) {
        SparseBench(settings, self, fd).run();
    }));
    collectives::finish_bench();
}
