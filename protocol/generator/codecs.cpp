#include "protocol/generator/codecs.h"

#include <fmt/format.h>

namespace pace::protocol::generator {

namespace {

constexpr const char* kSourceBegin = R"(// Generated from control.fbs: do not edit.
#include <protocol/control_message_codecs.h>

#include "protocol/control_codec.h"
#include "protocol/message_codec.h"
#include "protocol/options/limits.h"
#include "protocol/zone.h"

namespace pace::protocol::messages {

using codec::Builder;
using codec::Room;

)";

// ------------------------------------------------------------------------------------------- write

std::string written(const FieldDef& field) {
    const flatbuffers::Type& type = field.value.type;
    std::string member = "message." + field.name;
    if (type.base_type == flatbuffers::BASE_TYPE_STRING) {
        const std::string most = attribute(field, "cut");
        return fmt::format("codec::write_text(builder, {}, {})", member,
                           most.empty() ? "codec::kWhole" : most);
    }
    if (type.base_type == flatbuffers::BASE_TYPE_STRUCT) {
        if (is_native(*type.struct_def)) return fmt::format("write_native(builder, {})", member);
        return type.struct_def->fixed ? fmt::format("write({})", member)
                                      : fmt::format("codec::write_part<control::{}>(builder, {})",
                                                    type.struct_def->name, member);
    }
    if (type.base_type == flatbuffers::BASE_TYPE_VECTOR) {
        if (type.element == flatbuffers::BASE_TYPE_UCHAR)
            return fmt::format("codec::write_bytes(builder, {})", member);
        if (type.element != flatbuffers::BASE_TYPE_STRUCT)
            return fmt::format("codec::write_numbers(builder, {})", member);
        return fmt::format("codec::{}<control::{}>(builder, {})",
                           type.struct_def->fixed ? "write_structs" : "write_tables",
                           type.struct_def->name, member);
    }
    if (type.enum_def != nullptr)
        return fmt::format("static_cast<control::{}>({})", type.enum_def->name, member);
    return member;
}

std::string struct_writer(const StructDef& definition) {
    std::string arguments;
    for (const FieldDef* field : definition.fields.vec)
        arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", written(*field));
    return fmt::format("control::{0} write(const {0}& message) {{ return control::{0}({1}); }}\n\n",
                       definition.name, arguments);
}

std::string table_writer(const StructDef& definition) {
    // Parts that lie outside the table are written before the table is begun.
    std::string parts;
    std::string fields;
    for (const FieldDef* field : definition.fields.vec) {
        const flatbuffers::Type& type = field->value.type;
        std::string value = written(*field);
        if (!flatbuffers::IsScalar(type.base_type)) {
            parts += fmt::format("    const auto {} = {};\n", field->name, value);
            const bool is_struct = flatbuffers::IsStruct(type);
            value = (is_struct ? "&" : "") + field->name;
        }
        fields += fmt::format("    table.add_{}({});\n", field->name, value);
    }
    return fmt::format(
        "flatbuffers::Offset<control::{0}> write(Builder& builder, [[maybe_unused]] const {0}& "
        "message) {{\n"
        "{1}    control::{0}Builder table(builder);\n{2}    return table.Finish();\n}}\n\n",
        definition.name, parts, fields);
}

// -------------------------------------------------------------------------------------------- read

std::string enum_reader(const FieldDef& field) {
    const EnumDef& definition = *field.value.type.enum_def;
    return fmt::format(
        "    PACE_TRY(codec::read_choice(wire.{0}(), control::{1}::MIN, control::{1}::MAX, "
        "\"{0}\", ret_message.{0}));\n",
        field.name, definition.name);
}

std::string vector_reader(const FieldDef& field) {
    const flatbuffers::Type& type = field.value.type;
    if (type.element == flatbuffers::BASE_TYPE_UCHAR)
        return fmt::format("    PACE_TRY(codec::read_bytes(room, wire.{0}(), ret_message.{0}));\n",
                           field.name);
    if (type.element != flatbuffers::BASE_TYPE_STRUCT)
        return fmt::format(
            "    PACE_TRY(codec::read_numbers(room, wire.{0}(), ret_message.{0}));\n", field.name);
    return fmt::format("    PACE_TRY(codec::read_all(room, wire.{0}(), ret_message.{0}));\n",
                       field.name);
}

std::string field_reader(const FieldDef& field, bool of_struct) {
    const flatbuffers::Type& type = field.value.type;
    if (type.base_type == flatbuffers::BASE_TYPE_STRING) {
        const std::string most = attribute(field, "cut");
        return fmt::format("    PACE_TRY(codec::{2}(room, wire.{0}(), {1}, ret_message.{0}));\n",
                           field.name, most.empty() ? "codec::kWhole" : most,
                           field.attributes.Lookup("verbatim") ? "read_verbatim" : "read_text");
    }
    if (type.base_type == flatbuffers::BASE_TYPE_VECTOR) return vector_reader(field);
    if (type.base_type == flatbuffers::BASE_TYPE_STRUCT) {
        if (of_struct)
            return fmt::format("    PACE_TRY(read(room, wire.{0}(), ret_message.{0}));\n",
                               field.name);
        return fmt::format(
            "    if (const auto* part = wire.{0}())\n"
            "        PACE_TRY({1}*part, ret_message.{0}));\n"
            "    else\n"
            "        ret_message.{0} = {{}};\n",
            field.name, is_native(*type.struct_def) ? "read_native(" : "read(room, ");
    }
    if (type.enum_def != nullptr) return enum_reader(field);
    return fmt::format("    ret_message.{0} = wire.{0}();\n", field.name);
}

std::string reader(const StructDef& definition) {
    std::string fields;
    for (const FieldDef* field : definition.fields.vec)
        fields += field_reader(*field, definition.fixed);
    return fmt::format(
        "base::Result<> read([[maybe_unused]] Room& room, [[maybe_unused]] const control::{0}& "
        "wire, "
        "[[maybe_unused]] {0}& ret_message) {{\n"
        "{1}    return {{}};\n}}\n\n",
        definition.name, fields);
}

std::string variant_reader(const Schema& schema, const char* side, const char* name) {
    std::string cases;
    for (const StructDef* table : schema.said_by(side))
        cases += fmt::format(
            "        case control::Body::{0}:\n"
            "            return codec::read_into<{0}>(*envelope.body_as_{0}(), ret_message);\n",
            table->name);
    return fmt::format(
        "// NOLINTNEXTLINE(readability-function-size): a table of messages\n"
        "base::Result<bool> read(const control::Envelope& envelope, {0}& ret_message) {{\n"
        "    switch (envelope.body_type()) {{\n{1}"
        "        default:\n            return false;\n    }}\n}}\n\n",
        name, cases);
}

}  // namespace

std::string source_of(const Schema& schema) {
    std::string text = kSourceBegin;
    for (const StructDef* one : schema.structs()) {
        text += one->fixed ? struct_writer(*one) : table_writer(*one);
        text += reader(*one);
    }
    text += variant_reader(schema, "daemon", "FromDaemon");
    text += variant_reader(schema, "controller", "FromController");
    return text + "}  // namespace pace::protocol::messages\n";
}

}  // namespace pace::protocol::generator
