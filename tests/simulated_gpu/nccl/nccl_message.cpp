#include "tests/simulated_gpu/nccl/nccl_message.h"

#include <sys/socket.h>

#include <cerrno>

namespace pace::simulated_gpu {

namespace {

struct Header {
    MessageKind kind;
    int number;
    uint64_t size;  // the size of the data that follows
};

bool send_all(int socket, const void* bytes, size_t size) {
    const char* next = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t sent = send(socket, next, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        next += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

bool receive_all(int socket, void* ret_bytes, size_t size) {
    char* next = static_cast<char*>(ret_bytes);
    while (size > 0) {
        const ssize_t got = recv(socket, next, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        next += got;
        size -= static_cast<size_t>(got);
    }
    return true;
}

}  // namespace

std::string Message::text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool send_message(int socket, MessageKind kind, int number, const void* bytes, size_t size) {
    const Header header{kind, number, size};
    return send_all(socket, &header, sizeof(header)) && send_all(socket, bytes, size);
}

bool send_text(int socket, MessageKind kind, int number, const std::string& text) {
    return send_message(socket, kind, number, text.data(), text.size());
}

std::optional<Message> receive_message(int socket) {
    Header header{};
    if (!receive_all(socket, &header, sizeof(header))) return std::nullopt;
    Message message{header.kind, header.number, std::vector<std::byte>(header.size)};
    if (!receive_all(socket, message.bytes.data(), message.bytes.size())) return std::nullopt;
    return message;
}

}  // namespace pace::simulated_gpu
