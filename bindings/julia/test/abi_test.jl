@testset "structs lie in memory as C has them" begin
    for (type, size, offsets) in Pace.ABI.LAYOUT
        @test sizeof(type) == size
        @test [Int(fieldoffset(type, index)) for index in 1:fieldcount(type)] == offsets
    end
end

@testset "statuses have the library's names" begin
    for (number, name) in Pace.STATUS_NAMES
        @test Pace.status_name(number) == name
    end
    @test Pace.status_name(99) == "PACE_?"
    @test Pace.Taken === PaceError{-6}
end

@testset "an error of a status that nobody knows is a PaceError" begin
    error = PaceError{-99}("news")
    @test error isa PaceError && error.status == -99
    @test sprint(showerror, error) == "PACE_?: news"
end

@testset "the library is of the header's release" begin
    version = Pace.library_version()
    @test (version.major, version.minor) == (Pace.ABI.PACE_VERSION_MAJOR, Pace.ABI.PACE_VERSION_MINOR)
    @test startswith(Pace.query("options"), "[")
    @test startswith(Pace.query("versions"; endpoint = "embedded:"), "{")
    @test thrown(() -> Pace.query("nonsense")).argument == "what"
end

@testset "a library that is not there is told" begin
    program = "using Pace; try Pace.library_version() catch error; print(error isa Pace.NotFound, ' ', error.message) end"
    told = withenv("PACE_LIBRARY" => "/nowhere/libpace.so") do
        read(julia(program), String)
    end
    @test startswith(told, "true ") && occursin("/nowhere/libpace.so", told) && occursin("PACE_LIBRARY", told)
end

@testset "bfloat16 rounds to the nearest" begin
    @test Pace.BFloat16(1).bits == 0x3f80
    @test Float32(Pace.BFloat16(3.0f0)) === 3.0f0
    @test Pace.BFloat16(1.00390625f0).bits == 0x3f80 # half way: to the even one
    @test Pace.BFloat16(1.01171875f0).bits == 0x3f82
    @test isnan(Float32(Pace.BFloat16(NaN32))) && Float32(Pace.BFloat16(Inf32)) === Inf32
end
