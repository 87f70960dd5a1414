// The messages between a rank of a simulated communicator and its rendezvous, on a stream socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cuda/cuda_driver.h"

namespace pace::simulated_gpu {

enum class MessageKind : uint32_t {
    // Messages of a rank. A message that waits for the other ranks is answered when all ranks have
    // sent it.
    join,     // has a Joining
    connect,  // the first sum waits for the others, later ones do not
    // The data that is to be summed, of type `number`.
    share,
    finalize,
    // Messages of the rendezvous.
    done,    // answers join, connect or finalize
    total,   // the sum of the shares
    failed,  // the result `number`, and the reason as text
};

struct Joining {
    int bus;  // of its device, by which NCCL knows a GPU
    int rank;
    int world;
};

struct Message {
    MessageKind kind = MessageKind::done;
    int number = 0;
    std::vector<std::byte> bytes;

    std::string text() const;
};

// Returns false if the other side is gone.
bool send_message(int socket, MessageKind kind, int number = 0, const void* bytes = nullptr,
                  size_t size = 0);
bool send_text(int socket, MessageKind kind, int number, const std::string& text);
// Waits for a message. Returns nothing if the other side is gone.
std::optional<Message> receive_message(int socket);

}  // namespace pace::simulated_gpu
