// Records: what the flight recorder is told of the controller's orders.
#pragma once

#include "daemon/control/messages.h"
#include "daemon/recorder/recorder.h"

namespace pace::daemon {

void record_order(Recorder& recorder, const control::PrepareView& view);
void record_order(Recorder& recorder, const control::CommitView& view);
void record_order(Recorder& recorder, const control::GroupOrder& order);
void record_order(Recorder& recorder, const control::WorkerSuspended& suspended);

}  // namespace pace::daemon
