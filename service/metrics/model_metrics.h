// The series of a model on parameter servers.
#pragma once

#include "service/metrics/exposition.h"
#include "service/metrics/fields.h"

namespace pace::metrics {

void add_model(Exposition& metrics, const Json& model, const Labels& labels);

}  // namespace pace::metrics
