// mpi_allreduce.cpp: MPI_Allreduce of float32 in place. It is built once for Open MPI and once for
// MPICH.
#include <mpi.h>

#include <cstdlib>
#include <new>
#include <span>

#include "bench/common/check.h"
#include "bench/common/measure.h"
#include "bench/peers/mpi_library.h"

#ifdef PACE_BENCH_MPICH_YIELD
#include "bench/peers/mpich_yield.h"
#endif

int main(int argc, char** argv) {
    namespace bench = pace::bench;
    MPI_Init(&argc, &argv);
    bench::Options options = bench::parse_options(argc, argv);
    bench::take_place(options);
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
    subject.progress = bench::mpi_progress;
    subject.version = bench::mpi_version();
    bench::measure(options, board, subject);
    std::free(data);
    MPI_Finalize();
    return 0;
}
