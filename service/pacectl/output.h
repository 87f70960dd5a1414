// What commands print: documents and errors.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "libclient/endpoint.h"
#include "service/pacectl/document.h"

namespace pace::pacectl {

// Prints "pacectl: MESSAGE" on stderr and gives exit code 1.
int say_error(const base::Error& error);

// Prints on stdout. A reader that has gone away (a closed pipe) is an error like any other.
int print(std::string_view text);

// The document called `what` of the daemon at `endpoint`, as it came.
base::Result<std::string> fetch(const client::Endpoint& endpoint, std::string_view what);
base::Result<Json> fetch_document(const client::Endpoint& endpoint, std::string_view what);

}  // namespace pace::pacectl
