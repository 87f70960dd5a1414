#include "service/http/server/aside.h"

#include <memory>
#include <utility>

#include "base/attempt.h"
#include "service/http/gate.h"

namespace pace::http {

namespace {

Response no_memory() {
    return refusal(503, "there is no memory for an answer; come back later");
}

}  // namespace

void Aside::run(std::function<Response()> work, const Reply& reply) {
    // The thread holds no state of the loop except what is bound to the scope.
    auto bound = scope_.bind([reply](Response response) { reply(std::move(response)); });
    const auto begin = [&] {
        thread_.run([post = post_, bound = std::move(bound), work = std::move(work)] {
            auto response = std::make_shared<Response>(no_memory());
            const bool done = base::attempt([&] { *response = work(); });
            if (!done) *response = no_memory();
            post([bound, response] { bound(std::move(*response)); });
        });
    };
    if (!base::attempt(begin)) reply(no_memory());
}

}  // namespace pace::http
