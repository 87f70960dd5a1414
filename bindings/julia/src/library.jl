# The loaded libpace: found once, when a function of it is first called.

using Libdl

const SONAME = "libpace.so.1"

"""
    library_version()

The version of the libpace that is loaded. Throws [`NotFound`](@ref) when there is none.
"""
library_version() = version_of(ABI.pace_library_version())

version_of(number::Integer) = VersionNumber(number ÷ 10000, number ÷ 100 % 100, number % 100)

"""
Loads libpace: the file that the environment's PACE_LIBRARY names, or libpace.so.1 where the system's loader finds it. Throws
NotFound, and Version when it is of another release than this package: a minor release may change the ABI until 1.0.
"""
function load()
    named = get(ENV, "PACE_LIBRARY", "")
    file = isempty(named) ? SONAME : named
    library = try
        dlopen(file)
    catch error
        throw(NotFound("libpace cannot be loaded ($(sprint(showerror, error))); install Pace, or name the file in PACE_LIBRARY"))
    end
    found = [dlsym(library, name; throw_error = false) for name in ABI.FUNCTIONS]
    missing_one = findfirst(isnothing, found)
    missing_one === nothing || throw(Version("$file has no $(ABI.FUNCTIONS[missing_one]); install the libpace of this package's release"))
    version = version_of(ccall(found[findfirst(isequal(:pace_library_version), ABI.FUNCTIONS)], UInt32, ()))
    # Later minor releases add to the ABI and change nothing.
    if version.major != ABI.PACE_VERSION_MAJOR || version.minor < ABI.PACE_VERSION_MINOR
        throw(Version("$file is version $version and this package needs $(ABI.PACE_VERSION_MAJOR).$(ABI.PACE_VERSION_MINOR) or a " *
                      "later one of $(ABI.PACE_VERSION_MAJOR).x; install libpace of this package's release"))
    end
    copyto!(ABI.function_pointers, found)
    return nothing
end

"""
    query(what; endpoint=nothing)

A JSON document as a `String`: `"options"`, `"policies"`, `"versions"` or `"status"`, as pace_query in pace.h describes them.
Without an endpoint the library alone is asked, and this does not block. With an endpoint (`""`: the
daemon that a `Session` finds by itself) it blocks its thread for at most twenty seconds, and throws
as `Session` does.
"""
function query(what::AbstractString; endpoint::Union{Nothing,AbstractString} = nothing)
    answer = Ref{Ptr{UInt8}}(C_NULL)
    error = Ref{ABI.pace_error}()
    place = endpoint === nothing ? C_NULL : c_text(endpoint, "endpoint")
    status = ABI.pace_query(place, c_text(what, "what"), answer, error)
    status == ABI.PACE_OK || throw(error_of(status, error[]))
    text = unsafe_string(answer[])
    ABI.pace_text_free(answer[])
    return text
end

"A String that C can read. Throws Invalid when it holds a zero character, which would cut it."
function c_text(text::AbstractString, argument::String)
    '\0' in text && throw(Invalid("$argument: $(repr(text)) holds a zero character", argument = argument))
    return String(text)
end

"A whole number of the kind that C takes. Throws Invalid when it is out of range."
function c_number(::Type{T}, number::Integer, argument::String) where {T}
    typemin(T) <= number <= typemax(T) ||
        throw(Invalid("$argument: $number is out of range; give $(typemin(T)) to $(typemax(T))", argument = argument))
    return T(number)
end
