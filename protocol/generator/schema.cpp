#include "protocol/generator/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <flatbuffers/util.h>

namespace pace::protocol::generator {

namespace {

constexpr const char* kEnvelope = "Envelope";

}  // namespace

base::Result<std::unique_ptr<Schema>> Schema::read(const std::string& path) {
    std::string text;
    if (!flatbuffers::LoadFile(path.c_str(), false, &text))
        return base::make_error(base::ErrorKind::invalid, "{} cannot be read", path);
    auto schema = std::make_unique<Schema>();
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const char* includes[] = {folder.c_str(), nullptr};
    if (!schema->parser_.Parse(text.c_str(), includes, path.c_str()))
        return base::make_error(base::ErrorKind::invalid, "{}", schema->parser_.error_);
    for (const StructDef* table : schema->structs())
        for (const FieldDef* field : table->fields.vec)
            if (type_of(field->value.type).empty())
                return base::make_error(base::ErrorKind::invalid,
                                        "{}.{} is of a type that no plain struct has", table->name,
                                        field->name);
    return schema;
}

// Included definitions have been declared in another file.
bool Schema::is_own(const flatbuffers::Definition& definition) const {
    return definition.defined_namespace == parser_.root_struct_def_->defined_namespace;
}

std::vector<const EnumDef*> Schema::enums() const {
    std::vector<const EnumDef*> found;
    for (const EnumDef* one : parser_.enums_.vec)
        if (!one->is_union && is_own(*one)) found.push_back(one);
    return found;
}

std::vector<const StructDef*> Schema::structs() const {
    std::vector<const StructDef*> found;
    for (const StructDef* one : parser_.structs_.vec)
        if (is_own(*one) && !is_native(*one) && one->name != kEnvelope) found.push_back(one);
    return found;
}

std::vector<const StructDef*> Schema::said_by(const std::string& side) const {
    std::vector<const StructDef*> found;
    const EnumDef* const body = parser_.enums_.Lookup(
        parser_.root_struct_def_->defined_namespace->GetFullyQualifiedName("Body"));
    for (const flatbuffers::EnumVal* one : body->Vals()) {
        const StructDef* const table = one->union_type.struct_def;
        if (table != nullptr && attribute(*table, "said_by") == side) found.push_back(table);
    }
    return found;
}

std::string attribute(const flatbuffers::Definition& definition, const char* name) {
    const flatbuffers::Value* const value = definition.attributes.Lookup(name);
    return value == nullptr ? std::string() : value->constant;
}

bool is_native(const StructDef& table) {
    return !attribute(table, "native_type").empty();
}

std::string scalar_of(flatbuffers::BaseType type) {
    switch (type) {
        case flatbuffers::BASE_TYPE_BOOL:
            return "bool";
        case flatbuffers::BASE_TYPE_UCHAR:
            return "uint8_t";
        case flatbuffers::BASE_TYPE_INT:
            return "int32_t";
        case flatbuffers::BASE_TYPE_UINT:
            return "uint32_t";
        case flatbuffers::BASE_TYPE_LONG:
            return "int64_t";
        case flatbuffers::BASE_TYPE_ULONG:
            return "uint64_t";
        case flatbuffers::BASE_TYPE_DOUBLE:
            return "double";
        default:
            return {};
    }
}

std::string type_of(const flatbuffers::Type& type) {
    if (type.base_type == flatbuffers::BASE_TYPE_STRING) return "std::string";
    if (type.base_type == flatbuffers::BASE_TYPE_STRUCT)
        return is_native(*type.struct_def) ? attribute(*type.struct_def, "native_type")
                                           : type.struct_def->name;
    if (type.base_type != flatbuffers::BASE_TYPE_VECTOR)
        return type.enum_def != nullptr ? type.enum_def->name : scalar_of(type.base_type);
    // A vector of uint8 holds bytes, not numbers.
    if (type.element == flatbuffers::BASE_TYPE_UCHAR) return "std::vector<std::byte>";
    const std::string element = type_of(type.VectorType());
    return element.empty() ? element : fmt::format("std::vector<{}>", element);
}

}  // namespace pace::protocol::generator
