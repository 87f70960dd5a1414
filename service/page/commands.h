// The operator's commands from the status page or from curl, as routes. They need the operator's
// token.
#pragma once

#include <string>

#include "base/result.h"
#include "service/http/routes.h"

namespace pace::page {

// Executes the commands. ControllerServer has functions of the same names.
class Commands {
  public:
    virtual ~Commands() = default;
    virtual base::Result<> set_draining(const std::string& node, bool draining) = 0;
    virtual base::Result<> delete_job(const std::string& job) = 0;
};

// Adds POST "/api/nodes/NAME/drain", "/api/nodes/NAME/undrain" and "/api/jobs/NAME/delete".
// `commands` must outlive the routes. A refused command is answered with a line that says why. Its
// status is 404 if there is no such node or job, and 409 otherwise.
void add_commands(http::Routes& routes, Commands& commands);

}  // namespace pace::page
