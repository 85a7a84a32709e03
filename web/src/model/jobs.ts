// What each kind of long work does, for people.
import type { Job } from '../api/client'

export const JOB_TEXT: Record<Job['kind'], string> = {
  rebuild: 'restores what lived on a lost drive',
  rebalance: 'spreads what lives over all drives',
  scrub: 'reads and checks all that is stored, and repairs it',
  trim: 'tells the drives which space is free',
  verify: 'counts all that the maps name anew, and compares',
  evacuation: 'moves what lives on a drive to others',
  erase: 'erases drives',
}

/** So many drives are named; of more their number is said. */
export const NAMED_MAX = 3

export function jobName({ pool, kind, drives }: Job): string {
  const which = drives.length > NAMED_MAX ? `${drives.length} drives` : drives.join(', ')
  return `${pool} ${kind}${which ? ` of ${which}` : ''}`
}
