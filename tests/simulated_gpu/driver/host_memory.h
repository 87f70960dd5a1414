// The interface to registered host memory for the rest of the library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace pace::simulated_gpu {

class Context;

// Whether all of this memory is registered.
bool is_registered(const void* memory, size_t bytes);

void forget_host_memory(const Context* context);

// Calls `use` with the word at this address of the device. Returns false if the word is not in
// registered memory. No memory is unregistered meanwhile.
bool with_word(unsigned long long address, const std::function<void(std::atomic<uint64_t>&)>& use);

}  // namespace pace::simulated_gpu
