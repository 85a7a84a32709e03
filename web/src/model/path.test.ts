import { describe, expect, it } from 'vitest'
import type { Host, Volume } from '../api/client'
import { limitUsed } from './limits'
import { dataPath } from './path'
import type { Flow, Io, Picture, StepRate, StoreRates } from './rates'

const flow = (perSecond: number, meanQueue = 0): Flow => ({
  perSecond, bytesPerSecond: perSecond * 4096, meanUs: perSecond > 0 ? (1e6 * meanQueue) / perSecond : null, p50Us: null, p99Us: null, meanQueue,
})
const io = (key: string, reads: Flow, some: Partial<Io> = {}): Io => {
  const [pool = '', name = ''] = key.split('/')
  return { key, pool, name, reads, writes: flow(0), trims: flow(0), all: reads, inFlight: 0, heldUp: 0, busy: 0, ...some }
}
const total = { ...flow(100, 1), reads: flow(100, 1), writes: flow(0), trims: flow(0) }
const picture = (some: Partial<Picture>): Picture => ({ seconds: 2, reactors: [], volumes: [], drives: [], total, inFlight: 1, ...some })
const step = (perSecond: number, meanQueue: number, busy: number): StepRate => ({ perSecond, meanQueue, busy })
const store = (pool: string, compress: StepRate): StoreRates => {
  const rest = step(0, 0, 0)
  return {
    pool, blocksRead: 0, blocksWritten: 0, blocksMoved: 0, blocksReconstructed: 0, blocksSpared: 0, mapPagesRead: 0,
    storedBytes: 0, driveBytes: 0, segmentsCollected: 0, checkpoints: 0, steps: { batch: rest, compress, parity: rest, map: rest },
  }
}
const volume = (limits: object) => ({ name: 'v0', pool: 'tank', size_bytes: 2 ** 31, qos: { limits } }) as unknown as Volume
const host = (queues: number, max: number) => ({ host_id: 'a', kind: 'io', io_queues: queues, io_queues_max: max }) as Host
const known = { picture: picture({}), stores: [], pools: [], volumes: [], hosts: [], reactors: 1 }
const rows = (path: ReturnType<typeof dataPath>, stage: keyof ReturnType<typeof dataPath>['stations']) =>
  Object.fromEntries(path.stations[stage].rows.map(({ label, figure }) => [label, figure && `${figure.value} ${figure.unit}`.trim()]))

describe('a step of the store', () => {
  it('has rate, mean latency, and how busy it is where it is busiest', () => {
    const stores = [store('one', step(1000, 0.02, 0.1)), store('other', step(3000, 0.06, 0.4))]
    expect(rows(dataPath({ ...known, stores }), 'compress')).toMatchObject({ operations: '4.00 k/s', latency: '20.0 µs', busy: '40 %' })
  })

  it('has no latency where nothing was done, and nothing where nobody knows', () => {
    expect(rows(dataPath({ ...known, stores: [store('one', step(0, 0, 0))] }), 'map')).toMatchObject({ operations: '0 /s', latency: '–', busy: '0 %' })
    expect(rows(dataPath(known), 'map')).toMatchObject({ operations: null, latency: null, busy: null })
  })
})

describe('every station', () => {
  it('has something that says how much of it is used', () => {
    const drives = [io('tank/drive-0', flow(10), { busy: 0.2 }), io('tank/drive-1', flow(10), { busy: 0.6 })]
    const volumes = [io('tank/v0', flow(50))]
    const path = dataPath({ ...known, picture: picture({ drives, volumes }), volumes: [volume({ iops_max: 200 })], hosts: [host(4, 8), host(2, 4)] })
    expect(rows(path, 'drives')).toMatchObject({ busy: '40 %', busiest: '60 %' })
    expect(rows(path, 'door')).toMatchObject({ commands: '100 /s', 'limit used': '25 %' })
    expect(rows(path, 'hosts')).toMatchObject({ 'I/O queues': '6', 'of those offered': '50 %' })
  })
})

describe('the limits of a volume', () => {
  it('are used as far as the one that it is nearest to', () => {
    const now = io('tank/v0', flow(50))
    expect(limitUsed(volume({ iops_max: 100, read_bytes_per_second_max: 50 * 4096 * 4 }), now)).toBe(0.5)
    expect(limitUsed(volume({ iops_per_gib: 50 }), now)).toBe(0.5)
  })

  it('by size are ten commands a second at least', () => {
    const small = { ...volume({ iops_per_gib: 100 }), size_bytes: 2 ** 20 }
    expect(limitUsed(small, io('tank/v0', flow(5)))).toBe(0.5)
    expect(limitUsed({ ...small, size_bytes: 2 ** 30 }, io('tank/v0', flow(5)))).toBe(0.05)
  })

  it('are not used where there are none', () => {
    expect(limitUsed(volume({}), io('tank/v0', flow(50)))).toBeNull()
    expect(limitUsed(volume({ iops_max: 100 }), undefined)).toBeNull()
  })
})
