// Where the data path is narrowest, and what would widen it: judged from figures alone. Pure.
//
// Each rule looks at one place and says how narrow it is, from 0 to 1, by figures that the daemon
// has counted. A rule that lacks a figure says nothing. What is concluded because everything else
// is excluded says so (`inferred`).
import type { Host, Pool } from '../api/client'
import { digits, micros, percent, rate, text } from './format'
import type { Busy, Io, Picture, Step, StoreRates } from './rates'

export type Stage = 'hosts' | 'target' | 'door' | 'batch' | 'compress' | 'parity' | 'map' | 'drives'

export interface Figures {
  picture: Picture | null
  stores: StoreRates[]
  pools: Pool[]
  /** `null`: not known yet. */
  hosts: Host[] | null
}

export interface Finding {
  stage: Stage
  /** The one volume, pool or drive that it is about; `null`: all of them. */
  place: string | null
  title: string
  evidence: string[]
  advice: string
  /** How narrow it is, from 0 to 1. */
  pressure: number
  basis: 'measured' | 'inferred'
}

export interface Verdict {
  state: 'unknown' | 'idle' | 'wide' | 'narrow'
  narrowest: Finding | null
  /** All that is worth knowing, the narrowest first. */
  findings: Finding[]
}

/** Fewer operations a second than this say nothing about any place. */
const IDLE_PER_SECOND = 5
/** From this pressure on a place counts as narrow. */
const NARROW = 0.3
/** So near to the narrowest, a place that was it before stays it. */
const STEADY_SHARE = 0.7
/** Shares from which on something is worth saying. */
const RECONSTRUCTED_SHARE = 0.05
const MOVED_SHARE = 0.5
const MISS_SHARE = 0.1
const FLOOD_SHARE = 0.8
/** A reactor that is busy for so much of the time has no more to give. */
const BUSY_SHARE = 0.9
/** A drive this many times slower than the middle one of its pool stands out. */
const SLOW_FACTOR = 3
/** Commands in flight on a drive, on average, at which it is surely kept busy. */
const FULL_DRIVE_QUEUE = 8
/** Commands in flight in all at which hosts cannot be what is waited for. */
const DEEP_QUEUE = 16

export function judge(figures: Figures): Verdict {
  const stopped = figures.pools.flatMap(spaceFinding)
  const { picture } = figures
  const isIdle = picture !== null && picture.total.perSecond < IDLE_PER_SECOND && picture.inFlight === 0
  const moving = picture && !isIdle ? underLoad(figures, picture) : []
  const findings = [...stopped, ...moving].sort((a, b) => b.pressure - a.pressure)
  const first = findings[0]
  if (first && first.pressure >= NARROW) return { state: 'narrow', narrowest: first, findings }
  if (!picture) return { state: 'unknown', narrowest: null, findings }
  return { state: isIdle ? 'idle' : 'wide', narrowest: null, findings }
}

/** A place that was the narrowest stays it while it is nearly so: figures of two seconds jump. */
export function steady(before: Finding | null, now: Verdict): Verdict {
  const same = before && now.findings.find((it) => it.stage === before.stage && it.place === before.place)
  const least = Math.max(NARROW, STEADY_SHARE * (now.narrowest?.pressure ?? 0))
  return now.narrowest && same && same.pressure >= least ? { ...now, narrowest: same } : now
}

function underLoad(figures: Figures, picture: Picture): Finding[] {
  return [
    ...figures.stores.flatMap((store) => storeFindings(store, figures.pools)),
    ...slowDrives(picture.drives),
    ...allDrives(picture),
    ...inside(picture, figures.stores),
    ...flood(picture),
    ...heldUp(picture),
    ...shallowHosts(picture, figures.hosts),
  ]
}

