@testset "a reduce gives everyone the mean, of every type" begin
    a, b = pair()
    for type in (Float32, Float64, Float16)
        m, n = filled(a, type[1, 2, 3]), filled(b, type[3, 6, -3])
        requests = [Pace.reduce(a, m; iteration = 7, user_data = typemax(UInt64)), Pace.reduce(b, n; iteration = 7)]
        info = wait(requests[1]; members = true)
        wait(requests[2])
        @test Pace.array(m) == Pace.array(n) == type[2, 4, 0]
        @test (info.iteration, info.user_data, info.member_count, info.divisor) == (7, typemax(UInt64), 2, 2.0)
        @test [member.rank for member in info.members] == [0, 1]
        @test all(member -> member.weight == 0.5, info.members)
    end
    m, n = filled(a, [Pace.BFloat16(1)]), filled(b, [Pace.BFloat16(3)])
    foreach(wait, [Pace.reduce(a, m), Pace.reduce(b, n)])
    @test Float32(Pace.array(m)[1]) === 2.0f0
    foreach(close, (a, b))
end

@testset "a sum of slices of several buffers leaves the rest alone, and goes where results says" begin
    a, b = pair()
    m, n = filled(a, ones(Float32, 2, 3)), filled(b, fill(3.0f0, 2, 3))
    x, y = filled(a, [0.5]), filled(b, [0.25])
    foreach(wait, [Pace.reduce(a, (m[1:1], m[5:6], x); op = :sum), Pace.reduce(b, [n[1:1], n[5:6], y[:]]; op = :sum)])
    @test Pace.array(m) == Float32[4 1 4; 1 1 4]
    @test Pace.array(n) == Float32[4 3 4; 3 3 4]
    @test Pace.array(x) == [0.75]
    z = Pace.buffer(a, Float64, 1)
    foreach(wait, [Pace.reduce(a, x; results = z), Pace.reduce(b, y)])
    @test Pace.array(x) == [0.75] && Pace.array(z) == [0.75]
    foreach(close, (a, b))
end

@testset "what a verb cannot take is refused" begin
    a = alone()
    m = filled(a, Float32[1, 2])
    other = alone()
    @test thrown(() -> Pace.reduce(a, filled(other, Float32[1]))) isa Pace.Handle
    @test thrown(() -> Pace.reduce(a, m[2:3])) isa Pace.Invalid
    @test thrown(() -> m[0:1]) isa Pace.Invalid
    @test thrown(() -> Pace.reduce(a, [1.0f0])) isa Pace.Invalid
    @test thrown(() -> Pace.reduce(a, m; op = :product)).argument == "op"
    @test thrown(() -> Pace.reduce(a, m; iteration = -1)).argument == "iteration"
    @test thrown(() -> Pace.average(a, m)) isa Pace.Verb
    @test thrown(() -> Pace.announce(a, 1)) isa Pace.Verb
    @test thrown(() -> Pace.broadcast(a, m; root = 1)).argument == "root"
    @test thrown(() -> Pace.buffer(a, Int8, 1)).argument == "type"
    @test thrown(() -> Pace.buffer(a, Float32, 0)).argument == "count"
    @test thrown(() -> Pace.buffer(a, Float32, 1; device = "gpu")).argument == "device"
    foreach(close, (a, other))
end

@testset "an average over two, announced, in order, and beside computing" begin
    (a, b), (m, n) = averaging_pair(Float32[1, 2], Float32[3, 6])
    foreach(wait, [Pace.broadcast(a, m), Pace.broadcast(b, n)])
    @test Pace.array(n) == [1, 2]
    Pace.array(n) .= [3, 6]
    Pace.announce(a, 1)
    Pace.withdraw(a)
    Pace.announce(a, 1)
    requests = [Pace.average(a, m; iteration = 1), Pace.average(b, n; iteration = 5)]
    @test all(request -> wait(request).iteration == 5, requests)
    @test Pace.array(m) == Pace.array(n) == [2, 4]

    requests = [Pace.average(a, m; iteration = 6, order = :forward), Pace.average(b, n; iteration = 6, order = :forward)]
    Pace.ready(requests[2], 2)
    Pace.ready(requests[1], 1)
    @test !Pace.isdone(requests[1])
    @test thrown(() -> Pace.ready(requests[1], 3)).argument == "elements"
    Pace.ready(requests[1], 2)
    @test all(request -> wait(request).member_count == 2, requests)

    Pace.array(n) .= [4, 8]
    kept = Pace.average(a, m; iteration = 7, keep_local = true)
    Pace.array(m)[1] += 10
    wait(Pace.average(b, n; iteration = 7))
    @test wait(kept; local_iteration = 9).staleness == 2
    @test Pace.array(m) == [13, 6]
    foreach(wait, [Pace.sync(a, m), Pace.sync(b, n)])
    @test Pace.array(m) == Pace.array(n) == [8, 6]
    foreach(close, (a, b))
end

@testset "what top-k owes is saved and loaded" begin
    top_k = (compression = :spardl, topk_density = 0.25, topk_dense_fallback = "never")
    a, b = pair(; top_k...)
    g, h = filled(a, Float32.(1:8)), filled(b, Float32.(8:-1:1))
    owed = [Pace.buffer(session, Float32, 8) for session in (a, b)]
    foreach(wait, [Pace.reduce(a, g; op = :sum), Pace.reduce(b, h; op = :sum)])
    foreach(wait, [Pace.residual_save(a, owed[1]), Pace.residual_save(b, owed[2])])
    @test Pace.array(g) == Pace.array(h)
    @test Pace.array(g) + Pace.array(owed[1]) + Pace.array(owed[2]) == fill(9, 8)

    restored = pair(; top_k...)
    loaded, saved = Pace.buffer(restored[1], Float32, 8), Pace.buffer(restored[1], Float32, 8)
    Pace.array(loaded) .= 1:8
    wait(Pace.residual_load(restored[1], loaded))
    wait(Pace.residual_save(restored[1], saved))
    @test Pace.array(saved) == 1:8
    foreach(close, (a, b, restored...))
end
