// The messages of a schema, as what is generated from them needs them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <flatbuffers/idl.h>

#include "base/result.h"

namespace pace::protocol::generator {

using flatbuffers::EnumDef;
using flatbuffers::FieldDef;
using flatbuffers::StructDef;

// A schema, with the files that it includes. Attributes that it may use:
//   said_by (of a table in the union Body): "daemon" or "controller", to be in that variant; "link", to be in none.
//   native_type (of a table of any file): the C++ type that stands for it, with overloads of read_native() and write_native().
//   cut (of a string): a C++ expression; more bytes than that are left away. Without it a string is whole.
//   verbatim (of a string): also what is not printable.
class Schema {
  public:
    // Fails with what FlatBuffers says of the file.
    static base::Result<std::unique_ptr<Schema>> read(const std::string& path);

    // Of the schema's own file, in their order.
    std::vector<const EnumDef*> enums() const;
    std::vector<const StructDef*> structs() const;  // tables, too, but for the envelope

    // Tables of the union Body that `side` says.
    std::vector<const StructDef*> said_by(const std::string& side) const;

  private:
    bool is_own(const flatbuffers::Definition& definition) const;

    flatbuffers::Parser parser_;
};

// An attribute's text; empty: it has none.
std::string attribute(const flatbuffers::Definition& definition, const char* name);

// The C++ type of a plain struct's field, or of a vector's element.
std::string type_of(const flatbuffers::Type& type);
std::string scalar_of(flatbuffers::BaseType type);

// Whether a table is another C++ type.
bool is_native(const StructDef& table);

}  // namespace pace::protocol::generator
