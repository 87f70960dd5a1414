#include "dataset.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace demo {
namespace {

// The mean and the standard deviation of the training pixels, in units of 0 .. 255.
constexpr float kPixelMean = 72.94F;
constexpr float kPixelDeviation = 90.02F;

struct GzipCloser {
    void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, GzipCloser>;

void read_bytes(gzFile file, const std::string& path, void* bytes, size_t count) {
    if (gzread(file, bytes, static_cast<unsigned>(count)) != static_cast<int>(count))
        throw std::runtime_error(fmt::format("{} ends too early or is damaged", path));
}

uint32_t read_big_endian(gzFile file, const std::string& path) {
    uint8_t bytes[4] = {};
    read_bytes(file, path, bytes, sizeof(bytes));
    return uint32_t{bytes[0]} << 24U | uint32_t{bytes[1]} << 16U | uint32_t{bytes[2]} << 8U |
           uint32_t{bytes[3]};
}

// Reads an IDX file of bytes: 0x0000'08'DD, where DD is the number of dimensions, then the size of
// each dimension, then the bytes. Returns the bytes of all examples. Each example has
// `example_size` bytes.
std::vector<uint8_t> read_idx(const std::string& path, uint32_t dimensions, size_t example_size) {
    const GzipFile file(gzopen(path.c_str(), "rb"));
    if (!file)
        throw std::runtime_error(
            fmt::format("cannot open {}; install the package dataset-fashion-mnist", path));
    if (read_big_endian(file.get(), path) != (0x0800U | dimensions))
        throw std::runtime_error(
            fmt::format("{} is not an IDX file of bytes with {} dimensions", path, dimensions));
    const size_t count = read_big_endian(file.get(), path);
    size_t size = 1;
    for (uint32_t i = 1; i < dimensions; ++i) size *= read_big_endian(file.get(), path);
    if (size != example_size || count > 1'000'000)
        throw std::runtime_error(fmt::format("{} holds {} examples of {} bytes; expected {} bytes",
                                             path, count, size, example_size));
    std::vector<uint8_t> bytes(count * example_size);
    read_bytes(file.get(), path, bytes.data(), bytes.size());
    return bytes;
}

void copy_image(const Dataset& data, size_t example, Images* images, Eigen::Index column) {
    const Eigen::Map<const Eigen::Array<uint8_t, kPixels, 1>> bytes(data.pixels.data() +
                                                                    example * kPixels);
    images->col(column) = (bytes.cast<float>() - kPixelMean) / kPixelDeviation;
}

}  // namespace

Dataset load_dataset(const std::string& folder, const std::string& half) {
    Dataset data;
    data.pixels = read_idx(fmt::format("{}/{}-images-idx3-ubyte.gz", folder, half), 3, kPixels);
    data.labels = read_idx(fmt::format("{}/{}-labels-idx1-ubyte.gz", folder, half), 1, 1);
    const bool known = std::all_of(data.labels.begin(), data.labels.end(),
                                   [](uint8_t label) { return label < kClasses; });
    if (data.pixels.size() != data.labels.size() * kPixels || !known)
        throw std::runtime_error(
            fmt::format("the {} images and labels in {} do not belong together", half, folder));
    return data;
}

void copy_images(const Dataset& data, size_t first, Images* images) {
    for (Eigen::Index column = 0; column < images->cols(); ++column)
        copy_image(data, first + static_cast<size_t>(column), images, column);
}

Batches::Batches(const Dataset& data, uint32_t rank, uint32_t world, uint64_t seed) : data_(data) {
    std::vector<uint32_t> order(data.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    for (size_t i = rank; i < order.size(); i += world) share_.push_back(order[i]);
    random_.seed(seed * world + rank + 1);
}

void Batches::next(Images* images, Labels* labels) {
    labels->resize(static_cast<size_t>(images->cols()));
    for (Eigen::Index column = 0; column < images->cols(); ++column) {
        if (position_ == share_.size()) {
            std::shuffle(share_.begin(), share_.end(), random_);
            position_ = 0;
        }
        const uint32_t example = share_[position_++];
        copy_image(data_, example, images, column);
        (*labels)[static_cast<size_t>(column)] = data_.labels[example];
    }
}

}  // namespace demo
