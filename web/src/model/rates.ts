// What came between two answers of `iostat` and `status`: rates, latencies and queues. Pure.
//
// The daemon's counts only grow, by its own clock. Where they have not, or the daemon was started
// anew, the interval has no figures: it is left out, never guessed.
import type { IoCounts, IoStat, Pool, Schemas } from '../api/client'

type Counters = Schemas['PoolCounters']
type Steps = Schemas['PoolSteps']
export type Step = keyof Steps

/** Blocks that the store counts have this size. */
export const BLOCK_BYTES = 4096

/** Operations of one kind in an interval. `null`: there were none to tell it by. */
export interface Flow {
  perSecond: number
  bytesPerSecond: number
  meanUs: number | null
  p50Us: number | null
  p99Us: number | null
  /** How many were under way at a time, on average (Little's law). */
  meanQueue: number
}

export interface Io {
  key: string
  name: string
  pool: string
  reads: Flow
  writes: Flow
  trims: Flow
  /** All kinds together. */
  all: Flow
  inFlight: number
  /** How many waited for the limits of a volume at a time, on average. */
  heldUp: number
  /** For what part of the time a drive had something to do, from 0 to 1. */
  busy: number
}

/** A step of the store in an interval. */
export interface StepRate {
  perSecond: number
  /** How many were under way at a time, on average. */
  meanQueue: number
  /** For what part of the time it was busy. */
  busy: number
}

/** What happened in a pool, each by the second. */
export interface StoreRates {
  pool: string
  blocksRead: number
  blocksWritten: number
  blocksMoved: number
  blocksReconstructed: number
  blocksSpared: number
  mapPagesRead: number
  storedBytes: number
  driveBytes: number
  segmentsCollected: number
  checkpoints: number
  steps: Record<Step, StepRate>
}

/** What part of the time a thread of the daemon was busy, from 0 to 1. */
export interface Busy {
  name: string
  share: number
}

export interface Picture {
  seconds: number
  /** Those that serve hosts and pools. */
  reactors: Busy[]
  volumes: Io[]
  drives: Io[]
  total: Flow & { reads: Flow; writes: Flow; trims: Flow }
  inFlight: number
}

type Buckets = [number, number][]

/** The width of the bucket that begins at `from`, in microseconds. */
export function bucketWidth(from: number): number {
  return from < 128 ? 1 : 2 ** (Math.floor(Math.log2(from)) - 6)
}

/** What the later histogram has more than the earlier one; `null` if it has less somewhere. */
export function bucketsBetween(before: number[][], after: number[][]): Buckets | null {
  const earlier = new Map(before.map((bucket) => [bucket[0]!, bucket[1]!]))
  const found: Buckets = []
  for (const bucket of after) {
    const more = bucket[1]! - (earlier.get(bucket[0]!) ?? 0)
    if (more < 0) return null
    if (more > 0) found.push([bucket[0]!, more])
  }
  return found
}

/** The time within which that part of the operations was done, as the daemon itself reckons it. */
export function quantile(buckets: Buckets, part: number): number | null {
  const all = buckets.reduce((sum, [, operations]) => sum + operations, 0)
  if (all === 0) return null
  const rank = Math.max(1, Math.ceil(part * all))
  let before = 0
  for (const [from, operations] of buckets) {
    before += operations
    if (before >= rank) return from + Math.floor(bucketWidth(from) / 2)
  }
  return null
}

function merged(all: Buckets[]): Buckets {
  const sums = new Map<number, number>()
  for (const buckets of all) for (const [from, n] of buckets) sums.set(from, (sums.get(from) ?? 0) + n)
  return [...sums].sort((a, b) => a[0] - b[0])
}

/** Counts of an interval, before they are figures: they can be added up. */
interface Part {
  operations: number
  bytes: number
  totalUs: number
  buckets: Buckets
}

const NOTHING: Part = { operations: 0, bytes: 0, totalUs: 0, buckets: [] }

function partOf(before: IoCounts, after: IoCounts): Part | null {
  const operations = after.operations - before.operations
  const buckets = bucketsBetween(before.buckets, after.buckets)
  if (operations < 0 || buckets === null) return null
  if (operations === 0) return NOTHING
  return {
    operations,
    bytes: after.transferred_bytes - before.transferred_bytes,
    totalUs: after.total_us - before.total_us,
    buckets,
  }
}

function sum(parts: Part[]): Part {
  const busy = parts.filter((part) => part.operations > 0)
  if (busy.length <= 1) return busy[0] ?? NOTHING
  const add = (of: (part: Part) => number) => busy.reduce((all, part) => all + of(part), 0)
  return {
    operations: add((part) => part.operations),
    bytes: add((part) => part.bytes),
    totalUs: add((part) => part.totalUs),
    buckets: merged(busy.map((part) => part.buckets)),
  }
}

function flow(part: Part, seconds: number): Flow {
  return {
    perSecond: part.operations / seconds,
    bytesPerSecond: part.bytes / seconds,
    meanUs: part.operations > 0 ? part.totalUs / part.operations : null,
    p50Us: quantile(part.buckets, 0.5),
    p99Us: quantile(part.buckets, 0.99),
    meanQueue: part.totalUs / 1e6 / seconds,
  }
}

