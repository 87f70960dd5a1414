// What an operator may have done from the status page or by curl, as routes for whoever has the operator's token.
#pragma once

#include <string>

#include "base/result.h"
#include "service/http/routes.h"

namespace pace::page {

// Whoever does it; ControllerServer has functions of the same names.
class Commands {
  public:
    virtual ~Commands() = default;
    virtual base::Result<> set_draining(const std::string& node, bool draining) = 0;
    virtual base::Result<> delete_job(const std::string& job) = 0;
};

// POST "/api/nodes/NAME/drain", "/api/nodes/NAME/undrain" and "/api/jobs/NAME/delete". `commands` must outlive the routes. What is refused is
// answered with 404 where there is no such node or job, and else with 409, and a line that says why.
void add_commands(http::Routes& routes, Commands& commands);

}  // namespace pace::page
