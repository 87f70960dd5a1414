# Trains a small network on Fashion-MNIST with four workers, which average their parameters in pairs, whoever is ready. Each worker is
# a session in a task of this process; as processes of their own they would do the same. The data are Debian's package
# dataset-fashion-mnist, or the folder that FASHION_MNIST names.
#
#     julia --project=bindings/julia bindings/julia/examples/fashion_mnist.jl
#
# Exit status 1: the test accuracy is below 80 %; 77: the data are not there.

using LinearAlgebra
using Pace
using Random

const FOLDER = get(ENV, "FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
const PIXELS, HIDDEN, CLASSES = 28 * 28, 64, 10
const WORKERS, STEPS, BATCH, RATE = 4, 1000, 64, 0.2f0
const ACCURACY_LEAST = 0.8

"The bytes of a gzip file after its header."
elements(file, header_bytes) = read(`gzip -dc $(joinpath(FOLDER, file))`)[header_bytes + 1:end]

"Images as columns of bytes, and their classes, from 1."
load(set) = (reshape(elements("$set-images-idx3-ubyte.gz", 16), PIXELS, :), elements("$set-labels-idx1-ubyte.gz", 8) .+ 1)

inputs(images) = Float32.(images) ./ 255.0f0 .- 0.3f0

# A layer's parameters are parts of one vector: the buffer that is averaged, or a gradient of its length.
struct Dense{W<:AbstractMatrix{Float32},B<:AbstractVector{Float32}}
    weights::W
    bias::B
end

(layer::Dense)(columns) = layer.weights * columns .+ layer.bias

parameter_count(rows, columns) = rows * columns + rows

function dense(parameters, rows, columns)
    weights = reshape(view(parameters, 1:rows * columns), rows, columns)
    return Dense(weights, view(parameters, rows * columns + 1:parameter_count(rows, columns)))
end

"The two layers that lie in a vector."
function network(parameters)
    first_count = parameter_count(HIDDEN, PIXELS)
    return dense(parameters, HIDDEN, PIXELS), dense(view(parameters, first_count + 1:length(parameters)), CLASSES, HIDDEN)
end

const PARAMETERS = parameter_count(HIDDEN, PIXELS) + parameter_count(CLASSES, HIDDEN)

relu(x) = max(x, 0.0f0)

function softmax(columns)
    exponentials = exp.(columns .- maximum(columns; dims = 1))
    return exponentials ./ sum(exponentials; dims = 1)
end

"Writes the gradient of the mean cross-entropy into `slopes`, whose layers lie as those of the parameters."
function gradient!(slopes, parameters, columns, classes)
    first_layer, second_layer = network(parameters)
    first_slopes, second_slopes = network(slopes)
    hidden = relu.(first_layer(columns))
    error = softmax(second_layer(hidden))
    for (column, class) in enumerate(classes)
        error[class, column] -= 1
    end
    error ./= length(classes)
    mul!(second_slopes.weights, error, hidden')
    second_slopes.bias .= vec(sum(error; dims = 2))
    hidden_error = (second_layer.weights' * error) .* (hidden .> 0)
    mul!(first_slopes.weights, hidden_error, columns')
    first_slopes.bias .= vec(sum(hidden_error; dims = 2))
    return slopes
end

function accuracy(parameters, images, classes)
    first_layer, second_layer = network(parameters)
    scores = second_layer(relu.(first_layer(inputs(images))))
    return count(found -> found[2][1] == classes[found[1]], enumerate(argmax(scores; dims = 1))) / length(classes)
end

"One worker: steps of its own, each followed by an average with whoever is ready. Gives its parameters."
function train(rank, images, classes)
    random = MersenneTwister(rank)
    mine = rank + 1:WORKERS:size(images, 2)
    Session("fashion", "partial-reduce"; rank = rank, world = WORKERS, endpoint = get(ENV, "PACE_ENDPOINT", "embedded:"),
            group_size = 2) do session
        model = Pace.buffer(session, Float32, PARAMETERS)
        parameters = Pace.array(model)
        rank == 0 && foreach(layer -> randn!(random, layer.weights) .*= sqrt(2.0f0 / size(layer.weights, 2)), network(parameters))
        step = wait(Pace.broadcast(session, model)).iteration
        slopes = zeros(Float32, PARAMETERS)
        while step < STEPS
            batch = rand(random, mine, BATCH)
            gradient!(slopes, parameters, inputs(view(images, :, batch)), view(classes, batch))
            parameters .-= RATE .* slopes
            step = wait(Pace.average(session, model; iteration = step + 1)).iteration
        end
        return copy(parameters)
    end
end

function main()
    if !isfile(joinpath(FOLDER, "train-images-idx3-ubyte.gz"))
        println("skipped: there are no data in $FOLDER; install dataset-fashion-mnist, or name their folder in FASHION_MNIST")
        exit(77)
    end
    images, classes = load("train")
    seconds = @elapsed models = fetch.([@async(train(rank, images, classes)) for rank in 0:WORKERS - 1])
    found = accuracy(sum(models) ./ WORKERS, load("t10k")...)
    println("test accuracy $(round(100 * found; digits = 1)) % after $STEPS steps of $WORKERS workers in $(round(seconds; digits = 1)) s")
    exit(found < ACCURACY_LEAST ? 1 : 0)
end

main()
