@testset "a session tells of itself" begin
    session = alone()
    info = Pace.info(session)
    @test (info.rank, info.world, info.run_state) == (0, 1, :new)
    @test isopen(session) && occursin("open", string(session))
    close(session)
    close(session)
    @test !isopen(session)
    @test thrown(() -> Pace.info(session)) isa Pace.Closed
end

@testset "a block leaves the job at its end, and gives its value" begin
    job = new_job()
    other = Session(job, "all-reduce"; rank = 1, world = 2)
    value = Session(job, "all-reduce"; rank = 0, world = 2) do session
        foreach(wait, [Pace.barrier(session), Pace.barrier(other)])
        :value
    end
    @test value === :value
    # The rank is free at once: it was left.
    again = Session(job, "all-reduce"; rank = 0, world = 2, connect_ms = 0)
    @test Pace.info(again).run_state == :under_way
    foreach(close, (again, other))
end

@testset "an exception ends a block without leaving" begin
    job = new_job()
    other = Session(job, "all-reduce"; rank = 1, world = 2)
    kept = Ref{Session}()
    @test_throws ErrorException("mine") Session(job, "all-reduce"; rank = 0, world = 2) do session
        kept[] = session
        filled(session, Float32[7])
        foreach(wait, [Pace.barrier(session), Pace.barrier(other)])
        error("mine")
    end
    @test !isopen(kept[])
    # A worker that has died finds what its buffers held; one that has left does not.
    again = Session(job, "all-reduce"; rank = 0, world = 2)
    buffer = Pace.buffer(again, Float32, 1)
    @test Pace.info(buffer).restored && Pace.array(buffer) == [7]
    foreach(close, (again, other))
end

@testset "after leave everything but free and close fails" begin
    session = alone()
    Pace.leave(session)
    @test thrown(() -> Pace.barrier(session)) isa Pace.Closed
    @test thrown(() -> Pace.leave(session)) isa Pace.Closed
    close(session)
end

function open_and_forget(job)
    Session(job, "all-reduce"; rank = 0, world = 1)
    return nothing
end

@testset "a session that nobody refers to is freed" begin
    job = new_job()
    open_and_forget(job)
    again = nothing
    @test collect_until() do
        again = try
            Session(job, "all-reduce"; rank = 0, world = 1, connect_ms = 0)
        catch error
            error isa Pace.Taken || rethrow()
            nothing
        end
        again !== nothing
    end
    close(again)
end

@testset "a rank that is held is taken" begin
    session = alone()
    job = Pace.info(session).job
    @test thrown(() -> Session(job, "all-reduce"; rank = 0, world = 1, connect_ms = 100)) isa Pace.Taken
    close(session)
end
