#include "tests/simulated_gpu/driver/state/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pace::simulated_gpu {

namespace {

constexpr uint32_t kTicketMagic = 0x50616365;

std::string_view start_of_name(SharedFile::Kind kind) {
    return kind == SharedFile::Kind::memory ? "simulated-gpu-memory-" : "simulated-gpu-event-";
}

// Returns the name of an open descriptor of this process. The name is empty if the descriptor is no
// memfd.
std::string name_of(int descriptor) {
    constexpr std::string_view kStart = "/memfd:";
    constexpr std::string_view kEnd = " (deleted)";
    const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
    std::array<char, 256> link{};
    const ssize_t length = readlink(path.c_str(), link.data(), link.size());
    const std::string_view text(link.data(), length < 0 ? 0 : static_cast<size_t>(length));
    if (!text.starts_with(kStart) || !text.ends_with(kEnd)) return {};
    return std::string(text.substr(kStart.size(), text.size() - kStart.size() - kEnd.size()));
}

}  // namespace

std::optional<SharedFile> SharedFile::create(Kind kind, int device, size_t bytes) {
    static std::atomic<uint64_t> created{0};
    SharedFile file;
    file.name_ = fmt::format("{}{}-{}-{}", start_of_name(kind), device, getpid(), ++created);
    file.device_ = device;
    file.bytes_ = bytes;
    file.descriptor_.reset(memfd_create(file.name_.c_str(), MFD_CLOEXEC));
    if (!file.descriptor_.valid() ||
        ftruncate(file.descriptor_.get(), static_cast<off_t>(bytes)) != 0)
        return std::nullopt;
    return file;
}

std::optional<SharedFile> SharedFile::of_descriptor(Kind kind, int descriptor) {
    return identify(kind, base::UniqueFd(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)));
}

std::optional<SharedFile> SharedFile::of_ticket(Kind kind, const Ticket& ticket) {
    if (ticket.magic != kTicketMagic) return std::nullopt;
    const std::string path = fmt::format("/proc/{}/fd/{}", ticket.process, ticket.descriptor);
    auto file = identify(kind, base::UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC)));
    const std::string_view name(ticket.name, strnlen(ticket.name, sizeof(ticket.name)));
    if (file && file->name_ != name) return std::nullopt;
    return file;
}

std::optional<SharedFile> SharedFile::identify(Kind kind, base::UniqueFd descriptor) {
    if (!descriptor.valid()) return std::nullopt;
    SharedFile file;
    file.name_ = name_of(descriptor.get());
    const std::string_view start = start_of_name(kind);
    struct stat status {};
    if (!file.name_.starts_with(start) || fstat(descriptor.get(), &status) != 0)
        return std::nullopt;
    const char* const number = file.name_.data() + start.size();
    const auto read = std::from_chars(number, file.name_.data() + file.name_.size(), file.device_);
    if (read.ec != std::errc()) return std::nullopt;
    file.bytes_ = static_cast<size_t>(status.st_size);
    file.descriptor_ = std::move(descriptor);
    return file;
}

Ticket SharedFile::ticket() const {
    Ticket ticket{};
    ticket.magic = kTicketMagic;
    ticket.process = getpid();
    ticket.descriptor = descriptor_.get();
    name_.copy(ticket.name, sizeof(ticket.name) - 1);
    return ticket;
}

}  // namespace pace::simulated_gpu
