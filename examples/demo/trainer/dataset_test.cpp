#include "dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

namespace demo {
namespace {

class DatasetTest : public testing::Test {
  protected:
    DatasetTest() : folder_(testing::TempDir() + fmt::format("/dataset-{}", getpid())) {
        std::filesystem::create_directories(folder_);
    }
    ~DatasetTest() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::string& bytes) const {
        gzFile file = gzopen((folder_ + "/" + name).c_str(), "wb");
        gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
        gzclose(file);
    }

    const std::string images_header_ =
        std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x1c\0\0\0\x1c", 16);
    const std::string labels_header_ = std::string("\0\0\x08\x01\0\0\0\x02", 8);
    std::string folder_;
};

TEST_F(DatasetTest, ReadsImagesAndTheirLabels) {
    write("train-images-idx3-ubyte.gz",
          images_header_ + std::string(kPixels, '\0') + std::string(kPixels, '\xff'));
    write("train-labels-idx1-ubyte.gz", labels_header_ + "\x07\x02");
    const Dataset data = load_dataset(folder_, "train");
    EXPECT_EQ(data.labels, (Labels{7, 2}));
    Images images(kPixels, 1);
    copy_images(data, 1, &images);
    EXPECT_FLOAT_EQ(images(5, 0), (255 - 72.94F) / 90.02F);
}

TEST_F(DatasetTest, RefusesFilesThatAreMissingCutOrSomethingElse) {
    EXPECT_THROW(load_dataset(folder_, "train"), std::runtime_error);
    write("train-images-idx3-ubyte.gz", images_header_ + std::string(kPixels, '\0'));
    write("train-labels-idx1-ubyte.gz", labels_header_ + "\x07\x02");
    EXPECT_THROW(load_dataset(folder_, "train"), std::runtime_error);
    write("train-images-idx3-ubyte.gz", "neither images nor labels");
    EXPECT_THROW(load_dataset(folder_, "train"), std::runtime_error);
}

TEST(Batches, GivesEachWorkerItsOwnShareAndAllOfItInEveryPass) {
    Dataset data;
    for (uint8_t i = 0; i < 10; ++i) {
        data.labels.push_back(i);
        data.pixels.resize(data.pixels.size() + kPixels, i);
    }
    std::multiset<int> seen;
    for (uint32_t rank = 0; rank < 2; ++rank) {
        Batches batches(data, rank, 2, 1);
        Images images(kPixels, 5);
        Labels labels;
        for (int pass = 0; pass < 2; ++pass) {
            batches.next(&images, &labels);
            seen.insert(labels.begin(), labels.end());
        }
    }
    for (int label = 0; label < 10; ++label) EXPECT_EQ(seen.count(label), 2U) << label;
}

}  // namespace
}  // namespace demo
