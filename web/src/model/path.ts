// The data path as stations, each with what is known of it. What no figure is counted of says so
// (`null`): it is never made up.
import type { Host, Pool } from '../api/client'
import { type Figure, byteRate, bytes, count, digits, micros, percent, rate, ratio } from './format'
import type { Finding, Stage } from './narrowest'
import { BLOCK_BYTES, type Picture, type StoreRates } from './rates'

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
  hosts: Host[] | null
  reactors: number
}

type Sums = Omit<StoreRates, 'pool'>

function sums(stores: StoreRates[]): Sums | null {
  if (stores.length === 0) return null
  const all: Record<string, number> = {}
  for (const store of stores) {
    for (const [name, value] of Object.entries(store)) if (typeof value === 'number') all[name] = (all[name] ?? 0) + value
  }
  return all as unknown as Sums
}

const plain = (value: number | null | undefined): Figure | null => (value == null ? null : { value: digits(value), unit: '' })
const over = (one: number, other: number): number | null => (other > 0 ? one / other : null)

function ofHosts({ picture, hosts }: Known): Station {
  const io = hosts?.filter((host) => host.kind === 'io')
  return {
    stage: 'hosts', does: 'ask',
    rows: [
      { label: 'connected', figure: io ? count(new Set(io.map((host) => host.host_id)).size) : null },
      { label: 'I/O queues', figure: io ? count(io.reduce((all, host) => all + host.io_queues, 0)) : null },
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

function ofDoor({ picture }: Known): Station {
  return {
    stage: 'door', does: 'admits, counts and times',
    rows: [
      { label: 'read', figure: picture ? micros(picture.total.reads.meanUs) : null },
      { label: 'write', figure: picture ? micros(picture.total.writes.meanUs) : null },
      { label: 'read p99', figure: picture ? micros(picture.total.reads.p99Us) : null },
      { label: 'write p99', figure: picture ? micros(picture.total.writes.p99Us) : null },
      { label: 'held up', figure: picture ? plain(picture.volumes.reduce((all, it) => all + it.heldUp, 0)) : null },
    ],
  }
}

function ofBatch(store: Sums | null): Station {
  const appended = store ? store.blocksMoved + store.blocksWritten : 0
  return {
    stage: 'batch', does: 'gathers blocks, collects garbage',
    rows: [
      { label: 'written', figure: store ? byteRate(store.blocksWritten * BLOCK_BYTES) : null },
      { label: 'GC moved', figure: store ? byteRate(store.blocksMoved * BLOCK_BYTES) : null },
      { label: 'GC share', figure: store ? percent(appended > 0 ? (100 * store.blocksMoved) / appended : null) : null },
      { label: 'busy', figure: null },
    ],
  }
}

function ofCompress(store: Sums | null): Station {
  return {
    stage: 'compress', does: 'makes blocks smaller',
    rows: [
      { label: 'out', figure: store ? byteRate(store.storedBytes) : null },
      { label: 'ratio now', figure: store ? ratio(over(store.blocksWritten * BLOCK_BYTES, store.storedBytes)) : null },
      { label: 'busy', figure: null },
    ],
  }
}

function ofParity(store: Sums | null): Station {
  return {
    stage: 'parity', does: 'adds redundancy, restores',
    rows: [
      { label: 'out', figure: store ? byteRate(store.driveBytes) : null },
      { label: 'per byte', figure: store ? plain(over(store.driveBytes, store.blocksWritten * BLOCK_BYTES)) ?? count(null) : null },
      { label: 'from parity', figure: store ? rate(store.blocksReconstructed) : null },
      { label: 'busy', figure: null },
    ],
  }
}

function ofMap(store: Sums | null, pools: Pool[]): Station {
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
      { label: 'busy', figure: null },
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
  const most = drives.reduce((all, drive) => Math.max(all, drive.all.meanQueue), 0)
  return {
    stage: 'drives', does: 'keep',
    rows: [
      { label: 'operations', figure: picture ? rate(drives.reduce((all, drive) => all + drive.all.perSecond, 0)) : null },
      { label: 'read', figure: picture ? micros(mean('reads')) : null },
      { label: 'write', figure: picture ? micros(mean('writes')) : null },
      { label: 'in flight', figure: picture ? plain(queue) : null },
      { label: 'fullest', figure: picture ? plain(most) : null },
    ],
  }
}

export function dataPath(known: Known): DataPath {
  const store = sums(known.stores)
  const { picture } = known
  const hosts = picture ? { reads: picture.total.reads.bytesPerSecond, writes: picture.total.writes.bytesPerSecond } : { reads: null, writes: null }
  const of = (kind: 'reads' | 'writes') => picture?.drives.reduce((all, drive) => all + drive[kind].bytesPerSecond, 0) ?? null
  return {
    stations: {
      hosts: ofHosts(known), target: ofTarget(known), door: ofDoor(known), batch: ofBatch(store),
      compress: ofCompress(store), parity: ofParity(store), map: ofMap(store, known.pools), drives: ofDrives(known),
    },
    pipes: { hosts, drives: { reads: of('reads'), writes: of('writes') } },
  }
}
