import { describe, expect, it } from 'vitest'
import type { IoStat, Pool } from '../api/client'
import { bucketWidth, bucketsBetween, picture, quantile, storeRates } from './rates'
import { Ring } from './ring'

const counts = (operations: number, bytes: number, us: number, buckets: number[][]) => ({
  operations, transferred_bytes: bytes, total_us: us, max_us: 0, buckets,
})
const none = counts(0, 0, 0, [])
const stat = (uptime: number, reads = none, instance = 'a'): IoStat =>
  ({
    instance, uptime_seconds: uptime, pools: [], drives: [],
    volumes: [{ uuid: 'u', name: 'v0', pool: 'tank', compression_ratio: null, operations_in_flight: 3, reads, writes: none, trims: none }],
  }) as unknown as IoStat

describe('histograms', () => {
  it('have buckets of one microsecond, and from 128 on of a 64th of the octave', () => {
    expect([0, 63, 64, 127, 128, 256, 1024].map(bucketWidth)).toEqual([1, 1, 1, 1, 2, 4, 16])
  })

  it('are subtracted bucket by bucket', () => {
    expect(bucketsBetween([[5, 1], [7, 2]], [[5, 1], [7, 5], [9, 1]])).toEqual([[7, 3], [9, 1]])
    expect(bucketsBetween([[5, 2]], [[5, 1]])).toBeNull()
  })

  it('tell within which time a part was done', () => {
    expect(quantile([[10, 98], [1024, 2]], 0.5)).toBe(10)
    expect(quantile([[10, 98], [1024, 2]], 0.99)).toBe(1024 + 8)
    expect(quantile([], 0.5)).toBeNull()
  })
})

describe('two answers of iostat', () => {
  it('give rates, latency and the mean queue by the daemon’s own clock', () => {
    const found = picture(stat(10), stat(12, counts(2000, 8_192_000, 400_000, [[200, 2000]])))
    expect(found?.total.reads).toMatchObject({ perSecond: 1000, bytesPerSecond: 4_096_000, meanUs: 200, meanQueue: 0.2 })
    expect(found?.total.reads.p99Us).toBe(201)
    expect(found?.total.writes.meanUs).toBeNull()
    expect(found?.inFlight).toBe(3)
  })

  it('say for what part of the time a drive was busy', () => {
    const at = (uptime: number, busy: number) => ({ ...stat(uptime), drives: [{ ...stat(0).volumes[0], busy_seconds: busy }] }) as unknown as IoStat
    expect(picture(at(10, 5), at(12, 6.5))!.drives[0]!.busy).toBe(0.75)
  })

  it('cannot be compared over a restart', () => {
    expect(picture(stat(10), stat(12, none, 'b'))).toBeNull()
    expect(picture(stat(10), stat(10))).toBeNull()
  })

  it('leave a volume out that was counted anew', () => {
    expect(picture(stat(10, counts(5, 0, 0, [[1, 5]])), stat(12))?.volumes).toEqual([])
  })
})

describe('two readings of pools', () => {
  const step = (operations: number, latency: number, busy: number) => ({ operations, latency_seconds: latency, busy_seconds: busy })
  const pool = (blocks: number, compress = step(0, 0, 0)) => {
    const steps = { batch: step(0, 0, 0), compress, parity: step(0, 0, 0), map: step(0, 0, 0) }
    return { uuid: 'p', name: 'tank', counters: { blocks_read: blocks, steps } } as unknown as Pool
  }

  it('leave a pool out that was opened anew', () => {
    expect(storeRates({ seconds: 1, pools: [pool(10)] }, { seconds: 2, pools: [pool(5)] })).toEqual([])
  })

  it('give rates by the second', () => {
    const [found] = storeRates({ seconds: 1, pools: [pool(10)] }, { seconds: 3, pools: [pool(30)] })
    expect(found?.blocksRead).toBe(10)
  })

  it('say how often each step was done, how many were under way, and for what part of the time it was busy', () => {
    const [found] = storeRates({ seconds: 1, pools: [pool(10, step(100, 1, 0.5))] }, { seconds: 3, pools: [pool(10, step(300, 4, 2))] })
    expect(found?.steps.compress).toEqual({ perSecond: 100, meanQueue: 1.5, busy: 0.75 })
    expect(found?.steps.map).toEqual({ perSecond: 0, meanQueue: 0, busy: 0 })
  })
})

describe('reactors', () => {
  it('are as busy as their processor time grows, and nothing is said of other threads', () => {
    const at = (uptime: number, ...seconds: number[]) =>
      ({ ...stat(uptime), threads: [{ name: 'log', cpu_seconds: 9 * uptime }, ...seconds.map((it, n) => ({ name: `reactor-${n}`, cpu_seconds: it }))] }) as IoStat
    expect(picture(at(10, 1, 5), at(12, 2, 8))!.reactors).toEqual([{ name: 'reactor-0', share: 0.5 }, { name: 'reactor-1', share: 1 }])
    expect(picture(stat(10), at(12, 2))!.reactors).toEqual([])
    expect(picture(at(10, 1), { ...at(12, 2), reactors_spin: true })!.reactors).toEqual([])
  })
})

describe('a history', () => {
  it('forgets the oldest point, and keeps gaps', () => {
    const ring = new Ring(1, 3)
    for (const at of [1, 2, 3, 4]) ring.push(at, [at === 3 ? null : at * 10])
    expect(ring.data()).toEqual([[2, 3, 4], [20, null, 40]])
  })
})
