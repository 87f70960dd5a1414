// The messages of a schema, in the form that the generator needs.
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

// A schema and the files that it includes. The schema may use these attributes:
//   said_by (of a table in the union Body): "daemon" or "controller": the table is in that side's
//       variant. "link": the table is in no variant.
//   native_type (of a table of any file): the C++ type that stands for the table. There must be
//       overloads of read_native() and write_native() for the type.
//   cut (of a string): a C++ expression for the most bytes. Further bytes are cut. A string without
//       this attribute is never cut.
//   verbatim (of a string): characters that are not printable are kept.
class Schema {
  public:
    // Fails with FlatBuffers's message about the file.
    static base::Result<std::unique_ptr<Schema>> read(const std::string& path);

    // The enums of the schema's own file, in the order of the file.
    std::vector<const EnumDef*> enums() const;
    // The structs and tables of the schema's own file, in the order of the file. The envelope is
    // left out.
    std::vector<const StructDef*> structs() const;

    // The tables of the union Body that `side` sends.
    std::vector<const StructDef*> said_by(const std::string& side) const;

  private:
    bool is_own(const flatbuffers::Definition& definition) const;

    flatbuffers::Parser parser_;
};

// An attribute's text. Empty means that the definition does not have the attribute.
std::string attribute(const flatbuffers::Definition& definition, const char* name);

// The C++ type of a plain struct's field, or of a vector's element.
std::string type_of(const flatbuffers::Type& type);
std::string scalar_of(flatbuffers::BaseType type);

// Whether the table has a native type.
bool is_native(const StructDef& table);

}  // namespace pace::protocol::generator
