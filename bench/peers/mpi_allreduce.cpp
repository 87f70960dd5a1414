// mpi_allreduce.cpp: MPI_Allreduce of float32 in place; built once for Open MPI and once for MPICH.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "bench/common/measure.h"

#ifdef PACE_BENCH_MPICH_YIELD
#include "bench/peers/mpich_yield.h"
#endif

namespace {

// "Open MPI v4.1.4, ..." up to the first comma; of MPICH's several lines, the version alone.
std::string library_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    text.resize(static_cast<size_t>(length));
    const std::string mpich = "MPICH Version:";
    if (text.starts_with(mpich)) {
        const size_t begin = text.find_first_not_of(" \t", mpich.size());
        return "MPICH " + text.substr(begin, text.find('\n', begin) - begin);
    }
    return text.substr(0, text.find_first_of(",\n"));
}

}  // namespace

int main(int argc, char** argv) {
    namespace bench = pace::bench;
    MPI_Init(&argc, &argv);
    bench::Options options = bench::parse_options(argc, argv);
    int rank = 0;
    int world = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    options.rank = static_cast<uint32_t>(rank);
    options.world = static_cast<uint32_t>(world);
#ifdef PACE_BENCH_MPICH_YIELD
    bench::mpich_yield_when_idle(options.yield);
#endif

    bench::Scoreboard board(options.board, options.world, options.rank);
    const size_t count = options.bytes / sizeof(float);
    auto* data =
        static_cast<float*>(std::aligned_alloc(4096, (options.bytes + 4095) / 4096 * 4096));
    if (data == nullptr) throw std::bad_alloc();
    bench::Subject subject;
    subject.buffer = std::span(data, count);
    subject.expected = bench::expected_sum(options);
    subject.exchange = [&] {
        MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    };
    subject.progress = [] {
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    };
    subject.version = library_version();
    bench::measure(options, board, subject);
    std::free(data);
    MPI_Finalize();
    return 0;
}
