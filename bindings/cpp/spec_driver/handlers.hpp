// Handlers: each handler does one kind of command. It returns the text after the status "PACE_OK",
// which is "" or " key=value ...". If the binding throws, the answer's status is the status of the
// exception.
#pragma once

#include <string>

#include <pace/pace.hpp>

#include "command.hpp"
#include "objects.hpp"

namespace spec {

// A handler throws Ended for a request that has ended otherwise than OK.
struct Ended {
    pace::failure why;
    std::string keys;  // the keys of its info
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

// answers.cpp: does any command except spawn and join, and returns the whole answer.
std::string answer_to(const Command& command, Objects& objects);

}  // namespace spec
