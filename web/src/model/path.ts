// The data path as stations, each with what is known of it. What no figure is counted of says so
// (`null`): it is never made up.
import type { Host, Pool, Volume } from '../api/client'
import { type Figure, byteRate, bytes, count, digits, micros, percent, rate, ratio } from './format'
import { limitUsed } from './limits'
import type { Finding, Stage } from './narrowest'
import { BLOCK_BYTES, type Io, type Picture, type Step, type StepRate, type StoreRates } from './rates'

const STAGES: Record<Stage, string> = {
  hosts: 'Hosts', target: 'Target', door: 'Volumes’ door', batch: 'Batch', compress: 'Compress',
  parity: 'Parity', map: 'Map', drives: 'Drives',
}

export const stageTitle = (stage: Stage): string => STAGES[stage]

/** Where it is narrowest, as shortly as it can be said. */
export function stageName(finding: Finding): string {
  if (finding.stage === 'target') return 'Daemon'
  const isOne = finding.place !== null && finding.place.includes('/')
  return isOne ? finding.place! : STAGES[finding.stage]
}

export interface Row {
  label: string
  /** `null`: not measured. */
  figure: Figure | null
}

export interface Station {
  stage: Stage
  /** What it does, in a few words. */
  does: string
  rows: Row[]
}

/** What flows between two stations. */
export interface Pipe {
  reads: number | null
  writes: number | null
}

export interface DataPath {
  stations: Record<Stage, Station>
  pipes: { hosts: Pipe; drives: Pipe }
}

interface Known {
  picture: Picture | null
  stores: StoreRates[]
  pools: Pool[]
  volumes: Volume[]
  hosts: Host[] | null
  reactors: number
}

type Sums = Omit<StoreRates, 'pool' | 'steps'>

function sums(stores: StoreRates[]): Sums | null {
  if (stores.length === 0) return null
  const all: Record<string, number> = {}
  for (const store of stores) {
    for (const [name, value] of Object.entries(store)) if (typeof value === 'number') all[name] = (all[name] ?? 0) + value
  }
  return all as unknown as Sums
}

/** What a step of the store does now. Of several pools it is as busy as in the one where it is busiest:
 * each pool has one reactor for it. */
function stepRows(stores: StoreRates[], step: Step): Row[] {
  const all: StepRate[] = stores.map((store) => store.steps[step])
  const sum = (of: (it: StepRate) => number) => all.reduce((sum, it) => sum + of(it), 0)
  const perSecond = sum((it) => it.perSecond)
  const known = all.length > 0
  return [
    { label: 'operations', figure: known ? rate(perSecond) : null },
    { label: 'latency', figure: known ? micros(perSecond > 0 ? (1e6 * sum((it) => it.meanQueue)) / perSecond : null) : null },
    { label: 'busy', figure: known ? percent(100 * Math.max(...all.map((it) => it.busy))) : null },
  ]
}

const plain = (value: number | null | undefined): Figure | null => (value == null ? null : { value: digits(value), unit: '' })
const share = (part: number, all: number): number | null => (all > 0 ? (100 * part) / all : null)
const over = (one: number, other: number): number | null => (other > 0 ? one / other : null)

function ofHosts({ picture, hosts }: Known): Station {
  const io = hosts?.filter((host) => host.kind === 'io')
  const sum = (of: (host: Host) => number) => io!.reduce((all, host) => all + of(host), 0)
  return {
    stage: 'hosts', does: 'ask',
    rows: [
      { label: 'connected', figure: io ? count(new Set(io.map((host) => host.host_id)).size) : null },
      { label: 'I/O queues', figure: io ? count(sum((host) => host.io_queues)) : null },
      { label: 'of those offered', figure: io ? percent(share(sum((host) => host.io_queues), sum((host) => host.io_queues_max))) : null },
      { label: 'in flight', figure: plain(picture?.total.meanQueue) },
    ],
  }
}

function ofTarget({ picture, reactors }: Known): Station {
  const busy = picture?.reactors.map((it) => it.share) ?? []
  const known = busy.length > 0
  return {
    stage: 'target', does: 'takes commands by NVMe/TCP',
    rows: [
      { label: 'commands', figure: picture ? rate(picture.total.perSecond) : null },
      { label: 'latency', figure: picture ? micros(picture.total.meanUs) : null },
      { label: 'reactors', figure: count(reactors) },
      { label: 'busy', figure: known ? percent((100 * busy.reduce((all, it) => all + it, 0)) / busy.length) : null },
      ...(busy.length > 1 ? [{ label: 'busiest', figure: percent(100 * Math.max(...busy)) }] : []),
    ],
  }
}

function ofDoor({ picture, volumes }: Known): Station {
  const used = picture ? volumes.flatMap((volume) => limitUsed(volume, picture.volumes.find((it) => it.key === `${volume.pool}/${volume.name}`)) ?? []) : []
  return {
    stage: 'door', does: 'admits, counts and times',
    rows: [
      { label: 'commands', figure: picture ? rate(picture.total.perSecond) : null },
      { label: 'read', figure: picture ? micros(picture.total.reads.meanUs) : null },
      { label: 'write', figure: picture ? micros(picture.total.writes.meanUs) : null },
      { label: 'read p99', figure: picture ? micros(picture.total.reads.p99Us) : null },
      { label: 'write p99', figure: picture ? micros(picture.total.writes.p99Us) : null },
      { label: 'held up', figure: picture ? plain(picture.volumes.reduce((all, it) => all + it.heldUp, 0)) : null },
      // Volumes without limits use none of them.
      { label: 'limit used', figure: picture ? percent(used.length > 0 ? 100 * Math.max(...used) : null) : null },
    ],
  }
}

