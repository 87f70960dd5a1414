// What the generated codecs are made of: fields of a table to fields of a plain struct, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "base/result.h"
#include "protocol/options/printable.h"

namespace pace::protocol::codec {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename Wire>
using Vector = flatbuffers::Vector<Wire>;

inline constexpr size_t kWhole = std::numeric_limits<size_t>::max();

// ---- write; what is empty is not sent

inline flatbuffers::Offset<flatbuffers::String> write_text(Builder& builder, std::string_view text,
                                                           size_t bytes_max) {
    const std::string_view cut = text.substr(0, bytes_max);
    return builder.CreateString(cut.data(), cut.size());
}

inline flatbuffers::Offset<Vector<uint8_t>> write_bytes(Builder& builder,
                                                        const std::vector<std::byte>& bytes) {
    return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

template <typename Wire, typename Plain>
flatbuffers::Offset<Wire> write_part(Builder& builder, const Plain& plain) {
    if (plain == Plain{}) return {};
    return write(builder, plain);
}

template <typename Number>
flatbuffers::Offset<Vector<Number>> write_numbers(Builder& builder,
                                                  const std::vector<Number>& numbers) {
    if (numbers.empty()) return {};
    return builder.CreateVector(numbers);
}

template <typename Wire, typename Plain>
flatbuffers::Offset<Vector<const Wire*>> write_structs(Builder& builder,
                                                       const std::vector<Plain>& plain) {
    if (plain.empty()) return {};
    return builder.CreateVectorOfStructs<Wire>(
        plain.size(), [&plain](size_t i, Wire* ret_wire) { *ret_wire = write(plain[i]); });
}

template <typename Wire, typename Plain>
flatbuffers::Offset<Vector<flatbuffers::Offset<Wire>>> write_tables(
    Builder& builder, const std::vector<Plain>& plain) {
    if (plain.empty()) return {};
    std::vector<flatbuffers::Offset<Wire>> tables;
    tables.reserve(plain.size());
    for (const Plain& one : plain) tables.push_back(write(builder, one));
    return builder.CreateVector(tables);
}

// ---- read; what is absent is empty

inline void read_verbatim(const flatbuffers::String* text, size_t bytes_max,
                          std::string& ret_text) {
    ret_text = text == nullptr ? std::string_view() : text->string_view().substr(0, bytes_max);
}

inline void read_text(const flatbuffers::String* text, size_t bytes_max, std::string& ret_text) {
    ret_text =
        text == nullptr ? std::string() : printable(text->string_view().substr(0, bytes_max));
}

inline void read_bytes(const Vector<uint8_t>* bytes, std::vector<std::byte>& ret_bytes) {
    ret_bytes.clear();
    if (bytes == nullptr) return;
    const auto* const data = reinterpret_cast<const std::byte*>(bytes->data());
    ret_bytes.assign(data, data + bytes->size());
}

template <typename Number>
void read_numbers(const Vector<Number>* numbers, std::vector<Number>& ret_numbers) {
    ret_numbers.clear();
    if (numbers != nullptr) ret_numbers.assign(numbers->begin(), numbers->end());
}

template <typename Wire, typename Plain>
base::Result<> read_all(const Vector<Wire>* wire, std::vector<Plain>& ret_plain) {
    ret_plain.resize(wire == nullptr ? 0 : wire->size());
    for (size_t i = 0; i < ret_plain.size(); ++i)
        PACE_TRY(read(*wire->Get(static_cast<flatbuffers::uoffset_t>(i)), ret_plain[i]));
    return {};
}

template <typename Wire, typename Plain>
base::Result<> read_choice(Wire value, Wire least, Wire greatest, const char* name,
                           Plain& ret_choice) {
    if (value < least || value > greatest)
        return base::make_error(base::ErrorKind::invalid,
                                "{} has the value {}, which this side does not know", name,
                                static_cast<unsigned>(value));
    ret_choice = static_cast<Plain>(value);
    return {};
}

template <typename Plain, typename Wire, typename Variant>
base::Result<bool> read_into(const Wire& wire, Variant& ret_message) {
    Plain* plain = std::get_if<Plain>(&ret_message);
    if (plain == nullptr) plain = &ret_message.template emplace<Plain>();
    PACE_TRY(read(wire, *plain));
    return true;
}

}  // namespace pace::protocol::codec
