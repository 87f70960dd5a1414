// Fuzzes the messages that a controller, or a process that pretends to be one, may send to a
// daemon. Each envelope is read as an attached daemon reads it.
#include <algorithm>
#include <span>
#include <variant>

#include "protocol/control_codec.h"
#include "tests/fuzz/chunks.h"

namespace messages = pace::protocol::messages;

namespace {

std::span<const std::byte> written(pace::protocol::EnvelopeWriter& writer,
                                   const messages::FromController& message) {
    return std::visit([&writer](const auto& said) { return writer.write(1, 2, said); }, message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    messages::FromController message;
    for (const auto& chunk : pace::fuzz::chunks_of(pace::fuzz::bytes_of(data, size))) {
        const auto envelope = pace::protocol::verify_envelope(chunk);
        if (!envelope) continue;
        const auto is_read = messages::read(**envelope, message);
        if (!is_read || !*is_read) continue;
        // A message that was read can be written again, and is the same then. The bytes are
        // compared, since a number may be NaN.
        pace::protocol::EnvelopeWriter first;
        pace::protocol::EnvelopeWriter second;
        const auto said = written(first, message);
        messages::FromController again;
        const auto is_again = messages::read(**pace::protocol::verify_envelope(said), again);
        if (!is_again || !*is_again || !std::ranges::equal(said, written(second, again)))
            __builtin_trap();
    }
    return 0;
}
