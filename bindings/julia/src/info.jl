# What requests, sessions and buffers tell of themselves, by the names of pace.h.

"What one member of an exchange brought."
struct Member
    rank::Int
    staleness::Int
    weight::Float64
end

"""
How a request ended: pace_request_info, whose comments in pace.h say which fields a verb sets. `contents` is `:as_called`,
`:torn` or `:result`. `members` is empty unless `wait` was asked for them. A count of 2^63 or more, which only `iteration` may be, is
shown as a negative number of the same bits.
"""
struct Info
    status::Int
    iteration::Int
    user_data::UInt64
    group::Int
    round::Int
    version::Int
    bytes_sent::Int
    bytes_received::Int
    queued_ns::Int
    moving_ns::Int
    initial_weight::Float64
    member_count::Int
    node_count::Int
    member_listed::Int
    contents::Symbol
    divisor::Float64
    rounds::Int
    entries::Int
    contributor_count::Int
    late::Bool
    resync::Bool
    dense::Bool
    staleness::Int
    slowest_clock::Int
    members::Vector{Member}
end

"What a session tells. `run_state` is `:new`, `:under_way` or `:resumed`; `run_began` is in nanoseconds since 1970."
struct SessionInfo
    rank::Int
    world::Int
    run_state::Symbol
    generation::UInt64
    job::String
    node::String
    run::String
    run_began::Int
end

"""
What a buffer tells. `data` is an address, on a GPU a device pointer. `dl_type` has the code, bits and lanes of DLPack's type.
`typestr` is NumPy's word for the type, or empty. `twin_bytes` counts the copy on the host that a buffer has besides.
"""
struct BufferInfo
    type::DataType
    count::Int
    data::Ptr{Cvoid}
    device::String
    dl_type::Tuple{Int,Int,Int}
    typestr::String
    restored::Bool
    staged::Bool
    twin_bytes::Int
end

const CONTENTS = Dict(ABI.PACE_CONTENTS_AS_CALLED => :as_called, ABI.PACE_CONTENTS_TORN => :torn, ABI.PACE_CONTENTS_RESULT => :result)
const RUN_STATES = Dict(ABI.PACE_RUN_NEW => :new, ABI.PACE_RUN_UNDER_WAY => :under_way, ABI.PACE_RUN_RESUMED => :resumed)

"The text in an array of characters of C, which a zero ends."
function fixed_text(characters::NTuple{N,UInt8}) where {N}
    last = something(findfirst(iszero, characters), N + 1) - 1
    return String(UInt8[characters[index] for index in 1:last])
end

function info_of(raw::ABI.pace_request_info, members::Vector{ABI.pace_member})
    listed = Member[Member(member.rank, member.staleness % Int, member.weight)
                    for member in members[1:min(raw.member_listed, length(members))]]
    return Info(raw.status, raw.iteration % Int, raw.user_data, raw.group % Int, raw.round % Int, raw.version % Int,
                raw.bytes_sent % Int, raw.bytes_received % Int, raw.queued_ns % Int, raw.moving_ns % Int, raw.initial_weight,
                raw.member_count, raw.node_count, raw.member_listed, get(CONTENTS, raw.contents, :unknown), raw.divisor,
                raw.rounds % Int, raw.entries % Int, raw.contributor_count, raw.late != 0, raw.resync != 0, raw.dense != 0,
                raw.staleness % Int, raw.slowest_clock % Int, listed)
end

session_info_of(raw::ABI.pace_session_info) =
    SessionInfo(raw.rank, raw.world, get(RUN_STATES, raw.run_state, :unknown), raw.generation, fixed_text(raw.job),
                fixed_text(raw.node), fixed_text(raw.run), raw.run_began)