function ofBatch(store: Sums | null, rows: Row[]): Station {
  const appended = store ? store.blocksMoved + store.blocksWritten : 0
  return {
    stage: 'batch', does: 'gathers blocks, collects garbage',
    rows: [
      { label: 'written', figure: store ? byteRate(store.blocksWritten * BLOCK_BYTES) : null },
      { label: 'GC moved', figure: store ? byteRate(store.blocksMoved * BLOCK_BYTES) : null },
      { label: 'GC share', figure: store ? percent(appended > 0 ? (100 * store.blocksMoved) / appended : null) : null },
      ...rows,
    ],
  }
}

function ofCompress(store: Sums | null, rows: Row[]): Station {
  return {
    stage: 'compress', does: 'makes blocks smaller',
    rows: [
      { label: 'out', figure: store ? byteRate(store.storedBytes) : null },
      { label: 'ratio now', figure: store ? ratio(over(store.blocksWritten * BLOCK_BYTES, store.storedBytes)) : null },
      ...rows,
    ],
  }
}

function ofParity(store: Sums | null, rows: Row[]): Station {
  return {
    stage: 'parity', does: 'adds redundancy, restores',
    rows: [
      { label: 'out', figure: store ? byteRate(store.driveBytes) : null },
      { label: 'per byte', figure: store ? plain(over(store.driveBytes, store.blocksWritten * BLOCK_BYTES)) ?? count(null) : null },
      { label: 'from parity', figure: store ? rate(store.blocksReconstructed) : null },
      ...rows,
    ],
  }
}

function ofMap(store: Sums | null, pools: Pool[], rows: Row[]): Station {
  const looked = store ? store.blocksRead + store.blocksWritten : 0
  const missed = store && looked > 0 ? (100 * store.mapPagesRead) / looked : null
  const open = pools.filter((pool) => pool.space)
  const memory = open.reduce((all, pool) => all + pool.space!.map_memory_bytes, 0)
  return {
    stage: 'map', does: 'finds where blocks are',
    rows: [
      { label: 'misses', figure: store ? rate(store.mapPagesRead) : null },
      { label: 'miss share', figure: store ? percent(missed) : null },
      { label: 'memory', figure: open.length > 0 ? bytes(memory) : null },
      ...rows,
    ],
  }
}

function ofDrives({ picture }: Known): Station {
  const drives = picture?.drives ?? []
  const mean = (kind: 'reads' | 'writes') => {
    const operations = drives.reduce((all, drive) => all + drive[kind].perSecond, 0)
    const queue = drives.reduce((all, drive) => all + drive[kind].meanQueue, 0)
    return operations > 0 ? (queue / operations) * 1e6 : null
  }
  const queue = drives.reduce((all, drive) => all + drive.all.meanQueue, 0) / Math.max(drives.length, 1)
  const most = (of: (drive: Io) => number) => drives.reduce((all, drive) => Math.max(all, of(drive)), 0)
  const busy = drives.reduce((all, drive) => all + drive.busy, 0) / Math.max(drives.length, 1)
  return {
    stage: 'drives', does: 'keep',
    rows: [
      { label: 'operations', figure: picture ? rate(drives.reduce((all, drive) => all + drive.all.perSecond, 0)) : null },
      { label: 'read', figure: picture ? micros(mean('reads')) : null },
      { label: 'write', figure: picture ? micros(mean('writes')) : null },
      { label: 'in flight', figure: picture ? plain(queue) : null },
      { label: 'fullest', figure: picture ? plain(most((it) => it.all.meanQueue)) : null },
      { label: 'busy', figure: picture ? percent(100 * busy) : null },
      { label: 'busiest', figure: picture ? percent(100 * most((it) => it.busy)) : null },
    ],
  }
}

export function dataPath(known: Known): DataPath {
  const { picture, stores } = known
  const store = sums(stores)
  const hosts = picture ? { reads: picture.total.reads.bytesPerSecond, writes: picture.total.writes.bytesPerSecond } : { reads: null, writes: null }
  const of = (kind: 'reads' | 'writes') => picture?.drives.reduce((all, drive) => all + drive[kind].bytesPerSecond, 0) ?? null
  return {
    stations: {
      hosts: ofHosts(known), target: ofTarget(known), door: ofDoor(known), batch: ofBatch(store, stepRows(stores, 'batch')),
      compress: ofCompress(store, stepRows(stores, 'compress')), parity: ofParity(store, stepRows(stores, 'parity')),
      map: ofMap(store, known.pools, stepRows(stores, 'map')), drives: ofDrives(known),
    },
    pipes: { hosts, drives: { reads: of('reads'), writes: of('writes') } },
  }
}
