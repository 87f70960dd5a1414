# Buffer and Slice: memory that this process and the daemon share, and ranges of it.

"""
Elements that verbs work on. Made by [`Pace.buffer`](@ref), [`Pace.import_array`](@ref) and [`Pace.import_fd`](@ref).

[`Pace.array`](@ref) is its memory, without a copy. That stays until the Buffer and the last array over it are gone, also after
[`Pace.free`](@ref) and after the session's end. Nothing may touch a buffer's elements while a
request that names them is in flight. A buffer without references is freed by a later call that
makes or frees a buffer. Threads: any.

`buffer[11:20]` is a slice for verbs, counted from 1 over all dimensions.
"""
mutable struct Buffer{T,N}
    handle::SessionHandle
    raw::ABI.pace_buffer
    size::NTuple{N,Int}
    device::ABI.pace_device
    memory::Union{Nothing,Array{T,N}} # nothing: on a GPU, or freed
    address::Ptr{Cvoid}
    is_imported::Bool
    is_freed::Bool
end

"""
Makes a buffer of the elements that `options` names; `imported` is the array whose memory it is. Blocks for one exchange with the
daemon.
"""
function new_buffer(handle::SessionHandle, ::Type{T}, size::NTuple{N,Int}, options::ABI.pace_buffer_options,
                    imported::Union{Nothing,Array{T,N}} = nothing) where {T,N}
    number = type_number(T)
    raw, address, described = Ref(ABI.pace_buffer()), Ref{Ptr{Cvoid}}(C_NULL), Ref(options)
    # An InterruptException must not come between the buffer and its finalizer.
    return uninterrupted() do
        is_made = call_once(handle) do session, error
            ABI.pace_buffer_create(session, number, prod(size), described, raw, address, error)
        end
        is_made || return nothing
        buffer = Buffer{T,N}(handle, raw[], size, options.device, imported, address[], imported !== nothing, false)
        finalizer(drop, buffer)
        if imported === nothing && is_host(options.device)
            buffer.memory = owning_array(T, size, handle, raw[])
        end
        return buffer
    end
end

function drop(buffer::Buffer)
    buffer.is_freed || release(buffer.handle, buffer.raw)
    return nothing
end

Base.length(buffer::Buffer) = prod(buffer.size)
Base.size(buffer::Buffer) = buffer.size
Base.eltype(::Buffer{T}) where {T} = T
Base.show(io::IO, buffer::Buffer{T}) where {T} = print(io, "Pace.Buffer{$T} ", buffer.size, " on ", device_name(buffer.device))

"""
    array(buffer)

The buffer's memory as an `Array`, without a copy: the same one every time. It stays good when the buffer is freed and after the
session's end. Its length cannot be changed. Throws [`Handle`](@ref) when the buffer is freed, and [`Unsupported`](@ref) on a GPU,
where `Pace.info(buffer).data` is the device pointer.
"""
function array(buffer::Buffer{T,N}) where {T,N}
    memory = buffer.memory
    memory === nothing || return memory
    buffer.is_freed && throw(Handle("buffer: it has been freed; make another one", argument = "buffer"))
    throw(Unsupported("array: the buffer is on a GPU; Pace.info(buffer).data is its address there", argument = "buffer"))
end

"""
    free(buffer)

Gives the buffer back to the daemon. Arrays over it stay good. Freeing it twice does nothing. Blocks for one exchange with the
daemon. Throws [`Invalid`](@ref) while a request in flight names it.
"""
function free(buffer::Buffer)
    buffer.is_freed && return nothing
    call((session, error) -> ABI.pace_buffer_free(session, buffer.raw, error), buffer.handle)
    buffer.is_freed = true
    buffer.memory = nothing
    return nothing
end

"""
    info(buffer)
    info(session)

The description of a buffer or a session by libpace: a [`Pace.BufferInfo`](@ref) or a
[`Pace.SessionInfo`](@ref).
"""
function info(buffer::Buffer)
    raw = Ref(ABI.pace_buffer_info())
    call((session, error) -> ABI.pace_buffer_get_info(session, buffer.raw, raw, error), buffer.handle)
    told = raw[]
    return BufferInfo(TYPES[told.type], told.count, told.data, device_name(told.device),
                      (told.dl_type_code, told.dl_type_bits, told.dl_type_lanes), fixed_text(told.typestr),
                      told.flags & ABI.PACE_BUFFER_RESTORED != 0, told.flags & ABI.PACE_BUFFER_STAGED != 0, told.twin_bytes)
end

"""
    tensor(buffer; major=0)

The buffer as a [`Pace.Tensor`](@ref) of DLPack, of one dimension: a DLManagedTensor, or with `major` 1 or more a
DLManagedTensorVersioned. Does not block. Throws [`Handle`](@ref) when the buffer is freed, and [`Unsupported`](@ref) on a GPU that
exports no descriptors of its memory.
"""
tensor(buffer::Buffer; major::Integer = 0) =
    Tensor(new_tensor(buffer.handle, buffer.raw, c_number(UInt32, major, "major")), major, buffer.is_imported ? buffer.memory : nothing)

"`count` elements of a buffer from element `first` on, which is counted from 0 here. Verbs check the bounds."
struct Slice
    buffer::Buffer
    first::UInt64
    count::UInt64
end

Base.length(slice::Slice) = slice.count == ABI.PACE_REST ? length(slice.buffer) - Int(slice.first) : Int(slice.count)
Base.getindex(buffer::Buffer, ::Colon) = Slice(buffer, 0, ABI.PACE_REST)

function Base.getindex(buffer::Buffer, range::AbstractUnitRange{<:Integer})
    first(range) >= 1 || throw(Invalid("slices: the range $range begins before 1", argument = "slices"))
    return Slice(buffer, first(range) - 1, length(range))
end

"The slices of what a verb is given. Throws Invalid for an array that was imported and has moved since."
slices_of(buffer::Buffer, argument) = slices_of(buffer[:], argument)
slices_of(operands::Union{Tuple,AbstractVector}, argument) =
    Slice[slice for operand in operands for slice in slices_of(operand, argument)]
slices_of(other, argument) =
    throw(Invalid("$argument: a $(typeof(other)) is no buffer; Pace.buffer makes one, and Pace.import_array makes one of an array",
                  argument = argument))

function slices_of(slice::Slice, argument)
    buffer = slice.buffer
    if buffer.is_imported && !buffer.is_freed && Ptr{Cvoid}(pointer(buffer.memory)) != buffer.address
        throw(Invalid("$argument: the array of this buffer has been resized since, and lies elsewhere; import it again",
                      argument = argument))
    end
    return Slice[slice]
end

raw_slices(slices::Vector{Slice}) =
    ABI.pace_slice[ABI.pace_slice(slice.buffer.raw, slice.first, slice.count) for slice in slices]
