#include "daemon/server/packed_file.h"

#include <utility>

#include <zstd.h>

namespace pace::server {

using base::ErrorKind;
using base::Result;

namespace {

// The fastest level. A model's numbers compress little at any level, and its zeros compress well at
// every level.
constexpr int kLevel = 1;

}  // namespace

// ------------------------------------------------------------------------------------ PackedWriter

PackedWriter::PackedWriter(WholeFile file)
    : file_(std::move(file)),
      context_(ZSTD_createCCtx(), &ZSTD_freeCCtx),
      packed_(ZSTD_CStreamOutSize()) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<std::unique_ptr<PackedWriter>> PackedWriter::create(const std::string& path) {
    PACE_TRY_ASSIGN(file, WholeFile::create(path));
    return std::unique_ptr<PackedWriter>(new PackedWriter(std::move(file)));
}

Result<> PackedWriter::compress(std::span<const std::byte> bytes, bool last) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
        ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
        const size_t left =
            ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left) != 0)
            return base::make_error(ErrorKind::internal, "compress {}: {}", file_.path(),
                                    ZSTD_getErrorName(left));
        PACE_TRY(file_.write(std::span(packed_).first(out.pos)));
        if (last ? left == 0 : in.pos == in.size) return {};
    }
}

Result<> PackedWriter::write(std::span<const std::byte> bytes) {
    return compress(bytes, false);
}

Result<> PackedWriter::commit() {
    PACE_TRY(compress({}, true));
    return file_.commit();
}

// ------------------------------------------------------------------------------------ PackedReader

PackedReader::PackedReader(std::string path, base::UniqueFd fd)
    : name_(std::move(path)),
      fd_(std::move(fd)),
      context_(ZSTD_createDCtx(), &ZSTD_freeDCtx),
      packed_(ZSTD_DStreamInSize()) {}

Result<std::unique_ptr<PackedReader>> PackedReader::open(const std::string& path) {
    PACE_TRY_ASSIGN(fd, open_regular(path));
    return std::unique_ptr<PackedReader>(new PackedReader(path, std::move(fd)));
}

// Returns as many bytes as there are, up to the end of the frame.
Result<size_t> PackedReader::unpack(std::span<std::byte> bytes) {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    while (out.pos < out.size && !whole_) {
        if (used_ == have_) {
            PACE_TRY_ASSIGN(got, read_some(fd_.get(), packed_, name_));
            used_ = 0;
            have_ = got;
            if (got == 0)
                return base::make_error(ErrorKind::corrupt,
                                        "{} ends too early; use an older checkpoint", name_);
        }
        ZSTD_inBuffer in{packed_.data(), have_, used_};
        const size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
        if (ZSTD_isError(left) != 0)
            return base::make_error(ErrorKind::corrupt,
                                    "{} is not what was written: {}; use an older checkpoint",
                                    name_, ZSTD_getErrorName(left));
        used_ = in.pos;
        whole_ = left == 0;
    }
    return out.pos;
}

Result<> PackedReader::read(std::span<std::byte> bytes) {
    PACE_TRY_ASSIGN(got, unpack(bytes));
    if (got == bytes.size()) return {};
    return base::make_error(ErrorKind::corrupt, "{} ends too early; use an older checkpoint",
                            name_);
}

Result<> PackedReader::finish() {
    std::byte more{};
    PACE_TRY_ASSIGN(got, unpack({&more, 1}));
    const bool follows = got > 0 || used_ < have_;
    if (!follows) {
        PACE_TRY_ASSIGN(rest, read_some(fd_.get(), {&more, 1}, name_));
        if (rest == 0) return {};
    }
    return base::make_error(ErrorKind::corrupt, "{} goes on after its end; use an older checkpoint",
                            name_);
}

}  // namespace pace::server
