// pace_message_generator SCHEMA STRUCTS_H CODECS_H CODECS_CPP: generates plain structs for the
// messages of a FlatBuffers schema, and the code that reads and writes them.
//
// FlatBuffers has an object interface of its own. Its structs hold vectors of pointers and classes
// with accessors, and are no aggregates. Both sides of the control plane keep and compare messages
// and make thousands of them, so the structs should be plain.
#include <fmt/format.h>

#include <cstdio>

#include <flatbuffers/util.h>

#include "protocol/generator/codecs.h"
#include "protocol/generator/plain_structs.h"
#include "protocol/generator/schema.h"

int main(int argc, char** argv) {
    using namespace pace::protocol::generator;
    if (argc != 5) {
        fmt::print(stderr, "usage: pace_message_generator SCHEMA STRUCTS_H CODECS_H CODECS_CPP\n");
        return 2;
    }
    const auto schema = Schema::read(argv[1]);
    if (!schema) {
        fmt::print(stderr, "pace_message_generator: {}\n", schema.error().message);
        return 1;
    }
    for (const auto& [path, text] : {std::pair(argv[2], structs_of(**schema)),
                                     std::pair(argv[3], codec_declarations_of(**schema)),
                                     std::pair(argv[4], source_of(**schema))}) {
        if (flatbuffers::SaveFile(path, text.c_str(), text.size(), false)) continue;
        fmt::print(stderr, "pace_message_generator: {} cannot be written\n", path);
        return 1;
    }
    return 0;
}
