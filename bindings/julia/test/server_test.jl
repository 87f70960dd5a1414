@testset "a server adds pushes, dense and sparse, to the model that pulls give" begin
    session = alone("asp"; server_elements = 4)
    model, update = filled(session, Float32[1, 2, 3, 4]), filled(session, Float32[1, 1])
    wait(Pace.broadcast(session, model))
    @test wait(Pace.push(session, update, 0; first = 1)).contributor_count == 1
    @test wait(Pace.push(session, update, 0; first = 1)).contributor_count == 0
    indices, values = filled(session, UInt32[0, 3, 9]), filled(session, Float32[5, 7, 0])
    wait(Pace.push(session, values, 1; indices = indices, entries = 2))
    wait(Pace.pull(session, model, 2))
    @test Pace.array(model) == [6, 3, 4, 11]
    wait(Pace.pull(session, model[1:2], 2; first = 2))
    @test Pace.array(model) == [4, 11, 4, 11]
    refused = thrown(() -> wait(Pace.push(session, values, 2; indices = indices)))
    @test refused isa Pace.Refused && refused.info.status == refused.status
    close(session)
end

@testset "a checkpoint without a folder is refused at its end" begin
    session = alone("asp"; server_elements = 1)
    wait(Pace.broadcast(session, filled(session, Float32[1])))
    @test thrown(() -> wait(Pace.checkpoint(session))) isa Pace.Disk
    close(session)
end
