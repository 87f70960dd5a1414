// The control plane's envelopes: verified on the way in, built on the way out.
//
// What is inside is read and written by what is generated (<protocol/control_message_codecs.h>); here is the check that comes before
// any reading.
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

// Longest envelope that a daemon may send, and that it accepts: the order of a group of kWorldMax.
inline constexpr size_t kToControllerBytesMax = size_t{1} << 20U;
inline constexpr size_t kToDaemonBytesMax = size_t{4} << 20U;

// The envelope in `bytes_untrusted`, or `corrupt`. After this every field may be read; what the
// fields say is still only what the sender claims. The bytes must be the receiver's own copy,
// aligned as malloc aligns, and outlive the envelope.
base::Result<const control::Envelope*> verify_envelope(std::span<const std::byte> bytes_untrusted);

// Builds one envelope at a time in memory that it keeps:
//   writer.finish(node, attachment, control::CreateReady(writer.begin(), job, …))
class EnvelopeWriter {
  public:
    flatbuffers::FlatBufferBuilder& begin();

    // Valid until the next begin().
    template <typename Table>
    std::span<const std::byte> finish(uint32_t node, uint64_t attachment,
                                      flatbuffers::Offset<Table> body) {
        return finish_union(node, attachment, control::BodyTraits<Table>::enum_value, body.Union());
    }

    // Of a plain struct (<protocol/control_message_codecs.h>).
    template <typename Message>
    std::span<const std::byte> write(uint32_t node, uint64_t attachment, const Message& message) {
        return finish(node, attachment, messages::write(begin(), message));
    }

  private:
    std::span<const std::byte> finish_union(uint32_t node, uint64_t attachment, control::Body type,
                                            flatbuffers::Offset<void> body);

    flatbuffers::FlatBufferBuilder builder_{512};
};

// Longest text of a reason or an error message, and name of a host; the rest is cut.
inline constexpr size_t kReasonBytesMax = 1024;
inline constexpr size_t kHostBytesMax = 255;

}  // namespace pace::protocol
