// Output: what commands print, and how they get documents and report errors.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "libclient/link/endpoint.h"
#include "libclient/link/tool_link.h"
#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// Prints "pacectl: MESSAGE" on stderr and returns the exit code for its kind (exit_code.h).
int say_error(const base::Error& error);

// The same for errors that do not come from a connection.
int say_local_error(const base::Error& error);

// Prints "pacectl: TEXT" on stderr, for people.
void say(std::string_view text);

// Prints on stdout and returns the exit code. A closed pipe is an error like any other.
int print(std::string_view text);

// A document for programs: ASCII only, so that it cannot harm a terminal. json_text is indented;
// json_line is one line.
std::string json_text(const Json& document);
std::string json_line(const Json& document);

// Connects to the daemon. A missing daemon is `unavailable`.
base::Result<client::ToolLink> connect(const client::Endpoint& endpoint);

// The document `what` of the daemon at `endpoint`, as received. Any reason why the daemon cannot
// get the controller's document is `no_controller`.
base::Result<std::string> fetch(const client::Endpoint& endpoint, std::string_view what);
base::Result<Json> fetch_document(const client::Endpoint& endpoint, std::string_view what);

}  // namespace pace::pacectl
