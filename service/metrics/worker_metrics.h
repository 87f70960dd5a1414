// The series of one worker.
#pragma once

#include "service/metrics/exposition.h"
#include "service/metrics/fields.h"

namespace pace::metrics {

// These functions read the document's "status" and "activity".
bool is_active(const Json& worker);
bool is_stopped(const Json& worker);
bool is_slow(const Json& worker);

// Adds at most kSeriesOfWorker series with these labels.
void add_worker(Exposition& metrics, const Json& worker, const Labels& labels);

}  // namespace pace::metrics
