@testset "options are keywords, or names with their values" begin
    close(Session(new_job(), "partial-reduce"; rank = 0, world = 2, group_size = 2, group_wait_ms = 5))
    close(Session(new_job(), :asp; rank = 0, world = 1, server_elements = 4, server_rate = :sum))
    without_folder = thrown(() -> Session(new_job(), :asp; rank = 0, world = 1, server_elements = 4, server_checkpoint_every_ms = 1000))
    @test without_folder isa Pace.Disk
    close(Session(new_job(), "all-reduce"; rank = 0, world = 1,
                  options = Dict("compression" => :spardl, "topk.density" => 0.5)))
    close(Session(new_job(), "all-reduce"; rank = 0, world = 1, options = ["no.such" => Pace.Hint(1)]))
    close(Session(new_job(), "ad-psgd"; rank = 0, world = 2, group_edges = [0 => 1]))
    close(Session(new_job(), "ad-psgd"; rank = 0, world = 2, group_edges = hex2bytes("0000000001000000")))
end

@testset "a wrong option or argument is named" begin
    wrong(; keywords...) = thrown(() -> Session(new_job(), "partial-reduce"; rank = 0, world = 2, keywords...))
    for (error, argument) in ((wrong(group_size = 0), "group.size"), (wrong(group_size = "two"), "group.size"),
                              (wrong(group_sise = 2), "group.sise"), (wrong(group_size = nothing), "group.size"),
                              (wrong(group_edges = [1 => -2]), "group.edges"), (wrong(quorum = "all"), "quorum"),
                              (wrong(endpoint = "a\0b"), "endpoint"), (wrong(run = ""), "run"))
        @test error isa Pace.Invalid
        @test error.argument == argument
        @test occursin(first(split(argument, ".")), error.message)
    end
    @test thrown(() -> Session("a b", "all-reduce"; rank = 0, world = 1)).argument == "job"
    @test thrown(() -> Session(new_job(), "sum"; rank = 0, world = 1)).argument == "policy"
    @test thrown(() -> Session(new_job(), "all-reduce"; rank = -1, world = 1)).argument == "rank"
    @test thrown(() -> Session(new_job(), "all-reduce"; rank = 0, world = 1, endpoint = "unix:/nowhere/paced.sock",
                               connect_ms = 0)) isa Pace.NotFound
end

@testset "rank and world come from the launcher" begin
    @test Pace.launched(Dict()) === nothing
    @test Pace.launched(Dict("RANK" => "1", "WORLD_SIZE" => "4")) == (1, 4)
    @test Pace.launched(Dict("SLURM_PROCID" => "2", "SLURM_NTASKS" => "3", "PMI_RANK" => "0", "PMI_SIZE" => "8")) == (0, 8)
    @test thrown(() -> Pace.launched(Dict("RANK" => "1"))).argument == "world"
    @test thrown(() -> Pace.launched(Dict("RANK" => "one", "WORLD_SIZE" => "4"))) isa Pace.Invalid
    @test thrown(() -> Session(new_job(), "all-reduce"; rank = 0)).argument == "world"
    withenv("RANK" => "1", "WORLD_SIZE" => "2") do
        Session(new_job(), "all-reduce") do session
            @test (Pace.info(session).rank, Pace.info(session).world) == (1, 2)
        end
    end
end
