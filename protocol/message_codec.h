// The functions that the generated codecs call. They convert the fields of a table to the fields of
// a plain struct, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "base/result.h"
#include "protocol/message_room.h"
#include "protocol/options/printable.h"

namespace pace::protocol::codec {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename Wire>
using Vector = flatbuffers::Vector<Wire>;

inline constexpr size_t kWhole = std::numeric_limits<size_t>::max();

// ---- write; empty values are not sent

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

// ---- read; absent values become empty

inline base::Result<> read_verbatim(Room& room, const flatbuffers::String* text, size_t bytes_max,
                                    std::string& ret_text) {
    ret_text.clear();
    if (text == nullptr) return {};
    const std::string_view cut = text->string_view().substr(0, bytes_max);
    PACE_TRY(room.take(cut.size()));
    ret_text = cut;
    return {};
}

inline base::Result<> read_text(Room& room, const flatbuffers::String* text, size_t bytes_max,
                                std::string& ret_text) {
    PACE_TRY(read_verbatim(room, text, bytes_max, ret_text));
    ret_text = printable(ret_text);
    return {};
}

inline base::Result<> read_bytes(Room& room, const Vector<uint8_t>* bytes,
                                 std::vector<std::byte>& ret_bytes) {
    ret_bytes.clear();
    if (bytes == nullptr) return {};
    PACE_TRY(room.take(bytes->size()));
    const auto* const data = reinterpret_cast<const std::byte*>(bytes->data());
    ret_bytes.assign(data, data + bytes->size());
    return {};
}

// Returns a copy of a vector's element. FlatBuffers verifies that elements lie within the message,
// but does not verify their alignment.
template <typename Element, typename Wire>
Element element(const Vector<Wire>& vector, size_t i) {
    Element copy;
    std::memcpy(&copy, vector.Data() + i * sizeof(Element), sizeof(Element));
    return copy;
}

template <typename Number>
base::Result<> read_numbers(Room& room, const Vector<Number>* numbers,
                            std::vector<Number>& ret_numbers) {
    const size_t count = numbers == nullptr ? 0 : numbers->size();
    PACE_TRY(room.take(count * sizeof(Number)));
    ret_numbers.resize(count);
    for (size_t i = 0; i < count; ++i)
        ret_numbers[i] = flatbuffers::EndianScalar(element<Number>(*numbers, i));
    return {};
}

template <typename Wire, typename Plain>
base::Result<> read_all(Room& room, const Vector<Wire>* wire, std::vector<Plain>& ret_plain) {
    const size_t count = wire == nullptr ? 0 : wire->size();
    PACE_TRY(room.take(count * sizeof(Plain)));
    ret_plain.resize(count);
    for (size_t i = 0; i < count; ++i) {
        if constexpr (std::is_pointer_v<Wire>)  // structs
            PACE_TRY(read(room, element<std::remove_const_t<std::remove_pointer_t<Wire>>>(*wire, i),
                          ret_plain[i]));
        else
            PACE_TRY(read(room, *wire->Get(static_cast<flatbuffers::uoffset_t>(i)), ret_plain[i]));
    }
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
    Room room;
    PACE_TRY(read(room, wire, *plain));
    return true;
}

}  // namespace pace::protocol::codec
