@testset "an array of the trainer's is copied at calls" begin
    a, b = pair()
    own = Float64[1 2; 3 4]
    m, n = Pace.import_array(a, own), filled(b, Float64[3 2; 1 0])
    @test Pace.info(m).staged && Pace.array(m) === own
    foreach(wait, [Pace.reduce(a, m), Pace.reduce(b, n)])
    @test own == Pace.array(n) == [2 2; 2 2]
    @test collect(Pace.tensor(m)) == vec(own)
    @test thrown(() -> Pace.import_array(a, [1, 2])).argument == "type"
    foreach(close, (a, b))
end

@testset "an array that has moved since is refused" begin
    session = alone()
    own = zeros(Float32, 4)
    buffer = Pace.import_array(session, own)
    resize!(own, 1_000_000)
    @test thrown(() -> Pace.reduce(session, buffer)) isa Pace.Invalid
    close(session)
end

"Imports an array to which nobody else refers, and begins a reduce of it."
import_and_forget(session) = (Pace.reduce(session, Pace.import_array(session, fill(1.0f0, 100_000))); nothing)

@testset "an imported array stays while libpace may touch it" begin
    a, b = pair()
    import_and_forget(a)
    foreach(_ -> (GC.gc(); fill(9.0f0, 100_000)), 1:3)
    n = filled(b, fill(3.0f0, 100_000))
    wait(Pace.reduce(b, n))
    @test all(isequal(2.0f0), Pace.array(n))
    wait(Pace.next(a))
    foreach(close, (a, b))
end

@testset "a memfd is shared without copies" begin
    session = alone()
    fd = Pace.memfd(Float32, 1024)
    buffer = Pace.import_fd(session, fd, Float32, 32, 32)
    file = fdio(reinterpret(Int32, fd), true)
    Pace.array(buffer)[2, 1] = 7
    seek(file, 4)
    @test read(file, Float32) === 7.0f0
    close(file)
    @test !Pace.info(buffer).staged
    wait(Pace.reduce(session, buffer))
    @test thrown(() -> Pace.import_fd(session, RawFD(0), Float32, 1)) isa Pace.Invalid
    close(session)
end
