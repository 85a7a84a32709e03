import { describe, expect, it } from 'vitest'
import type { Host, Pool } from '../api/client'
import { type Figures, driveShare, judge, steady } from './narrowest'
import type { Flow, Io, Picture, StoreRates } from './rates'

const flow = (perSecond: number, meanUs: number): Flow => ({
  perSecond, bytesPerSecond: perSecond * 4096, meanUs: perSecond > 0 ? meanUs : null,
  p50Us: null, p99Us: null, meanQueue: (perSecond * meanUs) / 1e6,
})
const NO = flow(0, 0)

const io = (key: string, reads: Flow, writes: Flow = NO): Io => {
  const perSecond = reads.perSecond + writes.perSecond
  const meanQueue = reads.meanQueue + writes.meanQueue
  const all = { ...flow(perSecond, perSecond > 0 ? (meanQueue / perSecond) * 1e6 : 0) }
  const [pool = '', name = ''] = key.split('/')
  return { key, name, pool, reads, writes, trims: NO, all, inFlight: Math.round(meanQueue), heldUp: 0, busy: 0 }
}

function picture(volumes: Io[], drives: Io[]): Picture {
  const of = (kind: 'reads' | 'writes') => {
    const perSecond = volumes.reduce((all, it) => all + it[kind].perSecond, 0)
    const queue = volumes.reduce((all, it) => all + it[kind].meanQueue, 0)
    return flow(perSecond, perSecond > 0 ? (queue / perSecond) * 1e6 : 0)
  }
  const [reads, writes] = [of('reads'), of('writes')]
  const total = io('t/t', reads, writes).all
  return { seconds: 1, reactors: [], volumes, drives, total: { ...total, reads, writes, trims: NO }, inFlight: Math.round(total.meanQueue) }
}

const pool = (states: string[] = ['online']) =>
  ({ name: 'tank', states, drives: [], spares: [], problem: null, space: { map_memory_bytes: 256 << 20 } }) as unknown as Pool
const host = { host_id: 'a', kind: 'io' } as Host
const REST = { perSecond: 0, meanQueue: 0, busy: 0 }
const atRest = { batch: REST, compress: REST, parity: REST, map: REST }
const busy = (share: number) => ({ ...REST, busy: share })
const store = (some: Partial<StoreRates>): StoreRates => ({
  pool: 'tank', blocksRead: 0, blocksWritten: 0, blocksMoved: 0, blocksReconstructed: 0, blocksSpared: 0,
  mapPagesRead: 0, storedBytes: 0, driveBytes: 0, segmentsCollected: 0, checkpoints: 0, steps: atRest, ...some,
})
const figures = (some: Partial<Figures>): Figures => ({ picture: null, stores: [], pools: [pool()], hosts: [host], ...some })

const drives = (us: number[], perSecond = 1000) => us.map((it, at) => io(`tank/drive-${at}`, flow(perSecond, it)))

