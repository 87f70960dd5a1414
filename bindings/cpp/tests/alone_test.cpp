// The headers alone, in every language that they promise, with and without exceptions. The file is
// compiled and never run.
#include <pace/pace.hpp>

#include <utility>

#if defined(__cpp_lib_span)
static_assert(std::is_same<pace::span<float>, std::span<float>>::value, "the language's own span");
#endif

static_assert(!std::is_copy_constructible<pace::session>::value, "one owner");
static_assert(!std::is_copy_constructible<pace::buffer<float>>::value, "one owner");
static_assert(!std::is_copy_constructible<pace::request>::value, "one owner");
static_assert(!std::is_copy_constructible<pace::tensor>::value, "one owner");
static_assert(std::is_nothrow_move_constructible<pace::session>::value, "moves in containers");
static_assert(std::is_nothrow_move_constructible<pace::buffer<pace::f16>>::value, "as well");
static_assert(std::is_nothrow_move_constructible<pace::request>::value, "as well");
static_assert(std::is_nothrow_move_assignable<pace::request>::value, "as well");
static_assert(noexcept(std::declval<pace::request&>().wait(pace::nothrow)), "as it says");
static_assert(noexcept(std::declval<pace::session&>().barrier(pace::nothrow)), "as it says");

template class pace::buffer<float>;
template class pace::buffer<double>;
template class pace::buffer<pace::f16>;
template class pace::buffer<pace::bf16>;
template class pace::buffer<std::uint32_t>;
template class pace::result<pace::session>;
template class pace::result<pace::request_info>;

namespace {

pace::status train(const pace::session_options& where, std::uint64_t steps) {
    pace::result<pace::session> session = pace::session::open(pace::nothrow, where);
    if (!session) return session.status();
    const auto model = session->make_buffer<float>(pace::nothrow, 10);
    if (!model) return model.status();
    for (std::uint64_t step = 0; step < steps;) {
        auto request = session->average(pace::nothrow, *model, {step});
        if (!request) return request.status();
        const auto end = request->wait_for(pace::nothrow, std::chrono::seconds(1));
        if (!end) return end.status();
        step = end->iteration + 1;
    }
    return session->leave(pace::nothrow).status();
}

}  // namespace

pace::status every_call(pace::session& session, pace::request& request);
pace::status every_call(pace::session& session, pace::request& request) {
    const auto buffer = session.make_buffer(pace::nothrow, pace::element::f32, 1);
    const pace::operands all = *buffer;
    pace::status worst = train({}, 0);
    const auto note = [&](pace::status status) {
        if (status != pace::status::ok) worst = status;
    };
    note(session.reduce(pace::nothrow, all).status());
    note(session.broadcast(pace::nothrow, all, {1}).status());
    note(session.sync(pace::nothrow, all).status());
    note(session.push(pace::nothrow, all, {1}).status());
    note(session.pull(pace::nothrow, all, {1}).status());
    note(session.residual_save(pace::nothrow, all).status());
    note(session.residual_load(pace::nothrow, all).status());
    note(session.checkpoint(pace::nothrow).status());
    note(session.barrier(pace::nothrow).status());
    note(session.announce(pace::nothrow, 1).status());
    note(session.withdraw(pace::nothrow).status());
    note(session.info(pace::nothrow).status());
    note(session.descriptor(pace::nothrow).status());
    note(session.next(pace::nothrow).status());
    note(session.next_for(pace::nothrow, std::chrono::minutes(1)).status());
    note(session.import_memory<float>(pace::nothrow, {}, pace::device::cuda(0)).status());
    note(session.import_descriptor<float>(pace::nothrow, 3, 1).status());
    note(buffer->info(pace::nothrow).status());
    note(buffer->to_dlpack(pace::nothrow, 1).status());
    note(request.test(pace::nothrow).status());
    note(request.cancel(pace::nothrow).status());
    note(request.ready(pace::nothrow, 1).status());
    note(pace::wait_any(pace::nothrow, {&request, 1}).status());
    note(pace::query(pace::nothrow, "options").status());
    return worst;
}
