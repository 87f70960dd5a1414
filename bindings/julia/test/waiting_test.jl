@testset "other tasks run during a wait" begin
    a, b = pair()
    first_ended = @async wait(Pace.barrier(a; user_data = 3))
    second_ended = @async wait(Pace.barrier(b))
    @test fetch(first_ended).user_data == 3
    @test fetch(second_ended).member_count == 2
    foreach(close, (a, b))
end

@testset "a wait whose time has passed collects nothing" begin
    a, b = pair()
    request = Pace.barrier(a)
    @test thrown(() -> wait(request; timeout = 0)) isa Pace.Timeout
    @test thrown(() -> wait(request; timeout = 0.02)) isa Pace.Timeout
    @test thrown(() -> wait(request; timeout = -1)).argument == "timeout_ms"
    @test !Pace.isdone(request)
    wait(Pace.barrier(b))
    @test wait(request; timeout = 20).member_count == 2
    @test wait(request).member_count == 2
    @test Pace.isdone(request)
    foreach(close, (a, b))
end

@testset "an InterruptException ends a wait, and the request goes on" begin
    a, b = pair()
    request = Pace.barrier(a)
    waiter = waiting_task(() -> wait(request))
    schedule(waiter, InterruptException(); error = true)
    @test thrown(() -> wait(waiter)).task.exception isa InterruptException
    @test !Pace.isdone(request)
    wait(Pace.barrier(b))
    @test wait(request).member_count == 2
    foreach(close, (a, b))
end

@testset "Ctrl-C ends a wait, $keywords" for keywords in ("()", "(timeout = 60,)")
    program = """
        keywords = $keywords
        using Pace
        Base.exit_on_sigint(false)
        session = Session("job", "all-reduce"; rank = 0, world = 2)
        request = Pace.barrier(session)
        try
            println("waiting")
            wait(request; keywords...)
        catch error
            println(error isa InterruptException, " ", Pace.isdone(request))
        end
        """
    child = open(julia(program), "r")
    patience = Timer(_ -> kill(child, Base.SIGKILL), 60)
    try
        @test readline(child) == "waiting"
        kill(child, Base.SIGINT)
        @test readline(child) == "true false"
        wait(child)
        @test success(child)
    finally
        close(patience)
        kill(child, Base.SIGKILL)
    end
end

@testset "several tasks wait for one request, and for several of one session" begin
    a, b = pair()
    m, n = Pace.buffer(a, Float32, 1), Pace.buffer(b, Float32, 1)
    barrier = Pace.barrier(a)
    waiters = [waiting_task(() -> wait(barrier).user_data) for _ in 1:3]
    reduce = Pace.reduce(a, m; user_data = 5)
    last_waiter = waiting_task(() -> wait(reduce).user_data)
    wait(Pace.barrier(b))
    @test fetch.(waiters) == [0, 0, 0]
    wait(Pace.reduce(b, n))
    @test fetch(last_waiter) == 5
    foreach(close, (a, b))
end

@testset "a wait goes on while another request has ended and is not collected" begin
    a, b = pair()
    early, late = Pace.barrier(a), Pace.reduce(a, Pace.buffer(a, Float32, 1))
    wait(Pace.barrier(b))
    waiter = waiting_task(() -> wait(late).member_count)
    wait(Pace.reduce(b, Pace.buffer(b, Float32, 1)))
    @test fetch(waiter) == 2
    @test wait(early).member_count == 2
    foreach(close, (a, b))
end

@testset "next gives whichever request ends first" begin
    a, b = pair()
    @test thrown(() -> Pace.next(a)) isa Pace.NotFound
    barrier, reduce = Pace.barrier(a), Pace.reduce(a, Pace.buffer(a, Float32, 1))
    @test thrown(() -> Pace.next(a; timeout = 0)) isa Pace.Timeout
    wait(Pace.barrier(b))
    @test Pace.next(a) === barrier
    wait(Pace.reduce(b, Pace.buffer(b, Float32, 1)))
    @test Pace.next(a) === reduce
    @test wait(reduce).member_count == 2
    foreach(close, (a, b))
end

@testset "a request that is canceled ends as canceled, with its info" begin
    (a, b), (m, n) = averaging_pair(Float32[1, 2], Float32[3, 4])
    request = Pace.average(a, m; iteration = 1, user_data = 8)
    Pace.cancel(request)
    error = thrown(() -> wait(request))
    @test error isa Pace.Canceled && error.info.user_data == 8
    @test Pace.array(m) == [1, 2]
    Pace.cancel(request)
    @test thrown(() -> wait(request)) isa Pace.Canceled
    foreach(close, (a, b))
end

@testset "freeing a session, or leaving its job, ends its waits" begin
    a, b = pair()
    waiter = waiting_task(() -> thrown(() -> wait(Pace.barrier(a))))
    Pace.free(a)
    @test fetch(waiter) isa Pace.Closed
    @test thrown(() -> Pace.barrier(a)) isa Pace.Closed
    close(b)
    a, b = pair()
    waiter = waiting_task(() -> thrown(() -> wait(Pace.barrier(b); timeout = 60)))
    Pace.leave(b)
    @test fetch(waiter) isa Pace.Closed
    foreach(close, (a, b))
end
