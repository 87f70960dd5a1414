#include "base/log/journal_entry.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace pace::base {

namespace {

constexpr std::array<std::string_view, 5> kOwnNames{"job", "rank", "node", "peer", "exchange"};

void append_length(std::string& bytes, uint64_t length) {
    for (int shift = 0; shift < 64; shift += 8)
        bytes += static_cast<char>(static_cast<unsigned char>(length >> shift));
}

}  // namespace

// A value with a line break is written with its length. Any other value stands between "=" and a
// line break.
void JournalEntry::add(std::string_view field, std::string_view value) {
    constexpr std::string_view kCut = "…";
    std::string cut;
    if (value.size() > kValueBytesMax) {
        cut = value.substr(0, kValueBytesMax - kCut.size());
        cut += kCut;
        value = cut;
    }
    bytes_ += field;
    if (value.find('\n') == std::string_view::npos) {
        bytes_ += '=';
    } else {
        bytes_ += '\n';
        append_length(bytes_, value.size());
    }
    bytes_ += value;
    bytes_ += '\n';
}

std::string journal_field(std::string_view key) {
    constexpr size_t kFieldBytesMax = 64;
    if (key == "group" || key == "round") return "EXCHANGE";
    std::string field = "PACE_";
    for (const std::string_view own : kOwnNames)
        if (key == own) field.clear();
    for (const char c : key.substr(0, kFieldBytesMax - field.size())) {
        const bool is_lower = c >= 'a' && c <= 'z';
        const bool fits = is_lower || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        field += is_lower ? static_cast<char>(c - 'a' + 'A') : fits ? c : '_';
    }
    return field;
}

JournalSocket::JournalSocket(std::string path)
    : path_(std::move(path)), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}

// The socket is not connected: a restarted journal listens at the same path.
JournalSocket::Sent JournalSocket::send(const JournalEntry& entry) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (!fd_.valid() || path_.size() >= sizeof(address.sun_path)) return Sent::absent;
    std::memcpy(address.sun_path, path_.c_str(), path_.size());
    const std::string& bytes = entry.bytes();
    const ssize_t sent = sendto(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (sent >= 0) return Sent::done;
    const bool is_full = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR;
    return is_full ? Sent::full : Sent::absent;
}

}  // namespace pace::base