describe('the narrowest place', () => {
  it('is unknown before there are two readings', () => {
    expect(judge(figures({})).state).toBe('unknown')
  })

  it('is none where nothing goes on', () => {
    const idle = picture([io('tank/v0', NO)], drives([0, 0, 0], 0))
    expect(judge(figures({ picture: idle }))).toMatchObject({ state: 'idle', narrowest: null })
  })

  it('is the space of a full pool, whatever goes on', () => {
    const verdict = judge(figures({ pools: [pool(['online', 'full'])] }))
    expect(verdict.narrowest).toMatchObject({ stage: 'batch', place: 'tank', pressure: 1 })
  })

  it('is the space of a pool that slows writers, before busy drives', () => {
    const busy = picture([io('tank/v0', flow(10_000, 2000))], drives([1900, 1900, 1900], 5000))
    expect(judge(figures({ picture: busy, pools: [pool(['throttled'])] })).narrowest?.title).toMatch(/slowed/)
  })

  it('is the drives where they take most of the time, deep in work', () => {
    const busy = picture([io('tank/v0', flow(10_000, 2000))], drives([1900, 1900, 1900], 5000))
    expect(judge(figures({ picture: busy })).narrowest).toMatchObject({ stage: 'drives', place: null, basis: 'measured' })
  })

  it('is one drive that is much slower than its neighbours', () => {
    const busy = picture([io('tank/v0', flow(3000, 900))], drives([200, 200, 200, 4000], 500))
    expect(judge(figures({ picture: busy })).narrowest).toMatchObject({ stage: 'drives', place: 'tank/drive-3' })
  })

  it('is inside the daemon, by exclusion, where drives take little of the time', () => {
    const busy = picture([io('tank/v0', flow(50_000, 600))], drives([40, 40, 40], 15_000))
    expect(judge(figures({ picture: busy })).narrowest).toMatchObject({ stage: 'target', basis: 'inferred' })
  })

  it('is a reactor that is busy all the time, and not the daemon where reactors are at rest', () => {
    const busy = picture([io('tank/v0', flow(50_000, 600))], drives([40, 40, 40], 15_000))
    const with_ = (share: number) => judge(figures({ picture: { ...busy, reactors: [{ name: 'reactor-0', share: 0.1 }, { name: 'reactor-1', share }] } }))
    expect(with_(0.97).narrowest).toMatchObject({ stage: 'target', basis: 'measured', evidence: ['reactor-1 is busy for 97 % of the time'] })
    expect(with_(0.6).narrowest).toMatchObject({ stage: 'target', basis: 'inferred' })
    expect(with_(0.2).findings.some((it) => it.stage === 'target')).toBe(false)
  })

  it('is the step of the store that takes most of a reactor, where the steps leave it no time', () => {
    const some = picture([io('tank/v0', flow(50_000, 600))], drives([40, 40, 40], 15_000))
    const reactors = [{ name: 'reactor-0', share: 0.98 }]
    const with_ = (compress: number) => {
      const steps = { ...atRest, compress: busy(compress), map: busy(0.2) }
      return judge(figures({ picture: { ...some, reactors }, stores: [store({ steps })] }))
    }
    expect(with_(0.75).narrowest).toMatchObject({
      stage: 'compress', place: 'tank', basis: 'measured', evidence: ['of the time of its reactor: compress 75 %, parity 0 %, map 20 %'],
    })
    expect(with_(0.1).narrowest).toMatchObject({ stage: 'target', basis: 'measured' })
    expect(with_(0.1).narrowest?.evidence[1]).toMatch(/store of tank: compress 10/)
  })

  it('is the hosts where each has hardly one command under way', () => {
    const shallow = picture([io('tank/v0', flow(5000, 150))], drives([30, 30, 30], 1700))
    expect(judge(figures({ picture: shallow })).narrowest?.stage).toBe('hosts')
  })

  it('is parity where reads are reconstructed', () => {
    const some = picture([io('tank/v0', flow(5000, 400))], drives([100, 100, 100]))
    const stores = [store({ blocksRead: 5000, blocksReconstructed: 2500 })]
    expect(judge(figures({ picture: some, stores })).narrowest?.stage).toBe('parity')
  })

  it('is the map where its pages have to be read', () => {
    const some = picture([io('tank/v0', flow(5000, 400))], drives([100, 100, 100]))
    const verdict = judge(figures({ picture: some, stores: [store({ blocksRead: 5000, mapPagesRead: 4500 })] }))
    expect(verdict.narrowest).toMatchObject({ stage: 'map' })
    expect(verdict.narrowest?.advice).toMatch(/256 MiB/)
  })

  it('is garbage collection where it moves more than hosts write', () => {
    const some = picture([io('tank/v0', NO, flow(5000, 400))], drives([100, 100, 100]))
    const stores = [store({ blocksWritten: 5000, blocksMoved: 15_000 })]
    expect(judge(figures({ picture: some, stores })).narrowest?.title).toMatch(/Garbage/)
  })

  it('is one volume that crowds out the others', () => {
    const some = picture([io('tank/a', flow(20_000, 1000)), io('tank/b', flow(100, 1000))], drives([500, 500, 500], 7000))
    const found = judge(figures({ picture: some })).findings.find((it) => it.stage === 'door')
    expect(found?.place).toBe('tank/a')
  })

  it('is a volume that waits for its limits', () => {
    const some = picture([{ ...io('tank/a', flow(100, 100)), heldUp: 12 }], drives([100, 100, 100]))
    expect(judge(figures({ picture: some })).narrowest).toMatchObject({ stage: 'door', place: 'tank/a' })
  })

  it('stays what it was while that is nearly as narrow', () => {
    const now = judge(figures({ picture: picture([io('tank/v0', flow(10_000, 2000))], drives([1000, 1000, 1000], 5000)) }))
    const [first, second] = now.findings
    expect(steady({ ...second! }, { ...now, findings: [first!, { ...second!, pressure: first!.pressure * 0.8 }] }).narrowest?.stage).toBe(second!.stage)
    expect(steady({ ...second! }, { ...now, findings: [first!, { ...second!, pressure: first!.pressure * 0.5 }] }).narrowest).toBe(first)
    expect(steady(null, now)).toBe(now)
  })

  it('needs the figures of drives to tell their share', () => {
    expect(driveShare(picture([io('tank/v0', flow(100, 100))], []))).toBeNull()
  })
})
