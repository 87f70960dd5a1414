// The control plane's envelopes: verified on the way in, built on the way out.
//
// What is inside belongs to the two sides: each maps the tables to its own structs. Only what both
// need lies here: the check that comes before any reading, and the job options, which travel in
// both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <protocol/control_generated.h>

#include "base/result.h"
#include "protocol/types.h"

namespace pace::protocol {

// Longest envelope that a daemon may send, and that it accepts: the order of a group of kWorldMax.
inline constexpr size_t kToControllerBytesMax = size_t{1} << 20U;
inline constexpr size_t kToDaemonBytesMax = size_t{4} << 20U;

// The envelope in `bytes_untrusted`, or `corrupt`. After this every field may be read; what the
// fields say is still only what the sender claims. The bytes must be the receiver's own copy,
// aligned as malloc aligns, and outlive the envelope.
base::Result<const control::Envelope*> verify_envelope(std::span<const std::byte> bytes_untrusted);

// At most `bytes_max` bytes of a string that may be absent.
std::string_view text_of(const flatbuffers::String* text, size_t bytes_max);

// Builds one envelope at a time in memory that it keeps:
//   writer.finish(node, attachment, control::CreateReady(writer.begin(), job, …))
class EnvelopeWriter {
  public:
    flatbuffers::FlatBufferBuilder& begin();

    // Valid until the next begin().
    template <typename Table>
    std::span<const std::byte> finish(uint32_t node, uint64_t attachment,
                                      flatbuffers::Offset<Table> body) {
        return finish_union(node, attachment, control::BodyTraits<Table>::enum_value, body.Union());
    }

  private:
    std::span<const std::byte> finish_union(uint32_t node, uint64_t attachment, control::Body type,
                                            flatbuffers::Offset<void> body);

    flatbuffers::FlatBufferBuilder builder_{512};
};

// Longest text of a reason or an error message; the rest is cut.
inline constexpr size_t kReasonBytesMax = 1024;

namespace detail {

// Zero leaves the field as it is: the default. A value that this side does not know is refused.
template <typename Field, typename Wire>
base::Result<> read_choice(Field& ret_field, Wire wire, std::string_view what) {
    if (wire > Wire::MAX)
        return base::make_error(base::ErrorKind::invalid,
                                "{} {} is unknown here; the two sides differ in version", what,
                                static_cast<unsigned>(wire));
    if (wire != Wire::none) ret_field = static_cast<Field>(wire);
    return {};
}

}  // namespace detail

// Job options of either side: `Options` has the fields of the table under the same names. A name
// that is too long is cut to one byte more than allowed, so that whoever judges it still refuses.
template <typename Options>
base::Result<Options> read_job_options(const control::JobOptions& table) {
    Options options;
    options.name = text_of(table.name(), kNameBytesMax + 1);
    options.world = table.world();
    PACE_TRY(detail::read_choice(options.policy, table.policy(), "policy"));
    options.group_size = table.group_size();
    options.group_min = table.group_min();
    PACE_TRY(detail::read_choice(options.weights, table.weights(), "weights"));
    PACE_TRY(detail::read_choice(options.missing, table.missing(), "missing"));
    options.alpha = table.alpha();
    options.group_wait_ms = table.group_wait_ms();
    options.history_window = table.history_window();
    options.worker_timeout_ms = table.worker_timeout_ms();
    PACE_TRY(detail::read_choice(options.quorum, table.quorum(), "quorum"));
    options.quorum_count = table.quorum_count();
    PACE_TRY(detail::read_choice(options.late, table.late(), "late"));
    options.staleness_max = table.staleness_max();
    PACE_TRY(detail::read_choice(options.divide_by, table.divide_by(), "divide_by"));
    options.resync_every = table.resync_every();
    PACE_TRY(detail::read_choice(options.compression, table.compression(), "compression"));
    options.density = table.density();
    PACE_TRY(detail::read_choice(options.residuals, table.residuals(), "residuals"));
    options.teams = table.teams();
    PACE_TRY(detail::read_choice(options.team_gather, table.team_gather(), "team_gather"));
    PACE_TRY(detail::read_choice(options.indices, table.indices(), "indices"));
    PACE_TRY(detail::read_choice(options.values, table.values(), "values"));
    PACE_TRY(detail::read_choice(options.hierarchy, table.hierarchy(), "hierarchy"));
    PACE_TRY(detail::read_choice(options.dense_fallback, table.dense_fallback(), "dense_fallback"));
    options.reject_nonfinite = table.reject_nonfinite();
    options.progress_gap = table.progress_gap();
    if (table.edges() != nullptr)
        options.edges.assign(table.edges()->begin(), table.edges()->end());
    options.elements = table.elements();
    PACE_TRY(detail::read_choice(options.rate, table.rate(), "rate"));
    options.constant_rate = table.constant_rate();
    options.filter = table.filter();
    options.shards = table.shards();
    options.checkpoint_every_ms = table.checkpoint_every_ms();
    options.checkpoint_copies = table.checkpoint_copies();
    options.restore = table.restore();
    options.unsynchronized = table.unsynchronized();
    return options;
}

template <typename Options>
flatbuffers::Offset<control::JobOptions> write_job_options(flatbuffers::FlatBufferBuilder& builder,
                                                           const Options& options) {
    return control::CreateJobOptions(
        builder, builder.CreateString(options.name), options.world,
        static_cast<control::Policy>(options.policy), options.group_size, options.group_min,
        static_cast<control::Weights>(options.weights),
        static_cast<control::Missing>(options.missing), options.alpha, options.group_wait_ms,
        options.history_window, options.worker_timeout_ms,
        static_cast<control::Quorum>(options.quorum), options.quorum_count,
        static_cast<control::Late>(options.late), options.staleness_max,
        static_cast<control::DivideBy>(options.divide_by), options.resync_every,
        static_cast<control::Compression>(options.compression), options.density,
        static_cast<control::Residuals>(options.residuals), options.teams,
        static_cast<control::TeamGather>(options.team_gather),
        static_cast<control::Indices>(options.indices),
        static_cast<control::Values>(options.values),
        static_cast<control::Hierarchy>(options.hierarchy),
        static_cast<control::DenseFallback>(options.dense_fallback), options.reject_nonfinite,
        options.progress_gap, options.edges.empty() ? 0 : builder.CreateVector(options.edges),
        options.elements, static_cast<control::Rate>(options.rate), options.constant_rate,
        options.filter, options.shards, options.checkpoint_every_ms, options.checkpoint_copies,
        options.restore, options.unsynchronized);
}

}  // namespace pace::protocol
