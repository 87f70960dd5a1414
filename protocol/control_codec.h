// The control plane's envelopes. Received envelopes are verified, sent envelopes are built.
//
// Generated code reads and writes the bodies (<protocol/control_message_codecs.h>). The functions
// here do the check that comes before any reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <protocol/control_generated.h>
#include <protocol/control_message_codecs.h>

#include "base/result.h"
#include "protocol/types.h"

namespace pace::protocol {

// The longest envelope that a daemon may send.
inline constexpr size_t kToControllerBytesMax = size_t{1} << 20U;
// The longest envelope that a daemon accepts: the order of a group of kWorldMax workers.
inline constexpr size_t kToDaemonBytesMax = size_t{4} << 20U;
// The longest part of a recording that one message carries.
inline constexpr size_t kRecordingBytesMax = kToControllerBytesMax - (size_t{64} << 10U);

// Returns the envelope in `bytes_untrusted`, or fails with `corrupt`. After success the caller may
// read every field. The fields' values are still only what the sender claims. The bytes must be the
// receiver's own copy, aligned as malloc aligns. They must outlive the envelope.
base::Result<const control::Envelope*> verify_envelope(std::span<const std::byte> bytes_untrusted);

// Builds one envelope at a time, in memory that the writer keeps:
//   writer.finish(node, attachment, control::CreateReady(writer.begin(), job, …))
class EnvelopeWriter {
  public:
    flatbuffers::FlatBufferBuilder& begin();

    // The bytes are valid until the next begin().
    template <typename Table>
    std::span<const std::byte> finish(uint32_t node, uint64_t attachment,
                                      flatbuffers::Offset<Table> body) {
        return finish_union(node, attachment, control::BodyTraits<Table>::enum_value, body.Union());
    }

    // Writes a plain struct (<protocol/control_message_codecs.h>).
    template <typename Message>
    std::span<const std::byte> write(uint32_t node, uint64_t attachment, const Message& message) {
        return finish(node, attachment, messages::write(begin(), message));
    }

  private:
    std::span<const std::byte> finish_union(uint32_t node, uint64_t attachment, control::Body type,
                                            flatbuffers::Offset<void> body);

    flatbuffers::FlatBufferBuilder builder_{512};
};

// The longest text of a reason or of an error message. The rest is cut.
inline constexpr size_t kReasonBytesMax = 1024;
// The longest name of a host. The rest is cut.
inline constexpr size_t kHostBytesMax = 255;

}  // namespace pace::protocol
