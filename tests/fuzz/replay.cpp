// Replays a fuzz target's corpus and mutations of it, which are the same every time: replay CORPUS.
//
// The program serves builds without libFuzzer. It finds less than a search does, but runs in every
// build.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;
using pace::base::Random;

constexpr size_t kMutationsPerInput = 1000;
constexpr size_t kRandomInputs = 200;
constexpr size_t kInputBytesMax = 65536;

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(folder, absent))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());  // the order of a folder differs between machines
    std::vector<Input> corpus{Input{}};
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(stream),
                            std::istreambuf_iterator<char>());
    }
    return corpus;
}

uint8_t interesting_byte(Random& random) {
    constexpr uint8_t kBytes[] = {0, 1, 0x7F, 0x80, 0xFF, '"', '\n', '[', '='};
    if (random.below(2) == 0) return static_cast<uint8_t>(random.next());
    return kBytes[random.below(std::size(kBytes))];
}

void mutate_once(Input& input, const std::vector<Input>& corpus, Random& random) {
    const size_t at = input.empty() ? 0 : random.below(input.size());
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(6)) {
        case 0:  // one bit
            if (!input.empty()) input[at] ^= static_cast<uint8_t>(1U << random.below(8));
            break;
        case 1:  // one byte
            if (!input.empty()) input[at] = interesting_byte(random);
            break;
        case 2:  // a byte more
            input.insert(place, interesting_byte(random));
            break;
        case 3:  // some bytes less
            input.erase(place, place + static_cast<std::ptrdiff_t>(random.below(
                                           std::min<size_t>(input.size() - at, 16) + 1)));
            break;
        case 4:  // cut off
            input.resize(at);
            break;
        default: {  // the end of another
            const Input& other = corpus[random.below(corpus.size())];
            const size_t from = other.empty() ? 0 : random.below(other.size());
            input.resize(at);
            input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from),
                         other.end());
            break;
        }
    }
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
}

// The copy has the input's size, so that the address sanitizer sees a step past the end.
void try_input(const Input& input) {
    const Input copy(input.begin(), input.end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    const std::vector<Input> corpus = read_corpus(argv[1]);
    Random random(1);
    size_t tried = 0;
    for (const Input& original : corpus) {
        try_input(original);
        for (size_t i = 0; i < kMutationsPerInput; ++i, ++tried) {
            Input input = original;
            for (size_t count = 1 + random.below(4); count > 0; --count)
                mutate_once(input, corpus, random);
            try_input(input);
        }
    }
    for (size_t i = 0; i < kRandomInputs; ++i, ++tried) {
        Input input(random.below(512));
        for (uint8_t& byte : input) byte = static_cast<uint8_t>(random.next());
        try_input(input);
    }
    std::printf("%zu files of the corpus, %zu inputs made of them\n", corpus.size() - 1, tried);
    return 0;
}
