// What commands print, and the documents and errors that it is made from.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "libclient/endpoint.h"
#include "libclient/tool_link.h"
#include "service/pacectl/document.h"

namespace pace::pacectl {

// Prints "pacectl: MESSAGE" on stderr and gives the exit code of its kind (exit_code.h).
int say_error(const base::Error& error);

// Prints "pacectl: TEXT" on stderr, for people who read along.
void say(std::string_view text);

// Prints on stdout. A reader that has gone away (a closed pipe) is an error like any other.
int print(std::string_view text);

// A document for programs: only ASCII, so that it cannot harm a terminal. json_text is indented, json_line is one line.
std::string json_text(const Json& document);
std::string json_line(const Json& document);

// A connection to the daemon. A daemon that is not there is `unavailable`.
base::Result<client::ToolLink> connect(const client::Endpoint& endpoint);

// The document called `what` of the daemon at `endpoint`, as it came. Whatever keeps the daemon from
// having the controller's is `no_controller`.
base::Result<std::string> fetch(const client::Endpoint& endpoint, std::string_view what);
base::Result<Json> fetch_document(const client::Endpoint& endpoint, std::string_view what);

}  // namespace pace::pacectl
