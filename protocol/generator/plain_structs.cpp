#include "protocol/generator/plain_structs.h"

#include <fmt/format.h>

namespace pace::protocol::generator {

namespace {

constexpr const char* kStructsBegin =
    R"(// Generated from control.fbs: do not edit. The messages of the control plane as plain structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "protocol/options/asked_options.h"

namespace pace::protocol::messages {

)";

constexpr const char* kCodecsBegin =
    R"(// Generated from control.fbs: do not edit. Between the plain structs and the tables of FlatBuffers.
//
// Reading fails with `invalid` at an enumerator that this side does not know, or where a native type is; with `corrupt` where a
// message would take more memory than there is room for.
#pragma once

#include <protocol/control_generated.h>
#include <protocol/control_messages.h>

#include "protocol/control_natives.h"
#include "protocol/message_room.h"

namespace pace::protocol::messages {

)";

constexpr const char* kEnd = "}  // namespace pace::protocol::messages\n";

std::string comment_of(const std::vector<std::string>& lines, const char* indent) {
    std::string text;
    for (const std::string& line : lines) text += fmt::format("{}//{}\n", indent, line);
    return text;
}

std::string default_of(const FieldDef& field) {
    const flatbuffers::Type& type = field.value.type;
    if (type.enum_def != nullptr) {
        const flatbuffers::EnumVal* const value = type.enum_def->FindByValue(field.value.constant);
        // A field of a struct has no default.
        const std::string& name = value != nullptr ? value->name : type.enum_def->MinValue()->name;
        return fmt::format(" = {}::{}", type.enum_def->name, name);
    }
    if (type.base_type == flatbuffers::BASE_TYPE_BOOL)
        return field.value.constant == "0" ? " = false" : " = true";
    if (!scalar_of(type.base_type).empty()) return " = " + field.value.constant;
    return "{}";
}

std::string enum_of(const EnumDef& definition) {
    std::string text = comment_of(definition.doc_comment, "");
    text += fmt::format("enum class {} : {} {{\n", definition.name,
                        scalar_of(definition.underlying_type.base_type));
    for (const flatbuffers::EnumVal* value : definition.Vals())
        text += comment_of(value->doc_comment, "    ") +
                fmt::format("    {} = {},\n", value->name, definition.ToString(*value));
    return text + "};\n\n";
}

std::string struct_of(const StructDef& definition) {
    std::string text = comment_of(definition.doc_comment, "");
    text += fmt::format("struct {} {{\n", definition.name);
    for (const FieldDef* field : definition.fields.vec)
        text += comment_of(field->doc_comment, "    ") +
                fmt::format("    {} {}{};\n", type_of(field->value.type), field->name,
                            default_of(*field));
    return text +
           fmt::format("    bool operator==(const {}&) const = default;\n}};\n\n", definition.name);
}

std::string variant_of(const Schema& schema, const char* side, const char* name) {
    std::string names;
    for (const StructDef* table : schema.said_by(side))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", table->name);
    return fmt::format("using {} = std::variant<{}>;\n\n", name, names);
}

std::string codec_of(const StructDef& definition) {
    const char* const write =
        definition.fixed ? "control::{0} write(const {0}& message);\n"
                         : "flatbuffers::Offset<control::{0}> "
                           "write(flatbuffers::FlatBufferBuilder& builder, const {0}& message);\n";
    return fmt::format(fmt::runtime(write), definition.name) +
           fmt::format(
               "base::Result<> read(codec::Room& room, const control::{0}& wire, {0}& "
               "ret_message);\n",
               definition.name);
}

}  // namespace

std::string structs_of(const Schema& schema) {
    std::string text = kStructsBegin;
    for (const EnumDef* one : schema.enums()) text += enum_of(*one);
    for (const StructDef* one : schema.structs()) text += struct_of(*one);
    text += "// ---- what is said while a daemon is attached\n\n";
    text += variant_of(schema, "daemon", "FromDaemon");
    text += variant_of(schema, "controller", "FromController");
    return text + kEnd;
}

std::string codec_declarations_of(const Schema& schema) {
    std::string text = kCodecsBegin;
    for (const char* name : {"FromDaemon", "FromController"})
        text += fmt::format(
            "// The message in the envelope. False: it is none of them. Memory of `ret_message` is "
            "used again if that is of the same kind.\n"
            "base::Result<bool> read(const control::Envelope& envelope, {}& ret_message);\n\n",
            name);
    for (const StructDef* one : schema.structs()) text += codec_of(*one);
    text +=
        "\n// One table by itself, with the room that a message has.\n"
        "template <typename Wire, typename Message>\n"
        "base::Result<> read(const Wire& wire, Message& ret_message) {\n"
        "    codec::Room room;\n"
        "    return read(room, wire, ret_message);\n"
        "}\n";
    return text + "\n" + kEnd;
}

}  // namespace pace::protocol::generator
