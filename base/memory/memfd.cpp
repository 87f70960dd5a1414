#include "base/memory/memfd.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/simulation/simulated_process.h"
#include "base/threads/release_thread.h"

namespace pace::base {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

size_t whole_pages(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

Result<std::byte*> map_shared(int fd, size_t bytes) {
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED)
        return make_errno_error(errno, fmt::format("map {} bytes of shared memory", bytes));
    auto* const data = static_cast<std::byte*>(address);
    if (SimulatedProcesses* const simulated = simulated_processes())
        simulated->maps(data, bytes, fd);
    return data;
}

// Huge pages come from a pool that can be empty. If the other holder punches a hole into a memfd of
// huge pages, touching the hole can raise SIGBUS. Pages of the kernel's own tmpfs can always be
// found again.
Result<> check_sealed(int fd) {
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals)
        return make_error(ErrorKind::invalid,
                          "a shared buffer must be a memfd with its size sealed");
    struct statfs system {};
    if (fstatfs(fd, &system) != 0)
        return make_errno_error(errno, "find the file system of shared memory");
    if (system.f_type == TMPFS_MAGIC) return {};
    return make_error(ErrorKind::invalid,
                      "a shared buffer is on a file system of type {:#x} instead of tmpfs; create "
                      "it by memfd_create without MFD_HUGETLB",
                      static_cast<uint64_t>(system.f_type));
}

}  // namespace

MappedMemfd::MappedMemfd(MappedMemfd&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      populated_(std::exchange(other.populated_, 0)) {}

MappedMemfd& MappedMemfd::operator=(MappedMemfd&& other) noexcept {
    if (this != &other) {
        unmap();
        fd_ = std::move(other.fd_);
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
        populated_ = std::exchange(other.populated_, 0);
    }
    return *this;
}

MappedMemfd::~MappedMemfd() {
    unmap();
}

void MappedMemfd::unmap() {
    if (data_ == nullptr) return;
    if (SimulatedProcesses* const simulated = simulated_processes()) simulated->unmaps(data_);
    release_shared(data_, size_, std::move(fd_));
    data_ = nullptr;
}

Result<MappedMemfd> MappedMemfd::create(const char* name, size_t bytes, bool populate) {
    MappedMemfd memory;
    memory.size_ = whole_pages(bytes);
    memory.fd_.reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.fd_.valid()) return make_errno_error(errno, "create shared memory");
    if (ftruncate(memory.fd(), static_cast<off_t>(memory.size_)) != 0)
        return make_errno_error(errno, fmt::format("size shared memory to {} bytes", memory.size_));
    if (fcntl(memory.fd(), F_ADD_SEALS, kSeals) != 0)
        return make_errno_error(errno, "seal shared memory");
    PACE_TRY_ASSIGN(address, map_shared(memory.fd(), memory.size_));
    memory.data_ = address;
    while (populate && !memory.is_populated()) PACE_TRY(memory.populate(kPieceBytes));
    return memory;
}

Result<> MappedMemfd::populate(size_t bytes) {
    const size_t piece = std::min(whole_pages(bytes), size_ - populated_);
    const auto place = static_cast<off_t>(populated_);
    if (fallocate(fd(), 0, place, static_cast<off_t>(piece)) != 0)
        return make_error(
            ErrorKind::memory,
            "cannot reserve {} bytes of shared memory ({}); free memory or ask for less", size_,
            make_errno_error(errno, "fallocate").message);
    madvise(data_ + populated_, piece, MADV_POPULATE_WRITE);
    populated_ += piece;
    return {};
}

Result<MappedMemfd> MappedMemfd::adopt(UniqueFd fd, size_t bytes) {
    PACE_TRY(check_sealed(fd.get()));
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return make_errno_error(errno, "stat shared memory");
    const auto size = static_cast<size_t>(status.st_size);
    // A larger size is refused, too: the mapped size must be the announced size, since the process
    // that brings the memory is charged for the announced size.
    if (size != whole_pages(bytes))
        return make_error(ErrorKind::invalid,
                          "a shared buffer of {} bytes was announced as {} bytes", size, bytes);
    PACE_TRY_ASSIGN(address, map_shared(fd.get(), size));
    MappedMemfd memory;
    memory.fd_ = std::move(fd);
    memory.data_ = address;
    memory.size_ = size;
    return memory;
}

}  // namespace pace::base
