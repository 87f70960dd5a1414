// Dataset: the images and labels of Fashion-MNIST, read from its gzipped IDX files. Batches: the
// endless, shuffled mini-batches that one worker draws from its share of the examples.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace demo {

constexpr int kPixels = 28 * 28;
constexpr int kClasses = 10;

// There is one column per example. Every pixel is scaled to about zero mean and unit variance.
using Images = Eigen::Matrix<float, kPixels, Eigen::Dynamic>;
using Labels = std::vector<uint8_t>;

struct Dataset {
    std::vector<uint8_t> pixels;  // kPixels per example
    Labels labels;

    size_t size() const { return labels.size(); }
};

// Reads the "train" half (60,000 examples) or the "t10k" half (10,000, for tests). Throws
// std::runtime_error, which names the file and the problem.
Dataset load_dataset(const std::string& folder, const std::string& half);

// Copies as many examples as `images` has columns, beginning with `first`.
void copy_images(const Dataset& data, size_t first, Images* images);

class Batches {
  public:
    // Worker `rank` draws from every world-th example of one shuffle that all workers share. So the
    // shares do not overlap and are alike. `data` must outlive this object.
    Batches(const Dataset& data, uint32_t rank, uint32_t world, uint64_t seed);

    // Fills `images` (its columns are the batch size) and `labels`. Each pass over the share is in
    // a new order.
    void next(Images* images, Labels* labels);

  private:
    const Dataset& data_;
    std::mt19937_64 random_;
    std::vector<uint32_t> share_;
    size_t position_ = 0;
};

}  // namespace demo
