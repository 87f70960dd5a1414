# Options of a job: from Julia's values to an array of pace_option.

"""
    Hint(value)

The value of an option that a library, daemon or controller may ignore when it does not know the option's name.
"""
struct Hint{T}
    value::T
end

"""
Makes a vector of pace_option from keywords and from a Dict or another collection of pairs, and a
vector of the values that they point to, which must live as long. A keyword group_size is the option
group.size. Throws Invalid for a value of no kind that options have; names and bounds are checked by
the library.
"""
function encode(options, keywords)
    named = Pair{String,Any}[option_name(name) => value for (name, value) in (options isa NamedTuple ? pairs(options) : options)]
    append!(named, (option_name(name) => value for (name, value) in pairs(keywords)))
    alive = Any[]
    return ABI.pace_option[encode(name, value, alive) for (name, value) in named], alive
end

# Every option's name has at most one dot, after its family: server_checkpoint_every_ms is server.checkpoint_every_ms.
option_name(name::Symbol) = replace(String(name), "_" => "."; count = 1)
option_name(name::AbstractString) = String(name)

encode(name::String, hint::Hint, alive) = encode(name, hint.value, alive, ABI.PACE_OPTION_HINT)

function encode(name::String, value, alive, flags = 0)
    kind, bits, bytes = encode_value(name, value, alive)
    push!(alive, c_text(name, "options"))
    return ABI.pace_option(name = pointer(last(alive)), kind = kind, flags = flags, value = bits, bytes = bytes)
end

encode_value(name, number::Integer, alive) = (ABI.PACE_INT, reinterpret(UInt64, c_number(Int64, number, name)), 0)
encode_value(name, number::Real, alive) = (ABI.PACE_REAL, reinterpret(UInt64, Float64(number)), 0)
encode_value(name, word::Symbol, alive) = encode_value(name, String(word), alive)

function encode_value(name, text::AbstractString, alive)
    push!(alive, c_text(text, name))
    return ABI.PACE_TEXT, UInt64(pointer(last(alive))), 0
end

function encode_value(name, data::AbstractVector{UInt8}, alive)
    push!(alive, Vector{UInt8}(data))
    return ABI.PACE_BYTES, UInt64(pointer(last(alive))), length(data)
end

# Pairs of ranks, for group.edges: 32-bit numbers, the least byte first.
function encode_value(name, pairs_of_ranks::AbstractVector, alive)
    all(pair -> pair isa Union{Pair,Tuple} && length(pair) == 2 && all(rank -> rank isa Integer, pair), pairs_of_ranks) ||
        throw(wrong_kind(name, pairs_of_ranks))
    ranks = UInt32[htol(c_number(UInt32, rank, name)) for pair in pairs_of_ranks for rank in pair]
    return encode_value(name, collect(reinterpret(UInt8, ranks)), alive)
end

encode_value(name, value, alive) = throw(wrong_kind(name, value))

wrong_kind(name, value) =
    Invalid("$name: $(repr(value)) is a $(typeof(value)); give a number, text, bytes, or pairs of ranks", argument = name)
