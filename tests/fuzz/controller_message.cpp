// What a controller, or whoever pretends to be one, may say to a daemon: each envelope is read as an attached daemon reads it.
#include "protocol/control_codec.h"
#include "tests/fuzz/chunks.h"

namespace messages = pace::protocol::messages;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    messages::FromController message;
    for (const auto& chunk : pace::fuzz::chunks_of(pace::fuzz::bytes_of(data, size))) {
        const auto envelope = pace::protocol::verify_envelope(chunk);
        if (!envelope) continue;
        const auto is_read = messages::read(**envelope, message);
        // Whatever was read can be said again, and is the same then.
        if (!is_read || !*is_read) continue;
        pace::protocol::EnvelopeWriter writer;
        const auto again = std::visit(
            [&](const auto& said) {
                return pace::protocol::verify_envelope(writer.write(1, 2, said));
            },
            message);
        messages::FromController same;
        if (!again || !messages::read(**again, same) || !(same == message)) __builtin_trap();
    }
    return 0;
}
