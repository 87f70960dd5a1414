// mpi_topka.cpp: TopkA (SparCML's all-gather of everybody's choice) by MPI_Allgather.
//
// Timed: the all-gather of k index-value pairs from each rank, zeroing the buffer, and adding
// the pairs to it. Not timed: choosing the k elements, which the program does once and slowly. Nothing
// is kept for the next exchange.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "bench/common/measure.h"
#include "bench/peers/mpi_library.h"

namespace {

namespace bench = pace::bench;

struct Entry {
    uint32_t index;
    float value;
};

class TopkA {
  public:
    TopkA(size_t count, double density, uint32_t world)
        : buffer_(count),
          own_(static_cast<size_t>(std::llround(static_cast<double>(count) * density))),
          all_(own_.size() * world) {}

    std::span<float> buffer() { return buffer_; }

    // The k elements of greatest magnitude, by index.
    void choose() {
        if (chosen_) return;
        chosen_ = true;
        std::vector<uint32_t> indices(buffer_.size());
        std::iota(indices.begin(), indices.end(), 0);
        const auto k = static_cast<std::ptrdiff_t>(own_.size());
        std::nth_element(indices.begin(), indices.begin() + k, indices.end(),
                         [this](uint32_t a, uint32_t b) {
                             return std::fabs(buffer_[a]) > std::fabs(buffer_[b]);
                         });
        std::sort(indices.begin(), indices.begin() + k);
        for (size_t i = 0; i < own_.size(); ++i) own_[i] = {indices[i], buffer_[indices[i]]};
    }

    void exchange() {
        const int bytes = static_cast<int>(own_.size() * sizeof(Entry));
        MPI_Allgather(own_.data(), bytes, MPI_BYTE, all_.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
        std::ranges::fill(buffer_, 0.0F);
        for (const Entry& entry : all_) buffer_[entry.index] += entry.value;
    }

  private:
    std::vector<float> buffer_;
    std::vector<Entry> own_;
    std::vector<Entry> all_;
    bool chosen_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    bench::Options options = bench::parse_options(argc, argv);
    bench::take_place(options);
    bench::Scoreboard board(options.board, options.world, options.rank);
    TopkA topka(options.bytes / sizeof(float), options.density, options.world);
    bench::Subject subject;
    subject.buffer = topka.buffer();
    subject.prepare = [&] { topka.choose(); };
    subject.exchange = [&] { topka.exchange(); };
    subject.progress = bench::mpi_progress;
    subject.version = bench::mpi_version();
    bench::measure(options, board, subject);
    MPI_Finalize();
    return 0;
}
