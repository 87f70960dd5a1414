// pace: the C++ interface of Pace, for C++17 and later; header-only, over pace.h and libpace.
//
//     pace::session_options where;
//     where.job = "fashion";
//     where.policy = "partial-reduce";
//     where.rank = rank;
//     where.world = 8;
//     where.options = {{"group.size", 3}};
//     pace::session session(where);
//     pace::buffer<float> model = session.make_buffer<float>(7850);
//     std::uint64_t step = session.broadcast(model).wait().iteration;
//     while (step < steps) {
//         local_step(model.elements());
//         step = session.average(model, {step}).wait().iteration + 1;
//     }
//     session.leave();
//
// Failures are exceptions, a class for each status (error.hpp). Every call that can fail has a
// second form, which takes pace::nothrow as its first argument, returns a pace::result and throws
// nothing. Under -fno-exceptions only this form exists.
#pragma once

#include <pace/buffer.hpp>
#include <pace/element.hpp>
#include <pace/error.hpp>
#include <pace/failure.hpp>
#include <pace/info.hpp>
#include <pace/operands.hpp>
#include <pace/option.hpp>
#include <pace/query.hpp>
#include <pace/request.hpp>
#include <pace/result.hpp>
#include <pace/session.hpp>
#include <pace/span.hpp>
#include <pace/status.hpp>
#include <pace/tensor.hpp>
#include <pace/verb_calls.hpp>
#include <pace/verb_options.hpp>
#include <pace/verbs.hpp>
#include <pace/wait_any.hpp>
