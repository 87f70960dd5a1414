# Memory that arrays look at, by tensors of DLPack.
#
# The tensor that libpace makes of a buffer holds its memory by itself. An array over a buffer owns
# one, which its finalizer ends. The memory therefore stays after the buffer and the session are
# gone, until the array is gone. Arrays that Julia derives from it, by reshape, view or reinterpret,
# keep the array.

struct DLTensor
    data::Ptr{Cvoid}
    device::ABI.pace_device
    ndim::Int32
    code::UInt8
    bits::UInt8
    lanes::UInt16
    shape::Ptr{Int64}
    strides::Ptr{Int64}
    byte_offset::UInt64
end

struct DLManagedTensor
    dl_tensor::DLTensor
    manager_ctx::Ptr{Cvoid}
    deleter::Ptr{Cvoid}
end

struct DLManagedTensorVersioned
    major::UInt32
    minor::UInt32
    manager_ctx::Ptr{Cvoid}
    deleter::Ptr{Cvoid}
    flags::UInt64
    dl_tensor::DLTensor
end

layout_of(major::Integer) = major == 0 ? DLManagedTensor : DLManagedTensorVersioned
managed(address::Ptr{Cvoid}, major::Integer) = unsafe_load(convert(Ptr{layout_of(major)}, address))

function end_tensor(address::Ptr{Cvoid}, major::Integer)
    deleter = managed(address, major).deleter
    deleter == C_NULL || ccall(deleter, Cvoid, (Ptr{Cvoid},), address)
    return nothing
end

function new_tensor(handle::SessionHandle, raw::ABI.pace_buffer, major::Integer)
    tensor = Ref{Ptr{Cvoid}}(C_NULL)
    call((session, error) -> ABI.pace_buffer_to_dlpack(session, raw, major, tensor, error), handle)
    return tensor[]
end

"""
The memory of a new buffer as an array, which owns it. The finalizer has only the tensor's address.
A Julia object for the tensor would be finalized together with the array, in no certain order.
"""
function owning_array(::Type{T}, size::NTuple{N,Int}, handle::SessionHandle, raw::ABI.pace_buffer) where {T,N}
    tensor = new_tensor(handle, raw, 0)
    pid = handle.pid
    array = unsafe_wrap(Array, convert(Ptr{T}, managed(tensor, 0).dl_tensor.data), size; own = false)
    # In a forked child the memory is the parent's alone.
    finalizer(_ -> getpid() == pid && end_tensor(tensor, 0), array)
    return array
end

"""
A tensor of DLPack, which holds a buffer's memory by itself: it stays, with its contents, after the buffer and the session are gone.
Made by [`Pace.tensor`](@ref). `close` ends it, and so does the garbage collector. `take!` gives its address away, with the duty to
call its deleter once.

Nothing may touch its elements while a request that names its buffer is in flight. Threads: one at a time.
"""
mutable struct Tensor
    address::Ptr{Cvoid}
    major::Int
    pid::Int32
    owner::Any # of a buffer that was imported: its array

    function Tensor(address::Ptr{Cvoid}, major::Integer, owner)
        return finalizer(close, new(address, major, getpid(), owner))
    end
end

function Base.close(tensor::Tensor)
    address, tensor.address = tensor.address, C_NULL
    address != C_NULL && getpid() == tensor.pid && end_tensor(address, tensor.major)
    return nothing
end

Base.isopen(tensor::Tensor) = tensor.address != C_NULL

"""
    take!(tensor)

The address of the DLManagedTensor, or of the DLManagedTensorVersioned. It is the caller's from now on, who ends it with its deleter.
"""
function Base.take!(tensor::Tensor)
    dl_tensor(tensor)
    address, tensor.address = tensor.address, C_NULL
    return address
end

"The words of DLPack that describe the tensor: a `DLTensor` with `data`, `device`, `ndim`, `code`, `bits` and so on."
function dl_tensor(tensor::Tensor)
    isopen(tensor) || throw(Handle("tensor: it has ended; make another one", argument = "tensor"))
    return GC.@preserve tensor managed(tensor.address, tensor.major).dl_tensor
end

function Base.length(tensor::Tensor)
    described = dl_tensor(tensor)
    return GC.@preserve tensor Int(unsafe_load(described.shape))
end

function Base.eltype(tensor::Tensor)
    described = dl_tensor(tensor)
    types = Dict((2, 32) => Float32, (2, 64) => Float64, (2, 16) => Float16, (4, 16) => BFloat16, (1, 32) => UInt32)
    return types[(Int(described.code), Int(described.bits))]
end

"A copy of the elements as a Vector. Throws Unsupported on a GPU."
function Base.collect(tensor::Tensor)
    described = dl_tensor(tensor)
    is_host(described.device) || throw(Unsupported("tensor: it is on a GPU", argument = "tensor"))
    copied = Vector{eltype(tensor)}(undef, length(tensor))
    GC.@preserve tensor unsafe_copyto!(pointer(copied), convert(Ptr{eltype(copied)}, described.data + described.byte_offset),
                                       length(copied))
    return copied
end
