import { describe, expect, it } from 'vitest'
import type { Pool, PoolDrive, Status } from '../api/client'
import { concerns, driveWord, forecast, health, lossesSurvived, poolLevel, redundancy } from './states'

const drive = (name: string, states = ['online'], warnings: unknown[] = []) =>
  ({ name, pool: 'tank', states, health: { warnings }, problem: null, return_refused: null }) as unknown as PoolDrive
const pool = (some: object = {}) =>
  ({
    name: 'tank', level: '8+2', states: ['online'], problem: null, notes: [], spares: [], jobs: null,
    drives: [drive('drive-0'), drive('drive-1')],
    space: { after_loss: { survives: true, drive: 'drive-0' }, full_in_seconds: null, out_of_space: false }, ...some,
  }) as unknown as Pool
const alert = (severity: string, code: string, of: object = {}) => ({ severity, code, pool: 'tank', drive: null, message: code, hint: null, ...of })
const status = (one: Pool, ...alerts: object[]) => ({ pools: [one], alerts }) as unknown as Status

describe('levels', () => {
  it('survive as many losses as they have parity or copies', () => {
    expect(['0', '1', '1x3', '5', '6', '7.3', '10+4', 'odd', null].map(lossesSurvived)).toEqual([0, 1, 2, 1, 2, 3, 4, null, null])
  })
})

describe('states', () => {
  it('that are not known count as something to see to', () => {
    expect(poolLevel('upside-down')).toBe('warn')
    expect(driveWord(drive('d', []))).toMatchObject({ level: 'warn' })
  })

  it('of a drive say the worst, and its own warning where it is well', () => {
    expect(driveWord(drive('d', ['online', 'slow'])).word).toBe('slow')
    expect(driveWord(drive('d', ['online'], [{ kind: 'spare_low', severity: 'warning' }]))).toEqual({ word: 'spare low', level: 'warn' })
  })
})

describe('health', () => {
  it('is good where nothing is to be seen to', () => {
    expect(health(status(pool()))).toMatchObject({ word: 'Healthy', level: 'ok' })
  })

  it('asks for attention where a drive is lost and redundancy is left', () => {
    const one = pool({ states: ['degraded', 'rebuilding'], drives: [drive('drive-0'), drive('drive-1', ['failed'])] })
    const said = status(one, alert('error', 'failed', { drive: 'drive-1' }), alert('warning', 'degraded'), alert('error', 'spare_refused'))
    expect(health(said)).toMatchObject({ word: 'Attention', detail: 'failed, and 2 more' })
    expect(redundancy(one)).toMatchObject({ value: '1 of 2', level: 'warn' })
    expect(concerns(said).map((it) => [it.what, it.level, it.where])).toEqual([
      ['failed', 'warn', '#/drives/tank/drive-1'], ['degraded', 'warn', '#/drives'], ['spare_refused', 'warn', '#/drives'],
    ])
  })

  it('is critical where no redundancy is left, or writes are refused', () => {
    const none = pool({ level: '5', states: ['degraded'], drives: [drive('drive-0', ['failed'])] })
    expect(redundancy(none)).toMatchObject({ value: '0 of 1', level: 'bad', detail: 'no rebuild' })
    expect(health(status(none, alert('error', 'failed', { drive: 'drive-0' }))).word).toBe('Critical')
    expect(health(status(none, alert('warning', 'degraded'))).word).toBe('Critical')
    expect(health(status(pool({ states: ['online', 'full'] }), alert('error', 'full'))).word).toBe('Critical')
    expect(health(status(pool(), alert('warning', 'daemon_warning', { pool: null }))).word).toBe('Attention')
  })
})

describe('the forecast', () => {
  it('says when, or that there is no date', () => {
    expect(forecast(pool())).toBe('not filling up')
    expect(forecast(pool({ space: { full_in_seconds: 7200 } }))).toMatch(/^full in 2 h/)
    expect(forecast(pool({ space: null }))).toBe('not open')
  })
})
