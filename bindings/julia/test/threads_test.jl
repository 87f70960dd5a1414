# With one thread these are tasks like others; `check` starts Julia with two.

@testset "workers of several threads, which collect garbage meanwhile" begin
    sessions = pair()
    function train(session)
        model = Pace.buffer(session, Float32, 1000)
        weights = Pace.array(model)
        for iteration in 1:100
            Pace.buffer(session, Float32, 100)
            weights .+= 1
            wait(Pace.reduce(session, model))
            iteration % 20 == 0 && GC.gc()
        end
        return copy(weights)
    end
    results = fetch.([Threads.@spawn(train(session)) for session in sessions])
    @test results[1] == results[2] == fill(100.0f0, 1000)
    foreach(close, sessions)
end

@testset "requests of one session in several threads" begin
    a, b = pair()
    counts = map(fetch, [Threads.@spawn(sum(wait(Pace.barrier(session)).member_count for _ in 1:50)) for session in (a, a, b, b)])
    @test counts == fill(100, 4)
    foreach(close, (a, b))
end
