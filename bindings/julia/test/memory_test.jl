@testset "an array is the daemon's memory, of the shape that was asked for" begin
    session = alone()
    buffer = Pace.buffer(session, Float32, 2, 3)
    array = Pace.array(buffer)
    @test array isa Matrix{Float32} && size(array) == size(buffer) == (2, 3) && iszero(array)
    @test Pace.array(buffer) === array
    info = Pace.info(buffer)
    @test (info.type, info.count, info.device, info.typestr) == (Float32, 6, "cpu", "<f4")
    @test info.data == pointer(array)
    @test_throws ErrorException push!(vec(Pace.array(filled(session, Float32[1]))), 2)
    close(session)
end

"Where the memory of a buffer was, which file it is, and what Julia derives from its array; the session and buffer are gone."
function arrays_that_outlive()
    session = alone()
    buffer = filled(session, Float32.(1:4096))
    array = Pace.array(buffer)
    Pace.free(buffer)
    Pace.free(buffer)
    @test thrown(() -> Pace.array(buffer)) isa Pace.Handle
    @test thrown(() -> Pace.reduce(session, buffer)) isa Pace.Handle
    close(session)
    return UInt(pointer(array)), file_at(pointer(array)), Any[view(array, 1:3), reshape(array, 64, 64), reinterpret(UInt32, array)]
end

function first_of_last(derived)
    foreach(_ -> GC.gc(), 1:3)
    return first(pop!(derived))
end

@testset "arrays stay good after their buffer and session are gone, and let the memory go with themselves" begin
    address, file, derived = arrays_that_outlive()
    @test first_of_last(derived) === reinterpret(UInt32, 1.0f0)
    @test first_of_last(derived) === 1.0f0
    @test first_of_last(derived) === 1.0f0
    @test collect_until(() -> file_at(address) != file)
end

"Begins a reduce of a buffer to which nobody refers afterwards."
begin_and_forget(session) = (Pace.reduce(session, filled(session, ones(Float32, 1000))); nothing)

@testset "what is let go of while a request is in flight stays until the request has ended" begin
    a, b = pair()
    begin_and_forget(a)
    foreach(_ -> GC.gc(), 1:3)
    n = filled(b, fill(3.0f0, 1000))
    wait(Pace.reduce(b, n))
    @test all(isequal(2.0f0), Pace.array(n))
    @test wait(Pace.next(a)).member_count == 2
    foreach(close, (a, b))
end

"Makes buffers and forgets them."
make_and_forget(session, count) = foreach(_ -> Pace.buffer(session, Float32, 1024), 1:count)

@testset "buffers to which nobody refers are freed by a later call that makes one" begin
    session = alone()
    Pace.free(Pace.buffer(session, Float32, 1))
    foreach(_ -> GC.gc(), 1:3) # what the tests before have left
    before = mapped()
    make_and_forget(session, 50)
    @test collect_until() do
        Pace.free(Pace.buffer(session, Float32, 1))
        mapped() <= before + 4 # the arrays of the latest ones are collected later
    end
    close(session)
end

@testset "collections at any point of a training loop leave it right" begin
    (a, b), (m, n) = averaging_pair(zeros(Float32, 64), zeros(Float32, 64))
    function train(session, model, step)
        weights = Pace.array(model)
        for iteration in 1:30
            Pace.buffer(session, Float32, 256)
            weights .+= step
            request = Pace.average(session, model; iteration = iteration)
            iteration % 5 == 0 && GC.gc()
            wait(request)
        end
    end
    foreach(wait, [@async(train(a, m, 1)), @async(train(b, n, 3))])
    @test all(isequal(60.0f0), Pace.array(m)) && Pace.array(m) == Pace.array(n)
    foreach(close, (a, b))
end

"Two tensors of a buffer, of either layout; the session and buffer are gone."
function tensors_that_outlive()
    session = alone()
    buffer = filled(session, Float32[1, 2, 3])
    tensors = [Pace.tensor(buffer), Pace.tensor(buffer; major = 1)]
    @test Pace.dl_tensor(tensors[1]).data == pointer(Pace.array(buffer))
    Pace.free(buffer)
    close(session)
    return tensors
end

@testset "a tensor holds the memory by itself" begin
    old, new = tensors_that_outlive()
    described = Pace.dl_tensor(new)
    @test (described.ndim, described.code, described.bits, described.lanes) == (1, 2, 32, 1)
    file = file_at(described.data)
    @test file !== nothing
    foreach(_ -> GC.gc(), 1:3)
    @test collect(old) == collect(new) == [1, 2, 3]
    close(old)
    close(old)
    @test thrown(() -> collect(old)) isa Pace.Handle
    address = take!(new)
    @test !isopen(new)
    @test file_at(described.data) == file
    Pace.end_tensor(address, 1)
    @test file_at(described.data) != file
end
