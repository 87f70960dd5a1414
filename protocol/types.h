// Element types, verbs and limits, as numbers on the wire. pace.h repeats them under its own names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/options/limits.h"

namespace pace::protocol {

// u32: indices alone, which no exchange adds up.
enum class DType : uint8_t { f32 = 1, f64 = 2, f16 = 3, bf16 = 4, u32 = 5 };

constexpr bool is_valid(DType type) {
    return type >= DType::f32 && type <= DType::u32;
}

// Bytes of one element; 0 for an invalid type.
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
    // Notes: they have no buffers, and no end that is told.
    announce = 8,
    take_back = 9,
    ready = 10,
    // Of parameter servers.
    push = 11,
    pull = 12,
    checkpoint = 13
};

// Of a request.
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

// What a worker does alone with what its node owes; all other verbs meet other workers.
constexpr bool is_local(Verb verb) {
    return verb == Verb::residual_save || verb == Verb::residual_load;
}

// Of a parameter server.
constexpr bool is_served(Verb verb) {
    return verb == Verb::push || verb == Verb::pull || verb == Verb::checkpoint;
}

constexpr bool has_buffers(Verb verb) {
    return verb != Verb::barrier && verb != Verb::checkpoint;
}

// What becomes of the buffers' contents. A broadcast only reads the root's.
constexpr bool reads_buffers(Verb verb) {
    return has_buffers(verb) && verb != Verb::pull && verb != Verb::residual_save;
}
constexpr bool writes_buffers(Verb verb) {
    return has_buffers(verb) && verb != Verb::push && verb != Verb::residual_load;
}

// From which end of its buffers a trainer makes their elements ready.
enum class Order : uint8_t { all_at_once = 0, forward = 1, backward = 2 };

constexpr bool is_valid(Order order) {
    return order <= Order::backward;
}

enum class ReduceOp : uint8_t { mean = 0, sum = 1 };

// Whether the result may go elsewhere than to where the contents are.
constexpr bool takes_results(Verb verb) {
    return verb == Verb::average || verb == Verb::reduce || verb == Verb::sync;
}

inline constexpr uint32_t kBuffersPerExchangeMax = 256;

}  // namespace pace::protocol
