#include "daemon/server/packed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <zstd.h>

namespace pace::server {

using base::ErrorKind;
using base::Result;

namespace {

// Fast: numbers of a model compress little at any level, and its zeros at every.
constexpr int kLevel = 1;

std::string part_of(const std::string& path) {
    return path + ".part";
}

base::Error disk_error(const std::string& path, std::string_view doing) {
    const int number = errno;
    base::Error error = base::make_errno_error(number, fmt::format("{} {}", doing, path));
    error.kind = ErrorKind::disk;
    return error;
}

Result<> write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return disk_error(path, "write");
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
}

}  // namespace

// -------------------------------------------------------------------------------------- PackedWriter

PackedWriter::PackedWriter(std::string path, base::UniqueFd fd)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      context_(ZSTD_createCCtx(), &ZSTD_freeCCtx),
      packed_(ZSTD_CStreamOutSize()) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<std::unique_ptr<PackedWriter>> PackedWriter::create(const std::string& path) {
    const std::string part = part_of(path);
    base::UniqueFd fd(
        ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
    if (!fd.valid()) return disk_error(part, "create");
    return std::unique_ptr<PackedWriter>(new PackedWriter(path, std::move(fd)));
}

PackedWriter::~PackedWriter() {
    if (fd_.valid()) ::unlink(part_of(path_).c_str());
}

Result<> PackedWriter::compress(std::span<const std::byte> bytes, bool last) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
        ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
        const size_t left =
            ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left) != 0)
            return base::make_error(ErrorKind::internal, "compress {}: {}", path_,
                                    ZSTD_getErrorName(left));
        PACE_TRY(write_all(fd_.get(), std::span(packed_).first(out.pos), part_of(path_)));
        if (last ? left == 0 : in.pos == in.size) return {};
    }
}

Result<> PackedWriter::write(std::span<const std::byte> bytes) {
    return compress(bytes, false);
}

Result<> PackedWriter::commit() {
    PACE_TRY(compress({}, true));
    if (fdatasync(fd_.get()) != 0) return disk_error(part_of(path_), "make durable");
    if (std::rename(part_of(path_).c_str(), path_.c_str()) != 0)
        return disk_error(part_of(path_), "rename");
    fd_.reset();
    const auto folder = std::filesystem::absolute(path_).parent_path();
    const base::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid() || fsync(fd.get()) != 0) return disk_error(folder.string(), "make durable");
    return {};
}

// -------------------------------------------------------------------------------------- PackedReader

PackedReader::PackedReader(std::string path, base::UniqueFd fd)
    : name_(std::move(path)),
      fd_(std::move(fd)),
      context_(ZSTD_createDCtx(), &ZSTD_freeDCtx),
      packed_(ZSTD_DStreamInSize()) {}

Result<std::unique_ptr<PackedReader>> PackedReader::open(const std::string& path) {
    base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0)
        return base::make_errno_error(errno, fmt::format("open {}", path));
    if (!S_ISREG(status.st_mode))
        return base::make_error(ErrorKind::invalid, "{} is not a regular file", path);
    return std::unique_ptr<PackedReader>(new PackedReader(path, std::move(fd)));
}

// Of the file, as it is; 0 at its end.
Result<size_t> PackedReader::fill(std::span<std::byte> bytes) {
    for (;;) {
        const ssize_t got = ::read(fd_.get(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return disk_error(name_, "read");
        return static_cast<size_t>(got);
    }
}

// As many as there are, to the end of the frame.
Result<size_t> PackedReader::unpack(std::span<std::byte> bytes) {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    while (out.pos < out.size && !whole_) {
        if (used_ == have_) {
            PACE_TRY_ASSIGN(got, fill(packed_));
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
        PACE_TRY_ASSIGN(rest, fill({&more, 1}));
        if (rest == 0) return {};
    }
    return base::make_error(ErrorKind::corrupt, "{} goes on after its end; use an older checkpoint",
                            name_);
}

}  // namespace pace::server
