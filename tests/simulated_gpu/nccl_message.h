// What a rank of a simulated communicator and its rendezvous say to each other, on a stream socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cuda_driver.h"

namespace pace::simulated_gpu {

enum class MessageKind : uint32_t {
    // Of a rank; what waits for the others is answered when all have said it.
    join,     // a Joining
    connect,  // the first sum waits for the others, later ones do not
    share,    // what is to be summed; of type `number`
    finalize,
    // Of the rendezvous.
    done,    // join, connect or finalize
    total,   // of the shares
    failed,  // the result `number`, and why as text
};

struct Joining {
    base::cuda::CUuuid device;
    int rank;
    int world;
};

struct Message {
    MessageKind kind = MessageKind::done;
    int number = 0;
    std::vector<std::byte> bytes;

    std::string text() const;
};

// False if the other side is gone.
bool send_message(int socket, MessageKind kind, int number = 0, const void* bytes = nullptr,
                  size_t size = 0);
bool send_text(int socket, MessageKind kind, int number, const std::string& text);
// Waits. None: the other side is gone.
std::optional<Message> receive_message(int socket);

}  // namespace pace::simulated_gpu
