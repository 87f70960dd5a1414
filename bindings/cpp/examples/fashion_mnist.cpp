// fashion_mnist: `fashion_mnist [ENDPOINT]`. Four workers learn to classify clothes by partial
// reduce. The workers are threads of this process. One worker trains at half of the others' speed.
// Without an ENDPOINT the daemon is embedded.
//
// The exit status is 1 if fewer than 80 of 100 test images are classified correctly, and 77 if the
// images are not installed.
#include <pace/pace.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr const char* kFolder = "/usr/share/datasets/fashion-mnist/";
constexpr std::size_t kPixels = 784;
constexpr std::size_t kClasses = 10;
// Each class has a row of weights and a bias.
constexpr std::size_t kParameters = (kPixels + 1) * kClasses;
constexpr std::uint32_t kWorkers = 4;
constexpr std::uint64_t kSteps = 2000;
constexpr std::size_t kBatch = 64;
constexpr float kRate = 0.1F;
constexpr double kEnough = 0.80;
constexpr int kSkipped = 77;

struct NotInstalled : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Images {
    std::vector<float> pixels;  // kPixels of each image, 0 .. 1
    std::vector<std::uint8_t> labels;

    const float* image(std::size_t at) const { return pixels.data() + at * kPixels; }
};

// Returns the bytes of an IDX file without its header.
std::vector<std::uint8_t> read_idx(const std::string& name, unsigned header, std::size_t count) {
    struct Closer {
        void operator()(gzFile file) const { gzclose(file); }
    };
    const std::unique_ptr<gzFile_s, Closer> file(gzopen((kFolder + name).c_str(), "rb"));
    if (!file) throw NotInstalled(name + " is missing: install the package dataset-fashion-mnist");
    std::vector<std::uint8_t> bytes(header + count);
    if (gzread(file.get(), bytes.data(), static_cast<unsigned>(bytes.size())) !=
        static_cast<int>(bytes.size()))
        throw std::runtime_error(name + " ends too early");
    bytes.erase(bytes.begin(), bytes.begin() + header);
    return bytes;
}

Images read_images(const std::string& half, std::size_t count) {
    Images images;
    for (const std::uint8_t byte : read_idx(half + "-images-idx3-ubyte.gz", 16, count * kPixels))
        images.pixels.push_back(static_cast<float>(byte) / 255);
    images.labels = read_idx(half + "-labels-idx1-ubyte.gz", 8, count);
    return images;
}

using Scores = std::array<float, kClasses>;

Scores scores_of(pace::span<const float> model, const float* image) {
    Scores scores{};
    for (std::size_t kind = 0; kind < kClasses; ++kind) {
        const float* row = model.data() + kind * (kPixels + 1);
        float sum = row[kPixels];
        for (std::size_t pixel = 0; pixel < kPixels; ++pixel) sum += row[pixel] * image[pixel];
        scores[kind] = sum;
    }
    return scores;
}

// Takes one step of softmax regression on a batch of images from `share`.
void local_step(pace::span<float> model, const Images& images, std::mt19937& random,
                std::uniform_int_distribution<std::size_t>& share) {
    std::vector<float> gradient(kParameters);
    for (std::size_t i = 0; i < kBatch; ++i) {
        const std::size_t at = share(random);
        Scores error = scores_of(model, images.image(at));
        const float greatest = *std::max_element(error.begin(), error.end());
        float sum = 0;
        for (float& score : error) sum += score = std::exp(score - greatest);
        for (float& score : error) score /= sum;
        error[images.labels[at]] -= 1;
        for (std::size_t kind = 0; kind < kClasses; ++kind) {
            float* row = gradient.data() + kind * (kPixels + 1);
            for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
                row[pixel] += error[kind] * images.image(at)[pixel];
            row[kPixels] += error[kind];
        }
    }
    for (std::size_t i = 0; i < kParameters; ++i)
        model[i] -= kRate / static_cast<float>(kBatch) * gradient[i];
}

double accuracy_of(pace::span<const float> model, const Images& images) {
    std::size_t right = 0;
    for (std::size_t at = 0; at < images.labels.size(); ++at) {
        const Scores scores = scores_of(model, images.image(at));
        const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
        if (static_cast<std::uint8_t>(best) == images.labels[at]) ++right;
    }
    return static_cast<double>(right) / static_cast<double>(images.labels.size());
}

// Runs a worker from the beginning of its session to the end. Returns the accuracy of its model.
double train(std::uint32_t rank, const std::string& endpoint, const Images& images,
             const Images& unseen) {
    pace::session_options where;
    where.job = "fashion-mnist";
    where.policy = PACE_POLICY_PARTIAL_REDUCE;
    where.rank = rank;
    where.world = kWorkers;
    where.options = {{PACE_OPT_GROUP_SIZE, 2}};
    where.endpoint = endpoint;
    pace::session session(where);
    const pace::buffer<float> model = session.make_buffer<float>(kParameters);

    const std::size_t each = images.labels.size() / kWorkers;
    std::uniform_int_distribution<std::size_t> share(rank * each, (rank + 1) * each - 1);
    std::mt19937 random(rank);
    std::uint64_t step = session.broadcast(model).wait().iteration;
    while (step < kSteps) {
        // The last worker is slow, and no worker waits for it.
        for (int i = 0; i < (rank + 1 == kWorkers ? 2 : 1); ++i)
            local_step(model.elements(), images, random, share);
        step = session.average(model, {step}).wait().iteration + 1;
    }
    const double accuracy = accuracy_of(model.elements(), unseen);
    session.leave();
    return accuracy;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string endpoint = argc > 1 ? argv[1] : "embedded:";
    const Images images = read_images("train", 60000);
    const Images unseen = read_images("t10k", 10000);
    std::vector<std::future<double>> workers;
    for (std::uint32_t rank = 0; rank < kWorkers; ++rank)
        workers.push_back(std::async(std::launch::async,
                                     [&, rank] { return train(rank, endpoint, images, unseen); }));
    double worst = 1;
    for (std::uint32_t rank = 0; rank < kWorkers; ++rank) {
        const double accuracy = workers[rank].get();
        std::printf("worker %u: %.1f of 100 images told right\n", rank, 100 * accuracy);
        worst = std::min(worst, accuracy);
    }
    return worst >= kEnough ? 0 : 1;
} catch (const NotInstalled& reason) {
    std::printf("skipped: %s\n", reason.what());
    return kSkipped;
} catch (const std::exception& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    return 1;
}
