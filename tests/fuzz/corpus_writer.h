// The functions with which make_corpus writes its files.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <protocol/client_generated.h>

#include "protocol/control_codec.h"
#include "protocol/option_codec.h"
#include "tests/fuzz/chunks.h"

namespace pace::fuzz {

namespace client = pace::protocol::client;
namespace control = pace::protocol::control;

inline std::filesystem::path& corpus_root() {
    static std::filesystem::path root;
    return root;
}

inline void write(const std::string& target, const std::string& name, const Bytes& bytes) {
    std::filesystem::create_directories(corpus_root() / target);
    std::ofstream file(corpus_root() / target / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

inline auto client_options(flatbuffers::FlatBufferBuilder& builder) {
    return protocol::write_job_options(builder,
                                       protocol::AskedOptions("fashion", 3, "partial-reduce"));
}

inline auto control_options(flatbuffers::FlatBufferBuilder& builder) {
    return protocol::write_job_options(builder,
                                       protocol::AskedOptions("fashion", 2, "partial-reduce"));
}

class Conversation {
  public:
    template <typename Build>
    void say(uint32_t node, uint64_t attachment, Build build) {
        pace::protocol::EnvelopeWriter writer;
        auto& builder = writer.begin();
        const auto body = build(builder);
        append_chunk(input, writer.finish(node, attachment, body));
    }
    Bytes input;
};

// Writes the messages to a daemon: from its controller, from trainers, and from peers.
void write_orders();
void write_trainers();
void write_peers();
void write_encrypted_data_plane();

}  // namespace pace::fuzz
