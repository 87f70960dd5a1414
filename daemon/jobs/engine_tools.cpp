// Engine: what tools ask of the controller, and the controller's answers.
#include "daemon/control/controller.h"
#include "daemon/jobs/engine.h"
#include "protocol/control_codec.h"

namespace pace::daemon {

uint64_t Engine::create_job(const control::AskedOptions& options, uint32_t uid,
                            const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, options, uid] {
        control::JobCreate message;
        message.request = ticket;
        message.options = options;
        message.uid = uid;
        return services_.control.send(message);
    };
    question.accepted = [answered](const control::JoinAccepted&, const control::JobOptions&) {
        answered(std::string());
    };
    question.refused = [answered](const base::Error& error) { answered(error); };
    return ask(ticket, std::move(question));
}

uint64_t Engine::delete_job(const std::string& name, uint32_t uid, const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, name, uid] {
        return services_.control.send(control::JobDelete{ticket, name, uid});
    };
    question.done = [answered] { answered(std::string()); };
    question.refused = [answered](const base::Error& error) { answered(error); };
    return ask(ticket, std::move(question));
}

uint64_t Engine::drain_node(const std::string& name, bool undo, const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, name, undo] {
        return services_.control.send(control::NodeDrain{ticket, name, undo});
    };
    question.done = [answered] { answered(std::string()); };
    question.refused = [answered](const base::Error& error) { answered(error); };
    return ask(ticket, std::move(question));
}

uint64_t Engine::status(const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket] {
        return services_.control.send(control::StatusRequest{ticket});
    };
    question.document = answered;
    question.refused = [answered](const base::Error& error) { answered(error); };
    return ask(ticket, std::move(question));
}

uint64_t Engine::recording(const std::string& node, uint64_t from, const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, node, from] {
        return services_.control.send(control::RecordingAsked{ticket, node, from});
    };
    question.document = answered;
    question.refused = [this, node, answered](const base::Error& error) {
        const bool is_late =
            error.kind == base::ErrorKind::no_controller && services_.control.attached();
        answered(is_late ? base::make_error(base::ErrorKind::timeout,
                                            "node {} has not answered; its daemon may be frozen, "
                                            "or of a release that cannot answer",
                                            node)
                         : error);
    };
    return ask(ticket, std::move(question));
}

void Engine::on(const control::RecordingWanted& wanted) {
    services_.recordings->make_part(
        wanted.from, protocol::kRecordingBytesMax,
        scope_.bind([this, ticket = wanted.ticket](const std::string& json) {
            services_.control.send(control::RecordingMade{ticket, json});
        }));
}

void Engine::on(const control::RecordingReply& reply) {
    Questions::Question question;
    if (questions_.take(reply.request, question)) question.document(reply.json);
}

void Engine::on(const control::JobDeleted& deleted) {
    Questions::Question question;
    if (questions_.take(deleted.request, question)) question.done();
}

void Engine::on(const control::NodeDrained& drained) {
    Questions::Question question;
    if (questions_.take(drained.request, question)) question.done();
}

void Engine::on(const control::StatusReply& reply) {
    Questions::Question question;
    if (questions_.take(reply.request, question)) question.document(reply.json);
}

}  // namespace pace::daemon
