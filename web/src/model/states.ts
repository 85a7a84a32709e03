// What the words of pools and drives mean for those who look: how bad, and what is left of the
// redundancy. A word that is not known here counts as something to see to.
import { type Alert, type Pool, type PoolDrive, type Status, path } from '../api/client'
import { duration, percent, text } from './format'

/** Each level has a shape and a colour of its own. */
export type Level = 'ok' | 'busy' | 'idle' | 'warn' | 'bad'

const RANK: Level[] = ['idle', 'ok', 'busy', 'warn', 'bad']

export const worst = (levels: Level[]): Level =>
  levels.reduce((all, level) => (RANK.indexOf(level) > RANK.indexOf(all) ? level : all), 'ok' as Level)

const POOL: Record<string, Level> = {
  online: 'ok', rebuilding: 'busy', rebalancing: 'busy', scrubbing: 'busy', trimming: 'busy',
  evacuating: 'busy', opening: 'busy', reduced: 'warn', degraded: 'warn', 'need-rebuild': 'bad',
  'nearly-full': 'warn', throttled: 'warn', 'short-for-loss': 'warn', volatile: 'warn',
  full: 'bad', 'out-of-room': 'bad', 'read-only': 'bad', taken: 'bad', uncertain: 'bad', unavailable: 'bad',
}

const DRIVE: Record<string, Level> = {
  online: 'ok', returned: 'busy', evacuating: 'busy', sparse: 'idle', released: 'warn', slow: 'warn',
  failed: 'bad', absent: 'bad', stale: 'bad', unknown: 'warn',
}

const JOB: Record<string, Level> = {
  running: 'busy', waiting: 'warn', finished: 'ok', stopped: 'idle', failed: 'bad', missing: 'bad',
}

export const poolLevel = (state: string): Level => POOL[state] ?? 'warn'
export const driveLevel = (state: string): Level => DRIVE[state] ?? 'warn'
export const jobLevel = (state: string): Level => JOB[state] ?? 'warn'
export const severityLevel = (severity: string): Level =>
  severity === 'error' ? 'bad' : severity === 'warning' ? 'warn' : 'idle'

/** The word that says most about a drive. */
export function driveWord(drive: PoolDrive): { word: string; level: Level } {
  const level = worst(drive.states.map(driveLevel))
  const word = drive.states.find((state) => driveLevel(state) === level) ?? drive.states[0] ?? 'unknown'
  const warned = drive.health.warnings[0]
  if (warned && (level === 'ok' || level === 'idle')) {
    return { word: warned.kind.replaceAll('_', ' '), level: severityLevel(warned.severity) }
  }
  return { word, level: drive.states.length === 0 ? 'warn' : level }
}

/** Something that somebody should see to. */
export interface Concern {
  level: Level
  what: string
  why: string
  where: string
}

/** As the daemon says it; but what only takes redundancy is as bad as what is left of that. */
function ofAlert({ severity, code, pool: name, drive, message, hint }: Alert, pools: Pool[]): Concern {
  const pool = pools.find((it) => it.name === name)
  const safety = pool ? redundancy(pool).level : 'bad'
  const isPart = drive != null || code === 'degraded' || code === 'spare_refused'
  const level = severityLevel(severity)
  const where = drive != null ? `#/drives${path(name!, drive)}` : isPart ? '#/drives' : '#/settings'
  const atMost = safety === 'bad' ? 'bad' : 'warn'
  return { level: code === 'degraded' ? safety : isPart && level === 'bad' ? atMost : level, what: message, why: hint ?? '', where }
}

/** All that somebody should see to, the worst first. */
export function concerns({ alerts, pools }: Status): Concern[] {
  return alerts.map((it) => ofAlert(it, pools)).sort((a, b) => RANK.indexOf(b.level) - RANK.indexOf(a.level))
}

const WORDS: Record<Level, string> = { ok: 'Healthy', busy: 'Healthy', idle: 'Healthy', warn: 'Attention', bad: 'Critical' }

export function health(status: Status): { level: Level; word: string; detail: string } {
  const all = concerns(status)
  const level = worst(all.map((concern) => concern.level))
  const busy = status.pools.flatMap((pool) => pool.states.filter((state) => poolLevel(state) === 'busy').map((state) => `${pool.name} ${state}`))
  const detail = all[0]?.what ?? busy[0] ?? (status.pools.length === 0 ? 'no pool yet' : 'nothing to see to')
  const more = all.length > 1 ? `, and ${all.length - 1} more` : ''
  return { level: all.length === 0 && busy.length > 0 ? 'busy' : level, word: WORDS[level], detail: detail + more }
}

/** How many drives a pool of this level survives the loss of, when it is whole. */
export function lossesSurvived(level: string | null | undefined): number | null {
  const known: Record<string, number> = { '0': 0, '1': 1, '1x3': 2, '5': 1, '6': 2, '7.3': 3 }
  if (level == null) return null
  const parity = /^\d+\+(\d+)$/.exec(level)
  return known[level] ?? (parity ? Number(parity[1]) : null)
}

export interface Redundancy {
  level: Level
  value: string
  detail: string
}

const LOST = ['failed', 'absent', 'stale', 'returned']

/** What a pool survives now. */
export function redundancy(pool: Pool): Redundancy {
  const whole = lossesSurvived(pool.level)
  if (whole === null || !pool.space) return { level: 'warn', value: 'unknown', detail: `${pool.name} is not open` }
  const rebuild = pool.jobs?.rebuild
  if (pool.states.includes('degraded')) {
    const lost = pool.drives.filter((drive) => drive.states.some((state) => LOST.includes(state))).length
    const left = Math.max(0, whole - lost)
    const done = rebuild ? `rebuild ${text(percent(rebuild.done_percent))}` : 'no rebuild'
    const eta = rebuild?.eta_seconds != null ? `, ${duration(rebuild.eta_seconds)} left` : ''
    return { level: left === 0 ? 'bad' : 'warn', value: `${left} of ${whole}`, detail: done + eta }
  }
  if (whole === 0) return { level: 'warn', value: 'none', detail: 'one lost drive loses data' }
  const worstLoss = pool.space.after_loss
  if (worstLoss && !worstLoss.survives) {
    return { level: 'warn', value: `${whole} of ${whole}`, detail: `without ${worstLoss.drive} new data would be refused` }
  }
  return { level: 'ok', value: `${whole} of ${whole}`, detail: whole === 1 ? 'drive may fail' : 'drives may fail' }
}

/** When a pool is full, in words. */
export function forecast(pool: Pool): string {
  if (!pool.space) return 'not open'
  if (pool.space.out_of_space) return 'new data is refused'
  const seconds = pool.space.full_in_seconds
  return seconds == null ? 'not filling up' : `full in ${duration(seconds)} at the last hour’s rate`
}