type Counted = Pick<IoStat['volumes'][number], 'uuid' | 'name' | 'pool' | 'reads' | 'writes' | 'trims' | 'operations_in_flight'> & { delayed_seconds?: number; busy_seconds?: number }
type Parts = Record<'reads' | 'writes' | 'trims', Part>

/** By pool and identity: a drive that moves to another pool is another one. */
const keyOf = (it: Counted) => `${it.pool}/${it.name}/${it.uuid}`

const since = (before: number | undefined, after: number | undefined, seconds: number) => Math.max(0, (after ?? 0) - (before ?? 0)) / seconds

function ios(before: Counted[], after: Counted[], seconds: number): { all: Io[]; parts: Parts[] } {
  const earlier = new Map(before.map((it) => [keyOf(it), it]))
  const all: Io[] = []
  const parts: Parts[] = []
  for (const it of after) {
    const was = earlier.get(keyOf(it))
    if (!was) continue
    const reads = partOf(was.reads, it.reads)
    const writes = partOf(was.writes, it.writes)
    const trims = partOf(was.trims, it.trims)
    if (!reads || !writes || !trims) continue
    parts.push({ reads, writes, trims })
    all.push({
      key: `${it.pool}/${it.name}`,
      name: it.name,
      pool: it.pool,
      reads: flow(reads, seconds),
      writes: flow(writes, seconds),
      trims: flow(trims, seconds),
      all: flow(sum([reads, writes, trims]), seconds),
      inFlight: it.operations_in_flight,
      heldUp: since(was.delayed_seconds, it.delayed_seconds, seconds),
      busy: Math.min(1, since(was.busy_seconds, it.busy_seconds, seconds)),
    })
  }
  return { all, parts }
}

/** Of reactors that look for work before they sleep the processor time does not say how busy they are. */
function reactors(before: IoStat, after: IoStat, seconds: number): Busy[] {
  if (after.reactors_spin) return []
  const earlier = new Map(before.threads?.map((it) => [it.name, it.cpu_seconds]))
  const all = after.threads?.filter((it) => it.name.startsWith('reactor-') && earlier.has(it.name)) ?? []
  return all.map(({ name, cpu_seconds }) => ({ name, share: Math.min(1, Math.max(0, cpu_seconds - earlier.get(name)!) / seconds) }))
}

/** What went on between two answers; `null` if they cannot be compared. */
export function picture(before: IoStat, after: IoStat): Picture | null {
  const seconds = after.uptime_seconds - before.uptime_seconds
  if (before.instance !== after.instance || seconds <= 0) return null
  const volumes = ios(before.volumes, after.volumes, seconds)
  const drives = ios(before.drives, after.drives, seconds)
  const of = (kind: keyof Parts) => sum(volumes.parts.map((parts) => parts[kind]))
  const [reads, writes, trims] = [of('reads'), of('writes'), of('trims')]
  const total = {
    ...flow(sum([reads, writes, trims]), seconds),
    reads: flow(reads, seconds),
    writes: flow(writes, seconds),
    trims: flow(trims, seconds),
  }
  const inFlight = after.volumes.reduce((all, volume) => all + volume.operations_in_flight, 0)
  return { seconds, reactors: reactors(before, after, seconds), volumes: volumes.all, drives: drives.all, total, inFlight }
}

/** Counters of one moment, by the clock of the daemon. */
export interface Reading {
  seconds: number
  pools: Pool[]
}

const COUNTED: [keyof Omit<StoreRates, 'pool' | 'steps'>, keyof Counters][] = [
  ['blocksRead', 'blocks_read'],
  ['blocksWritten', 'blocks_written'],
  ['blocksMoved', 'blocks_moved'],
  ['blocksReconstructed', 'blocks_reconstructed'],
  ['blocksSpared', 'blocks_spared'],
  ['mapPagesRead', 'map_pages_read'],
  ['storedBytes', 'stored_bytes'],
  ['driveBytes', 'drive_written_bytes'],
  ['segmentsCollected', 'segments_collected'],
  ['checkpoints', 'checkpoints'],
]

function steps(before: Steps, after: Steps, seconds: number): Record<Step, StepRate> {
  const of = (step: Step): StepRate => {
    const [was, is] = [before[step], after[step]]
    return {
      perSecond: since(was.operations, is.operations, seconds),
      meanQueue: since(was.latency_seconds, is.latency_seconds, seconds),
      busy: Math.min(1, since(was.busy_seconds, is.busy_seconds, seconds)),
    }
  }
  return { batch: of('batch'), compress: of('compress'), parity: of('parity'), map: of('map') }
}

/** What the stores did between two readings. Pools that were opened anew are left out. */
export function storeRates(before: Reading, after: Reading): StoreRates[] {
  const seconds = after.seconds - before.seconds
  if (seconds <= 0) return []
  const earlier = new Map(before.pools.map((pool) => [pool.uuid, pool.counters]))
  return after.pools.flatMap((pool) => {
    const was = earlier.get(pool.uuid)
    const now = pool.counters
    if (!was || !now) return []
    const rates = { pool: pool.name } as StoreRates
    for (const [name, counter] of COUNTED) {
      const more = (now[counter] as number) - (was[counter] as number)
      if (more < 0) return []
      rates[name] = more / seconds
    }
    rates.steps = steps(was.steps, now.steps, seconds)
    return [rates]
  })
}