/** Hosts are refused or slowed for lack of space: nothing else matters then. */
function spaceFinding(pool: Pool): Finding[] {
  const stopping = pool.states.find((state) => ['full', 'out-of-room', 'read-only'].includes(state))
  const is = (title: string, advice: string, pressure: number): Finding[] => {
    const evidence = [pool.problem ?? `${pool.name}: ${pool.states.join(', ')}`]
    return [{ stage: 'batch', place: pool.name, title, evidence, advice, pressure, basis: 'measured' }]
  }
  const room = 'Delete or trim data, or add drives; the reserve can be released once.'
  if (stopping === 'read-only') return is('Writes are stopped', 'Bring the missing drives back.', 1)
  if (stopping === 'out-of-room') return is('Writes are refused', 'Make room in the file system below its drives.', 1)
  if (stopping) return is('New data is refused', room, 1)
  if (pool.states.includes('throttled')) return is('Writers are slowed, for the pool is nearly full', room, 0.95)
  return []
}

function storeFindings(store: StoreRates, pools: Pool[]): Finding[] {
  const pool = pools.find((it) => it.name === store.pool)
  return [...worked(store), ...reconstructed(store), ...spared(store, pool), ...collected(store), ...missed(store, pool)]
}

const OWN_REACTOR = 'a faster processor, or a second pool with a reactor of its own'
const LIGHTER: Record<Exclude<Step, 'batch'>, { title: string; advice: string }> = {
  compress: { title: 'Compression takes the time of the reactor', advice: `A lighter compression: lz4 costs less than zstd, and none nothing. Or ${OWN_REACTOR}.` },
  parity: { title: 'Parity takes the time of the reactor', advice: `Fewer parity columns cost less; where a drive is lost, bring it back or replace it. Or ${OWN_REACTOR}.` },
  map: { title: 'The map takes the time of the reactor', advice: `Larger commands need fewer look-ups. Or ${OWN_REACTOR}.` },
}
const WORK = ['compress', 'parity', 'map'] as const

const takes = ({ steps }: StoreRates) => WORK.map((step) => `${step} ${text(percent(100 * steps[step].busy))}`).join(', ')

/** Compression, parity and map have one reactor together: where they leave it no time, the first of them
 * is what to begin with. */
function worked(store: StoreRates): Finding[] {
  const all = WORK.reduce((sum, step) => sum + store.steps[step].busy, 0)
  if (all < BUSY_SHARE) return []
  const stage = WORK.reduce((most, step) => (store.steps[step].busy > store.steps[most].busy ? step : most))
  return [{ stage, place: store.pool, basis: 'measured', pressure: Math.min(0.95, 0.95 * all), evidence: [`of the time of its reactor: ${takes(store)}`], ...LIGHTER[stage] }]
}

function reconstructed(store: StoreRates): Finding[] {
  const share = store.blocksReconstructed / Math.max(store.blocksRead, 1)
  if (share < RECONSTRUCTED_SHARE) return []
  return [{
    stage: 'parity', place: store.pool, basis: 'measured', pressure: Math.min(0.9, 0.5 + 0.4 * share),
    title: 'Reads are put together from parity',
    evidence: [`${text(rate(store.blocksReconstructed))} blocks reconstructed, ${text(percent(100 * Math.min(1, share)))} of those read`],
    advice: 'Bring the lost drive back or replace it. A larger share for the rebuild ends this sooner, and costs hosts more until then.',
  }]
}

function spared(store: StoreRates, pool: Pool | undefined): Finding[] {
  const share = store.blocksSpared / Math.max(store.blocksRead, 1)
  const slow = pool?.drives.filter((drive) => drive.states.includes('slow')).map((drive) => drive.name) ?? []
  if (share < RECONSTRUCTED_SHARE) return []
  return [{
    stage: 'drives', place: slow.length > 0 ? `${store.pool}/${slow.join(', ')}` : store.pool, basis: 'measured',
    pressure: Math.min(0.85, 0.5 + 0.4 * share),
    title: 'Reads go around a slow drive',
    evidence: [`${text(rate(store.blocksSpared))} blocks reconstructed because a drive is slow`],
    advice: 'Look at the health and the slot of the slow drive; replace it if that lasts.',
  }]
}

