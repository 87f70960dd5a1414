// Handlers: each does one kind of command and gives what comes after the status "PACE_OK", "" or " key=value ...". What the
// binding throws is the answer's status.
#pragma once

#include <string>

#include <pace/pace.hpp>

#include "command.hpp"
#include "objects.hpp"

namespace spec {

// What a handler throws of a request that has ended otherwise than OK.
struct Ended {
    pace::failure why;
    std::string keys;  // of its info
};

// sessions.cpp
std::string open(const Command& command, Objects& objects);
std::string info(const Command& command, Objects& objects);
std::string leave(const Command& command, Objects& objects);
std::string free_session(const Command& command, Objects& objects);
std::string poll_descriptor(const Command& command, Objects& objects);
std::string report(const Command& command, Objects& objects);
std::string fork_child(const Command& command, Objects& objects);
std::string announce(const Command& command, Objects& objects);
std::string withdraw(const Command& command, Objects& objects);

// buffers.cpp
std::string make_buffer(const Command& command, Objects& objects);
std::string describe(const Command& command, Objects& objects);
std::string free_buffer(const Command& command, Objects& objects);
std::string release_buffer(const Command& command, Objects& objects);
std::string make_tensor(const Command& command, Objects& objects);

// elements.cpp
std::string write(const Command& command, Objects& objects);
std::string fill(const Command& command, Objects& objects);
std::string read(const Command& command, Objects& objects);
std::string read_tensor(const Command& command, Objects& objects);

// verbs.cpp
std::string begin_verb(const Command& command, Objects& objects);

// requests.cpp
std::string wait(const Command& command, Objects& objects);
std::string test(const Command& command, Objects& objects);
std::string next(const Command& command, Objects& objects);
std::string wait_any(const Command& command, Objects& objects);
std::string cancel(const Command& command, Objects& objects);
std::string ready(const Command& command, Objects& objects);

// library.cpp
std::string query(const Command& command, Objects& objects);
std::string version(const Command& command, Objects& objects);
std::string name(const Command& command, Objects& objects);

// answers.cpp: does any command but spawn and join, and gives the whole answer.
std::string answer_to(const Command& command, Objects& objects);

}  // namespace spec
