#include "tests/world/clients/processes.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "daemon/clients/packet.h"
#include "protocol/ring.h"

namespace pace::world {

namespace {

// Whether the descriptor is a socket that was accepted at this path.
bool is_accepted_at(int fd, const std::string& path) {
    sockaddr_un address{};
    socklen_t length = sizeof(address);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
    return address.sun_family == AF_UNIX && length > sizeof(address.sun_family) &&
           path == address.sun_path;
}

std::string name_of(const char* step, std::span<const std::byte> bytes) {
    const auto* packet = daemon::verify_packet(bytes);
    const char* const body =
        packet == nullptr ? "garbage" : protocol::client::EnumNameBody(packet->body_type());
    return fmt::format("{} the socket's {}", step, body);
}

}  // namespace

void Processes::cut_off(const Process& process, const std::string& path) {
    for (const auto& [data, mapping] : mappings_) {
        if (mapping.process != &process) continue;
        if (mmap(data, mapping.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, mapping.fd,
                 0) == MAP_FAILED)
            std::abort();
    }
    std::vector<int> open;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        open.push_back(std::atoi(entry.path().filename().c_str()));
    for (const int fd : open)
        if (is_accepted_at(fd, path)) (void)shutdown(fd, SHUT_RDWR);
}

int Processes::wait(std::span<pollfd> watched, base::TimePoint deadline) {
    return running_ == nullptr ? poll(watched.data(), watched.size(), 0)
                               : running_->wait(watched, deadline);
}

void Processes::passes(const char* step, std::span<const std::byte> packet) {
    // A process that dies passes nothing more.
    if (running_ == nullptr || std::uncaught_exceptions() > 0) return;
    running_->passes(packet.empty() ? step : name_of(step, packet));
}

void Processes::maps(std::byte* data, size_t bytes, int fd) {
    mappings_[data] = {bytes, fd, running_};
}

std::span<std::byte> Processes::ring_of(const Process& process) const {
    for (const auto& [data, mapping] : mappings_) {
        if (mapping.process != &process || mapping.bytes < sizeof(protocol::RingHeader)) continue;
        if (reinterpret_cast<const protocol::RingHeader*>(data)->magic == protocol::kRingMagic)
            return {data, mapping.bytes};
    }
    return {};
}

}  // namespace pace::world
