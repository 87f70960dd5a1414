// Fuzzes an unpacked checkpoint of a shard. Accepted input is a shard that can be read.
#include <cstdlib>
#include <cstring>
#include <string>

#include "daemon/server/checkpoint.h"
#include "tests/fuzz/chunks.h"

namespace {

class Unpacked final : public pace::server::ByteReader {
  public:
    explicit Unpacked(std::span<const std::byte> bytes) : rest_(bytes) {}

    pace::base::Result<> read(std::span<std::byte> bytes) override {
        if (bytes.size() > rest_.size())
            return pace::base::make_error(pace::base::ErrorKind::corrupt, "{} ends too early",
                                          name_);
        if (!bytes.empty()) std::memcpy(bytes.data(), rest_.data(), bytes.size());
        rest_ = rest_.subspan(bytes.size());
        return {};
    }
    pace::base::Result<> finish() override {
        if (rest_.empty()) return {};
        return pace::base::make_error(pace::base::ErrorKind::corrupt, "{} goes on", name_);
    }
    const std::string& name() const override { return name_; }

  private:
    std::span<const std::byte> rest_;
    std::string name_ = "input";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const pace::fuzz::Bytes bytes = pace::fuzz::bytes_of(data, size);
    Unpacked input(bytes);
    auto read = pace::server::read_checkpoint(input, size_t{1} << 20U);
    if (!read) return 0;
    read->shard.settle();
    std::vector<float> model(read->shard.count());
    read->shard.read(0, model);
    if (read->about.shard >= read->about.shards) std::abort();
    return 0;
}
