//! What happens in pools, from the node to the API.

use ashlar_control::{Erase, ErasedBy, Loss, Occurred, Occurrence, Occurrences};
use ashlar_volume::TakenOccurrences;

/// What the node has given.
pub fn occurrences(taken: TakenOccurrences) -> Occurrences {
    let TakenOccurrences { all, lost } = taken;
    Occurrences { all: all.into_iter().map(occurrence).collect(), lost }
}

fn occurrence(one: ashlar_volume::Occurrence) -> Occurrence {
    let ashlar_volume::Occurrence { at, number, pool, what } = one;
    let what = match what {
        ashlar_volume::Occurred::Lost(lost) => Occurred::Lost(loss(lost)),
        ashlar_volume::Occurred::Erased(erased) => Occurred::Erased(erase(erased)),
    };
    Occurrence { at, number, pool_uuid: pool.to_string(), what }
}

fn loss(lost: ashlar_store::Loss) -> Loss {
    match lost {
        ashlar_store::Loss::Drive(drive, why) => {
            Loss::Drive { drive: format!("drive-{}", drive.0), why: why.to_string() }
        }
        ashlar_store::Loss::Answers(drive) => Loss::Answers { drive: format!("drive-{}", drive.0) },
        ashlar_store::Loss::Writes(why) => Loss::Writes(why),
    }
}

fn erase(erased: ashlar_volume::VolumeErase) -> Erase {
    let ashlar_volume::VolumeErase { pool, volume, by, failed } = erased;
    let by = match by {
        ashlar_volume::ErasedBy::Format(host) => ErasedBy::Format(host.to_string()),
        ashlar_volume::ErasedBy::Sanitize(host) => ErasedBy::Sanitize(host.to_string()),
        ashlar_volume::ErasedBy::Start => ErasedBy::Start,
    };
    Erase { pool, volume: volume.to_string(), by, failed }
}
