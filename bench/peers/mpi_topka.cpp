// mpi_topka.cpp: TopkA (SparCML's all-gather of every worker's choice) by MPI_Allgather.
//
// --algorithm whole works as a trainer would. The gradient is added to the residual. The k elements
// of greatest magnitude are chosen, all-gathered and added up. The rest is the new residual.
//
// --algorithm exchange measures only the all-gather and the adding up. The choice is made once,
// untimed.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
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

bool is_greater(const Entry& a, const Entry& b) {
    return std::fabs(a.value) > std::fabs(b.value);
}

// Returns a magnitude that a little more than k elements reach. A sample of the elements gives it.
float guess_magnitude(std::span<const float> vector, size_t k) {
    constexpr size_t kSampleMin = 1 << 14;
    const size_t step = std::max<size_t>(1, vector.size() / kSampleMin);
    std::vector<float> sample;
    for (size_t i = 0; i < vector.size(); i += step) sample.push_back(std::fabs(vector[i]));
    const size_t place = std::min(sample.size() - 1, k * 5 / 4 / step + 1);
    const auto cut = sample.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(sample.begin(), cut, sample.end(), std::greater<>());
    return *cut;
}

// Returns the k elements of greatest magnitude, in the order of their indices.
std::vector<Entry> top_k(std::span<const float> vector, size_t k) {
    std::vector<Entry> entries;
    for (float least = guess_magnitude(vector, k); entries.size() < k; least /= 2) {
        entries.clear();
        for (size_t i = 0; i < vector.size(); ++i)
            if (std::fabs(vector[i]) >= least)
                entries.push_back({static_cast<uint32_t>(i), vector[i]});
    }
    const auto cut = entries.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(entries.begin(), cut, entries.end(), is_greater);
    entries.erase(cut, entries.end());
    std::ranges::sort(entries, {}, &Entry::index);
    return entries;
}

class TopkA {
  public:
    TopkA(size_t count, double density, uint32_t world)
        : buffer_(count),
          owed_(count),
          k_(static_cast<size_t>(std::llround(static_cast<double>(count) * density))),
          all_(k_ * world) {}

    std::span<float> buffer() { return buffer_; }

    void choose() {
        for (size_t i = 0; i < buffer_.size(); ++i) owed_[i] += buffer_[i];
        own_ = top_k(owed_, k_);
        for (const Entry& entry : own_) owed_[entry.index] = 0;
    }
    void choose_once() {
        if (own_.empty()) choose();
    }

    void exchange() {
        const int bytes = static_cast<int>(own_.size() * sizeof(Entry));
        MPI_Allgather(own_.data(), bytes, MPI_BYTE, all_.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
        std::ranges::fill(buffer_, 0.0F);
        for (const Entry& entry : all_) buffer_[entry.index] += entry.value;
    }

  private:
    std::vector<float> buffer_;
    std::vector<float> owed_;
    size_t k_;
    std::vector<Entry> own_;
    std::vector<Entry> all_;
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
    if (options.algorithm == "whole") {
        subject.exchange = [&] {
            topka.choose();
            topka.exchange();
        };
    } else {
        subject.prepare = [&] { topka.choose_once(); };
        subject.exchange = [&] { topka.exchange(); };
    }
    subject.progress = bench::mpi_progress;
    subject.version = bench::mpi_version();
    bench::measure(options, board, subject);
    MPI_Finalize();
    return 0;
}
