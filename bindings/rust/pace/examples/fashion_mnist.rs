//! Fashion-MNIST by softmax regression on four workers, one of them slow, that average with whoever is ready.
//!
//!     cargo run --release --example fashion_mnist [FOLDER]
//!
//! FOLDER has the four files of the data set, compressed by gzip: /usr/share/datasets/fashion-mnist by default, where Debian's
//! package dataset-fashion-mnist puts them. The workers are threads, each with a session of its own. The daemon is in this
//! process, unless PACE_ENDPOINT names another one. Ends with status 1 when the test accuracy is below 80 %.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pace::{AverageOptions, BroadcastOptions, Buffer, CallOptions, Session};

const WORKERS: u32 = 4;
const STEPS: u64 = 3200;
const BATCH: usize = 64;
const RATE: f32 = 0.05;
/// A worker averages when it has made so many steps on its own.
const STEPS_PER_AVERAGE: u64 = 8;
/// The last worker computes each step so many times.
const SLOWNESS: usize = 3;
const PIXELS: usize = 28 * 28;
const CLASSES: usize = 10;
/// A row of weights for each class, and behind them a bias for each.
const PARAMETERS: usize = CLASSES * (PIXELS + 1);
const ACCURACY_MIN: f64 = 0.80;

type Failure = Box<dyn Error + Send + Sync>;

/// Images as numbers from 0 to 1, and what they show.
struct Images {
    pixels: Vec<f32>,
    labels: Vec<u8>,
}

fn main() -> Result<(), Failure> {
    let folder =
        env::args_os().nth(1).map_or_else(|| PathBuf::from("/usr/share/datasets/fashion-mnist"), PathBuf::from);
    let (training, test) = (Images::read(&folder, "train")?, Images::read(&folder, "t10k")?);
    let job = format!("fashion-mnist-{}", process::id());
    let begin = Instant::now();
    let models = thread::scope(|threads| {
        let (job, training) = (&job, &training);
        let mut workers = Vec::new();
        for rank in 0..WORKERS {
            workers.push(threads.spawn(move || train(job, rank, training)));
        }
        let model_of = |worker: thread::ScopedJoinHandle<'_, _>| worker.join().map_err(|_| "a worker has panicked")?;
        workers.into_iter().map(model_of).collect::<Result<Vec<_>, Failure>>()
    })?;
    let accuracy = test.accuracy(&models[0]);
    println!("test accuracy {:.2} % after {:.1} s", 100.0 * accuracy, begin.elapsed().as_secs_f64());
    if accuracy < ACCURACY_MIN {
        process::exit(1);
    }
    Ok(())
}

/// One worker, from its session's opening to its end. Gives the model that all workers have at last.
fn train(job: &str, rank: u32, training: &Images) -> Result<Vec<f32>, Failure> {
    let mut builder = Session::builder(job, "partial-reduce").rank(rank).world(WORKERS).option("group.size", 2);
    if env::var_os("PACE_ENDPOINT").is_none() {
        builder = builder.endpoint("embedded:");
    }
    let session = builder.open()?;
    let model: Buffer<f32> = session.buffer(PARAMETERS)?;
    let (mut model, mut info) = session.broadcast(model, BroadcastOptions::default())?.wait()?;
    let mut random = Random(u64::from(rank) + 1);
    while info.iteration < STEPS {
        for _ in 0..STEPS_PER_AVERAGE {
            let batch: Vec<usize> = (0..BATCH).map(|_| random.below(training.labels.len())).collect();
            step(&mut model, training, &batch, if rank == WORKERS - 1 { SLOWNESS } else { 1 });
        }
        let iteration = info.iteration + STEPS_PER_AVERAGE;
        (model, info) = session.average(model, AverageOptions::at(iteration))?.wait()?;
    }
    let (model, _) = session.sync(model, CallOptions::default())?.wait()?;
    let weights = model.to_vec();
    session.leave(Duration::from_secs(1))?;
    Ok(weights)
}

/// One step of stochastic gradient descent, whose gradient is computed `times` times.
fn step(model: &mut [f32], images: &Images, batch: &[usize], times: usize) {
    let mut gradient = Vec::new();
    for _ in 0..times {
        gradient = gradient_of(model, images, batch);
    }
    for (weight, slope) in model.iter_mut().zip(&gradient) {
        *weight -= RATE * slope / batch.len() as f32;
    }
}

/// The gradient of the cross entropy, summed over the batch.
fn gradient_of(model: &[f32], images: &Images, batch: &[usize]) -> Vec<f32> {
    let mut gradient = vec![0.0; PARAMETERS];
    for &image in batch {
        let pixels = images.image(image);
        let mut probabilities = softmax(scores(model, pixels));
        probabilities[usize::from(images.labels[image])] -= 1.0;
        for (class, error) in probabilities.iter().enumerate() {
            let row = &mut gradient[class * PIXELS..][..PIXELS];
            row.iter_mut().zip(pixels).for_each(|(slope, pixel)| *slope += error * pixel);
            gradient[CLASSES * PIXELS + class] += error;
        }
    }
    gradient
}

fn scores(model: &[f32], pixels: &[f32]) -> [f32; CLASSES] {
    let (weights, biases) = model.split_at(CLASSES * PIXELS);
    let mut scores = [0.0; CLASSES];
    for (class, score) in scores.iter_mut().enumerate() {
        let row = &weights[class * PIXELS..][..PIXELS];
        *score = biases[class] + row.iter().zip(pixels).map(|(weight, pixel)| weight * pixel).sum::<f32>();
    }
    scores
}

fn softmax(scores: [f32; CLASSES]) -> [f32; CLASSES] {
    let greatest = scores.iter().fold(f32::NEG_INFINITY, |greatest, &score| greatest.max(score));
    let powers = scores.map(|score| (score - greatest).exp());
    let sum: f32 = powers.iter().sum();
    powers.map(|power| power / sum)
}

impl Images {
    /// Reads "train" or "t10k".
    fn read(folder: &Path, name: &str) -> Result<Images, Failure> {
        let pixels = unpacked(&folder.join(format!("{name}-images-idx3-ubyte.gz")), 16)?;
        let labels = unpacked(&folder.join(format!("{name}-labels-idx1-ubyte.gz")), 8)?;
        if pixels.len() != PIXELS * labels.len() || labels.iter().any(|&label| usize::from(label) >= CLASSES) {
            return Err(format!("{name}: {} pixels do not fit {} labels", pixels.len(), labels.len()).into());
        }
        Ok(Images { pixels: pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect(), labels })
    }

    fn image(&self, index: usize) -> &[f32] {
        &self.pixels[index * PIXELS..][..PIXELS]
    }

    /// The share of the images whose class the model tells.
    fn accuracy(&self, model: &[f32]) -> f64 {
        let is_told = |&(index, &label): &(usize, &u8)| {
            let scores = scores(model, self.image(index));
            let class = (0..CLASSES).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            class == Some(usize::from(label))
        };
        self.labels.iter().enumerate().filter(is_told).count() as f64 / self.labels.len() as f64
    }
}

/// The contents of a file, unpacked by gzip, without the first bytes, which tell the shape.
fn unpacked(file: &Path, header_bytes: usize) -> Result<Vec<u8>, Failure> {
    let output = Command::new("gzip").arg("-dc").arg(file).stderr(Stdio::inherit()).output()?;
    if !output.status.success() || output.stdout.len() < header_bytes {
        return Err(format!("{}: gzip cannot unpack it", file.display()).into());
    }
    Ok(output.stdout[header_bytes..].to_vec())
}

/// Numbers that look random: xorshift64* (Vigna, 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize) % bound
    }
}
