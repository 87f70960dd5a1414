//! Which worker of how many this process is, as its launcher says by environment variables.

use std::env;

use crate::error::{Error, Result};

/// A worker's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// 0 to world - 1.
    pub rank: u32,
    /// Workers of the job.
    pub world: u32,
    /// Counts the workers of this node, where the launcher says it.
    pub local_rank: Option<u32>,
}

/// The variables for rank, world, local rank: of torchrun and `python -m pace run`, Open MPI,
/// MPICH, Slurm. Within a Slurm job, mpirun sets variables of its own, which then count.
const LAUNCHERS: [[&str; 3]; 4] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
];

/// What torchrun, `python -m pace run`, Open MPI, MPICH or Slurm say; None without a launcher.
///
/// Threads: any. Does not block. Fails with `Invalid` when one of its variables is missing beside the other, or is no number.
pub fn launched() -> Result<Option<Launched>> {
    launched_in(&|name| env::var(name).ok())
}

fn launched_in(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Launched>> {
    let number = |name: &str| match variable(name) {
        None => Ok(None),
        Some(text) => match text.parse::<u32>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Error::invalid(name, format!("{name} is {text:?}; set it to a whole number"))),
        },
    };
    for [rank, world, local_rank] in LAUNCHERS {
        if let Some(found) = number(rank)? {
            let missing = || Error::invalid("world", format!("{rank} is set and {world} is not; set both"));
            let world = number(world)?.ok_or_else(missing)?;
            return Ok(Some(Launched { rank: found, world, local_rank: number(local_rank)? }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Launched>> {
        launched_in(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn is_what_the_first_launcher_says() {
        let slurm = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8"), ("SLURM_LOCALID", "1")];
        assert_eq!(of(&slurm).unwrap(), Some(Launched { rank: 3, world: 8, local_rank: Some(1) }));
        let mpirun = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), slurm[0], slurm[1]];
        assert_eq!(of(&mpirun).unwrap(), Some(Launched { rank: 0, world: 2, local_rank: None }));
        assert_eq!(of(&[]).unwrap(), None);
    }

    #[test]
    fn is_refused_where_a_variable_is_missing_or_no_number() {
        for variables in
            [&[("RANK", "1")][..], &[("RANK", "one"), ("WORLD_SIZE", "2")], &[("RANK", "-1"), ("WORLD_SIZE", "2")]]
        {
            assert_eq!(of(variables).unwrap_err().status, Status::Invalid);
        }
    }
}
