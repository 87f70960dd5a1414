// What the workers of a job have told of it as a whole, as text: how far the training is, and what
// top-k keeps back. Pure.
#pragma once

#include <string>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// "  training: 4200 of 10000 steps, 35 min left\n"; empty where no trainer has told its steps.
std::string training_line(const Json& job);
// "  top-k keeps back gradients in 4.0 MiB, for 7 exchanges\n"; empty of a job without top-k.
std::string residual_line(const Json& job);

}  // namespace pace::pacectl
