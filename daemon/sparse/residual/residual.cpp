#include "daemon/sparse/residual/residual.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pace::sparse {

using base::ErrorKind;
using base::Result;

static_assert(std::endian::native == std::endian::little, "the saved form is little-endian");

namespace {

constexpr std::string_view kMagic = "PACERESI";
constexpr size_t kHeaderBytes = 24;
constexpr size_t kChecksumBytes = 8;

template <typename Number>
Number read_number(std::span<const std::byte> bytes, size_t at) {
    Number number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    return number;
}

template <typename Number>
void write_number(std::span<std::byte> bytes, size_t at, Number number) {
    std::memcpy(bytes.data() + at, &number, sizeof(number));
}

}  // namespace

Result<> Residual::read(std::span<float> ret_values) const {
    if (far_) return far_->read(ret_values);
    std::copy_n(values_.data(), count_, ret_values.begin());
    return {};
}

std::span<float> Residual::begin() {
    if (!far_ && next_.size() != count_) next_ = Floats(count_);
    begun_ = true;
    return next_.span();
}

void Residual::commit(bool is_empty) {
    if (!begun_) return;
    exchanges_kept_ = is_empty ? 0 : exchanges_kept_ + 1;
    if (far_)
        far_->swap();
    else
        std::swap(values_, next_);
    begun_ = false;
}

void Residual::write_next(size_t begin, std::span<const uint32_t> indices,
                          std::span<const float> values) {
    if (far_) return far_->write(begin, indices, values);
    for (size_t i = 0; i < indices.size(); ++i) next_.data()[begin + indices[i]] = values[i];
}

void Residual::move_to(std::shared_ptr<FarGradient> far) {
    begun_ = false;
    far_ = std::move(far);
    values_ = Floats();
    next_ = Floats();
}

void Residual::move_here(Floats values) {
    begun_ = false;
    values_ = std::move(values);
    far_.reset();
}

Result<> Residual::absorb(std::span<const float> other) {
    if (begun_)
        return base::make_error(ErrorKind::invalid,
                                "an exchange works on this residual; commit or discard it first");
    if (far_)
        return base::make_error(ErrorKind::invalid,
                                "this residual is in other memory; move it here first");
    if (other.size() != count_)
        return base::make_error(ErrorKind::invalid,
                                "a residual of {} elements cannot be added to one of {}; both must "
                                "belong to the same buffers",
                                other.size(), count_);
    begin_to_keep();
    add(0, other);
    return {};
}

void Residual::add(size_t begin, std::span<const float> other) {
    float* const values = values_.data() + begin;
    for (size_t i = 0; i < other.size(); ++i) values[i] += other[i];
}

Floats Residual::give_up() {
    count_ = 0;
    exchanges_kept_ = 0;
    next_ = Floats();
    return std::exchange(values_, Floats());
}

std::vector<std::byte> Residual::save() const {
    const size_t payload = values_.size() * sizeof(float);
    std::vector<std::byte> bytes(kHeaderBytes + payload + kChecksumBytes);
    std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
    write_number<uint32_t>(bytes, 8, kResidualVersion);
    write_number<uint32_t>(bytes, 12, 0);
    write_number<uint64_t>(bytes, 16, values_.size());
    if (payload > 0) std::memcpy(bytes.data() + kHeaderBytes, values_.data(), payload);
    const size_t hashed = kHeaderBytes + payload;
    write_number<uint64_t>(bytes, hashed, XXH3_64bits(bytes.data(), hashed));
    return bytes;
}

Result<Residual> Residual::load(std::span<const std::byte> bytes_untrusted) {
    const std::span<const std::byte> bytes = bytes_untrusted;
    if (bytes.size() < kHeaderBytes + kChecksumBytes ||
        std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        return base::make_error(ErrorKind::corrupt, "these {} bytes are no saved residual of Pace",
                                bytes.size());
    if (const auto version = read_number<uint32_t>(bytes, 8); version != kResidualVersion)
        return base::make_error(ErrorKind::version,
                                "the residual was saved in version {}, this daemon reads version "
                                "{}; load it with the one that saved it",
                                version, kResidualVersion);
    if (const auto reserved = read_number<uint32_t>(bytes, 12); reserved != 0)
        return base::make_error(ErrorKind::corrupt,
                                "the saved residual's reserved field is {}, not 0; use an older "
                                "checkpoint",
                                reserved);
    const auto count = read_number<uint64_t>(bytes, 16);
    const size_t payload = bytes.size() - kHeaderBytes - kChecksumBytes;
    if (payload % sizeof(float) != 0 || count != payload / sizeof(float))
        return base::make_error(ErrorKind::corrupt,
                                "the saved residual says {} elements but has {} bytes of them",
                                count, payload);
    const size_t hashed = kHeaderBytes + payload;
    if (read_number<uint64_t>(bytes, hashed) != XXH3_64bits(bytes.data(), hashed))
        return base::make_error(ErrorKind::corrupt,
                                "the saved residual of {} elements has a wrong checksum; use an "
                                "older checkpoint",
                                count);
    Residual residual(count);
    residual.begin_to_keep();
    if (payload > 0) std::memcpy(residual.values_.data(), bytes.data() + kHeaderBytes, payload);
    return residual;
}

}  // namespace pace::sparse
