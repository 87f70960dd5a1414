// Element types, verbs and limits, as numbers on the wire. pace.h repeats them under its own names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/options/limits.h"

namespace pace::protocol {

// u32 is only for indices. No exchange sums them.
enum class DType : uint8_t { f32 = 1, f64 = 2, f16 = 3, bf16 = 4, u32 = 5 };

constexpr bool is_valid(DType type) {
    return type >= DType::f32 && type <= DType::u32;
}

// Returns the bytes of one element, or 0 for an invalid type.
constexpr size_t size_of(DType type) {
    switch (type) {
        case DType::f32:
        case DType::u32:
            return 4;
        case DType::f64:
            return 8;
        case DType::f16:
        case DType::bf16:
            return 2;
    }
    return 0;
}

constexpr std::string_view name_of(DType type) {
    switch (type) {
        case DType::f32:
            return "f32";
        case DType::f64:
            return "f64";
        case DType::f16:
            return "f16";
        case DType::bf16:
            return "bf16";
        case DType::u32:
            return "u32";
    }
    return "?";
}

enum class Verb : uint8_t {
    broadcast = 1,
    average = 2,
    reduce = 3,
    sync = 4,
    barrier = 5,
    residual_save = 6,
    residual_load = 7,
    // Notes. They have no buffers, and nobody is told their end.
    announce = 8,
    take_back = 9,
    ready = 10,
    // Verbs of parameter servers.
    push = 11,
    pull = 12,
    checkpoint = 13
};

// Whether the verb is a valid verb of a request.
constexpr bool is_valid(Verb verb) {
    return (verb >= Verb::broadcast && verb <= Verb::residual_load) ||
           (verb >= Verb::push && verb <= Verb::checkpoint);
}

constexpr bool is_note(Verb verb) {
    return verb == Verb::announce || verb == Verb::take_back || verb == Verb::ready;
}

constexpr std::string_view name_of(Verb verb) {
    switch (verb) {
        case Verb::broadcast:
            return "broadcast";
        case Verb::average:
            return "average";
        case Verb::reduce:
            return "reduce";
        case Verb::sync:
            return "sync";
        case Verb::barrier:
            return "barrier";
        case Verb::residual_save:
            return "residual save";
        case Verb::residual_load:
            return "residual load";
        case Verb::announce:
            return "announce";
        case Verb::take_back:
            return "take back";
        case Verb::ready:
            return "ready";
        case Verb::push:
            return "push";
        case Verb::pull:
            return "pull";
        case Verb::checkpoint:
            return "checkpoint";
    }
    return "?";
}

// Whether a worker does the verb alone, on the residual of its node. All other verbs meet other
// workers.
constexpr bool is_local(Verb verb) {
    return verb == Verb::residual_save || verb == Verb::residual_load;
}

// Whether the verb is one of a parameter server.
constexpr bool is_served(Verb verb) {
    return verb == Verb::push || verb == Verb::pull || verb == Verb::checkpoint;
}

constexpr bool has_buffers(Verb verb) {
    return verb != Verb::barrier && verb != Verb::checkpoint;
}

// Whether an exchange reads the buffers' contents. A broadcast reads only the root's buffers.
constexpr bool reads_buffers(Verb verb) {
    return has_buffers(verb) && verb != Verb::pull && verb != Verb::residual_save;
}
// Whether an exchange writes to the buffers.
constexpr bool writes_buffers(Verb verb) {
    return has_buffers(verb) && verb != Verb::push && verb != Verb::residual_load;
}

// The end of its buffers from which a trainer makes the elements ready.
enum class Order : uint8_t { all_at_once = 0, forward = 1, backward = 2 };

constexpr bool is_valid(Order order) {
    return order <= Order::backward;
}

enum class ReduceOp : uint8_t { mean = 0, sum = 1 };

// Whether the result may go to other buffers than those that hold the contents.
constexpr bool takes_results(Verb verb) {
    return verb == Verb::average || verb == Verb::reduce || verb == Verb::sync;
}

inline constexpr uint32_t kBuffersPerExchangeMax = 256;

}  // namespace pace::protocol
