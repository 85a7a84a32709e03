// The long work of pools, as a list: for a daemon that has no `/jobs`.
import type { Job, Pool } from '../api/client'

const KINDS = ['rebuild', 'rebalance', 'scrub', 'trim', 'verify'] as const
const CANCELLED = ['scrub', 'rebalance']

/** What each kind of work does. */
export const JOB_TEXT: Record<string, string> = {
  rebuild: 'restores what lived on a lost drive',
  rebalance: 'spreads what lives over all drives',
  scrub: 'reads and checks all that is stored, and repairs it',
  trim: 'tells the drives which space is free',
  verify: 'counts all that the maps name anew, and compares',
  evacuation: 'moves what lives on a drive to others',
  erase: 'erases a drive',
}

type Some = { states?: string[]; started_at?: string; finished_at?: string | null; problem?: string | null; left_bytes?: number | null }

export function jobsOf(pools: Pool[]): Job[] {
  return pools.flatMap((pool) =>
    KINDS.flatMap((kind) => {
      const work = pool.jobs?.[kind]
      if (!work) return []
      const some = work as Some
      const states = some.states ?? ['running']
      return [{
        id: `${pool.name}/${kind}`, kind, pool: pool.name, object: null, states,
        done_percent: work.done_percent, left_bytes: some.left_bytes ?? null, eta_seconds: work.eta_seconds ?? null,
        started_at: some.started_at ?? null, finished_at: some.finished_at ?? null, problem: some.problem ?? null,
        can_cancel: CANCELLED.includes(kind) && states.includes('running'),
      }]
    }),
  )
}
