#include "protocol/control_codec.h"

namespace pace::protocol {

base::Result<const control::Envelope*> verify_envelope(std::span<const std::byte> bytes_untrusted) {
    // An empty vector's data may be null. The verifier does not expect null.
    if (bytes_untrusted.empty())
        return base::make_error(base::ErrorKind::corrupt, "an empty control message");
    const auto* data = reinterpret_cast<const uint8_t*>(bytes_untrusted.data());
    flatbuffers::Verifier verifier(data, bytes_untrusted.size());
    if (!control::VerifyEnvelopeBuffer(verifier))
        return base::make_error(base::ErrorKind::corrupt,
                                "a control message of {} bytes does not verify",
                                bytes_untrusted.size());
    const control::Envelope* envelope = control::GetEnvelope(data);
    // The verifier accepts what a newer side may add: a body of an unknown type, or no body.
    if (envelope->body_type() == control::Body::NONE ||
        envelope->body_type() > control::Body::MAX || envelope->body() == nullptr)
        return base::make_error(base::ErrorKind::corrupt, "a control message of unknown type {}",
                                static_cast<unsigned>(envelope->body_type()));
    return envelope;
}

flatbuffers::FlatBufferBuilder& EnvelopeWriter::begin() {
    builder_.Clear();
    return builder_;
}

std::span<const std::byte> EnvelopeWriter::finish_union(uint32_t node, uint64_t attachment,
                                                        control::Body type,
                                                        flatbuffers::Offset<void> body) {
    builder_.Finish(control::CreateEnvelope(builder_, node, attachment, type, body));
    return {reinterpret_cast<const std::byte*>(builder_.GetBufferPointer()), builder_.GetSize()};
}

}  // namespace pace::protocol
