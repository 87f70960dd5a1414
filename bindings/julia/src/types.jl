# Element types and devices: their names here, in pace.h and in DLPack.

"""
    BFloat16(number)

An element of PACE_BF16: the upper half of a Float32, rounded to the nearest. `bits` has its 16 bits. It only converts to and
from Float32; `reinterpret` shows an array of them as another package's type.
"""
struct BFloat16
    bits::UInt16
    BFloat16(bits::UInt16, ::Val{:bits}) = new(bits)
end

function BFloat16(number::Real)
    single = Float32(number)
    bits = reinterpret(UInt32, single)
    isnan(single) && return BFloat16(((bits >> 16) % UInt16) | 0x0040, Val(:bits))
    return BFloat16(((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) % UInt16, Val(:bits))
end

Base.Float32(number::BFloat16) = reinterpret(Float32, UInt32(number.bits) << 16)
Base.convert(::Type{BFloat16}, number::Real) = BFloat16(number)
Base.convert(::Type{Float32}, number::BFloat16) = Float32(number)
Base.zero(::Type{BFloat16}) = BFloat16(0x0000, Val(:bits))
Base.show(io::IO, number::BFloat16) = print(io, "BFloat16(", Float32(number), ")")

const TYPE_NUMBERS = Dict{DataType,Int}(Float32 => ABI.PACE_F32, Float64 => ABI.PACE_F64, Float16 => ABI.PACE_F16,
                                        BFloat16 => ABI.PACE_BF16, UInt32 => ABI.PACE_U32)
const TYPES = Dict(number => type for (type, number) in TYPE_NUMBERS)

function type_number(type)
    number = get(TYPE_NUMBERS, type, nothing)
    number === nothing && throw(Invalid("$type is no element type of Pace; give one of Float32, Float64, Float16, Pace.BFloat16, " *
                                        "UInt32", argument = "type"))
    return number
end

const DEVICES = Dict("cpu" => ABI.PACE_DEVICE_CPU, "cuda" => ABI.PACE_DEVICE_CUDA, "rocm" => ABI.PACE_DEVICE_ROCM,
                     "oneapi" => ABI.PACE_DEVICE_ONEAPI)

"The device of \"cpu\" or \"cuda:0\". Throws Invalid."
function device_of(name::AbstractString)
    parts = match(r"^([a-z]+)(?::(\d{1,9}))?$", name)
    if parts === nothing || !haskey(DEVICES, parts[1])
        throw(Invalid("device: $(repr(name)) is none; give \"cpu\" or \"cuda:0\"", argument = "device"))
    end
    return ABI.pace_device(DEVICES[parts[1]], parts[2] === nothing ? 0 : parse(Int32, parts[2]))
end

is_host(device::ABI.pace_device) = device.type in (0, ABI.PACE_DEVICE_CPU)

function device_name(device::ABI.pace_device)
    is_host(device) && return "cpu"
    name = findfirst(isequal(Int(device.type)), DEVICES)
    return "$(something(name, string(device.type))):$(device.id)"
end