function collected(store: StoreRates): Finding[] {
  const share = store.blocksMoved / Math.max(store.blocksMoved + store.blocksWritten, 1)
  if (share < MOVED_SHARE || store.blocksMoved < 100) return []
  return [{
    stage: 'batch', place: store.pool, basis: 'measured', pressure: 0.85 * share,
    title: 'Garbage collection writes more than hosts do',
    evidence: [`${text(rate(store.blocksMoved))} blocks moved for ${text(rate(store.blocksWritten))} written (${text(percent(100 * share))} of the appends)`],
    advice: 'Free space: trim or delete data, or add drives. The emptier a pool, the less has to be moved.',
  }]
}

function missed(store: StoreRates, pool: Pool | undefined): Finding[] {
  const looked = store.blocksRead + store.blocksWritten
  const share = store.mapPagesRead / Math.max(looked, 1)
  if (share < MISS_SHARE || store.mapPagesRead < 10) return []
  const memory = pool?.space?.map_memory_bytes
  const has = memory != null ? ` It has ${digits(memory / (1 << 20))} MiB now.` : ''
  return [{
    stage: 'map', place: store.pool, basis: 'measured', pressure: Math.min(0.9, 0.35 + share / 2),
    title: 'The map does not fit into its memory',
    evidence: [`${text(rate(store.mapPagesRead))} pages of the map read from drives, ${digits(share)} for each block that is read or written`],
    advice: `Give the map more memory: map_memory_bytes of the configuration.${has}`,
  }]
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

function slowDrives(drives: Io[]): Finding[] {
  const busy = drives.filter((drive) => drive.all.perSecond >= IDLE_PER_SECOND && drive.all.meanUs !== null)
  return busy.flatMap((drive) => {
    const others = busy.filter((other) => other.pool === drive.pool && other !== drive)
    if (others.length < 2) return []
    const usual = median(others.map((other) => other.all.meanUs!))
    const factor = drive.all.meanUs! / Math.max(usual, 1)
    if (factor < SLOW_FACTOR || drive.all.meanQueue < 0.5) return []
    return [{
      stage: 'drives', place: drive.key, basis: 'measured', pressure: Math.min(0.88, 0.4 + 0.05 * factor),
      title: 'One drive is slower than the others',
      evidence: [`${text(micros(drive.all.meanUs))} on average, where the others take ${text(micros(usual))}`],
      advice: 'Look at its temperature, link and errors; seat it anew, or replace it.',
    } satisfies Finding]
  })
}

/** What part of the time of hosts' commands a drive's operation takes; `null`: not known. */
export function driveShare({ total, drives }: Picture): number | null {
  const mean = (kind: 'reads' | 'writes') => {
    const active = drives.filter((drive) => drive[kind].perSecond > 0)
    const queue = active.reduce((all, drive) => all + drive[kind].meanQueue, 0)
    const operations = active.reduce((all, drive) => all + drive[kind].perSecond, 0)
    return operations > 0 ? (queue / operations) * 1e6 : null
  }
  let time = 0
  let drive = 0
  for (const kind of ['reads', 'writes'] as const) {
    const flow = total[kind]
    if (flow.meanUs === null) continue
    time += flow.meanQueue
    // Reads that are answered from memory ask no drive.
    drive += flow.meanQueue * Math.min(1, (mean(kind) ?? 0) / Math.max(flow.meanUs, 1))
  }
  return time > 0 && drives.length > 0 ? drive / time : null
}

function allDrives(picture: Picture): Finding[] {
  const share = driveShare(picture)
  if (share === null) return []
  const busy = picture.drives.filter((drive) => drive.all.perSecond > 0)
  const queue = busy.reduce((all, drive) => all + drive.all.meanQueue, 0) / Math.max(busy.length, 1)
  const pressure = share * (0.35 + 0.6 * Math.min(1, queue / FULL_DRIVE_QUEUE))
  if (pressure < NARROW / 2) return []
  const means = (['reads', 'writes'] as const).flatMap((kind) => {
    const host = picture.total[kind].meanUs
    return host === null ? [] : [`${kind === 'reads' ? 'a read' : 'a write'} takes ${text(micros(host))}`]
  })
  return [{
    stage: 'drives', place: null, basis: 'measured', pressure,
    title: share >= 0.5 ? 'The drives take most of the time' : 'The drives take a part of the time',
    evidence: [`${text(percent(100 * share))} of it, where ${means.join(', ')}; ${digits(queue)} in flight on each drive`],
    advice: 'Add drives: the pool spreads over them at once. Harder compression gives each of them less to do.',
  }]
}

const FASTER = `Each pool runs on one reactor: ${OWN_REACTOR}. Volumes with zstd cost more than with lz4.`

/** Reactors do what target, door and store have to do. One that is busy all the time is measured; else
 * the time that drives do not take is concluded to be theirs, unless they are known to be at rest. */
function inside(picture: Picture, stores: StoreRates[]): Finding[] {
  const steps = stores.map((store) => `of it the store of ${store.pool}: ${takes(store)}`)
  const share = driveShare(picture)
  const first = picture.reactors.reduce<Busy | null>((most, it) => (it.share > (most?.share ?? -1) ? it : most), null)
  const busy = first && `${first.name} is busy for ${text(percent(100 * first.share))} of the time`
  const is = (title: string, evidence: string[], pressure: number, basis: Finding['basis']): Finding[] => [
    { stage: 'target', place: null, title, evidence, advice: FASTER, pressure, basis },
  ]
  if (first && first.share >= BUSY_SHARE) return is('A reactor has no time left', [busy!, ...steps], 0.9 * first.share, 'measured')
  if (share === null || picture.total.meanQueue < 2 || (first && first.share < BUSY_SHARE / 2)) return []
  const pressure = 0.75 * (1 - share) * Math.min(1, picture.total.meanQueue / DEEP_QUEUE)
  if (pressure < NARROW / 2) return []
  const left = `drives take ${text(percent(100 * share))} of the time, and ${digits(picture.total.meanQueue)} commands are in flight on average`
  return is('The time goes by in the daemon itself', [left, busy ?? 'by exclusion: the time of its reactors is not known', ...steps], pressure, 'inferred')
}

function heldUp({ volumes }: Picture): Finding[] {
  const most = volumes.reduce<Io | null>((one, it) => (it.heldUp > (one?.heldUp ?? 0) ? it : one), null)
  if (!most || most.heldUp < 0.5) return []
  return [{
    stage: 'door', place: most.key, basis: 'measured', pressure: 0.7,
    title: 'A volume waits for its limits',
    evidence: [`${digits(most.heldUp)} commands held up at a time, on average`],
    advice: 'That is what its limits are for. Raise them if it is to have more.',
  }]
}

function flood({ volumes, total }: Picture): Finding[] {
  const active = volumes.filter((volume) => volume.all.perSecond >= 1)
  const first = active.reduce<Io | null>((most, it) => (!most || it.all.meanQueue > most.all.meanQueue ? it : most), null)
  if (!first || active.length < 2 || total.meanQueue < FULL_DRIVE_QUEUE) return []
  const share = first.all.meanQueue / total.meanQueue
  if (share < FLOOD_SHARE) return []
  return [{
    stage: 'door', place: first.key, basis: 'measured', pressure: 0.6 * share,
    title: 'One volume crowds out the others',
    evidence: [`${first.key} has ${text(percent(100 * share))} of what is in flight; ${active.length - 1} others wait beside it`],
    advice: 'Limit the volume, or give it a pool of its own.',
  }]
}

function shallowHosts({ total }: Picture, hosts: Host[] | null): Finding[] {
  if (!hosts) return []
  const connected = new Set(hosts.filter((host) => host.kind === 'io').map((host) => host.host_id)).size
  const each = total.meanQueue / Math.max(connected, 1)
  if (each > 1.5 || total.perSecond < IDLE_PER_SECOND) return []
  return [{
    stage: 'hosts', place: null, basis: 'measured', pressure: 0.4,
    title: 'Hosts do not ask for more',
    evidence: [`${digits(each)} commands in flight for each host, on average`],
    advice: 'There is room here. A host gets more with a greater queue depth or more jobs at a time.',
  }]
}
