// The API of an appliance at its size: two pools of thirty drives, a thousand volumes, five hundred
// hosts, twenty jobs, all busy. Made of the answers of a real daemon, multiplied.
import type { Event, Host, IoCounts, IoStat, Job, Pool, PoolDrive, Status, Volume } from '../../web/src/api/client'
import type { Page } from '@playwright/test'

export const DRIVES = 60
export const VOLUMES = 1000
export const HOSTS = 500
export const JOBS = 20
const REACTORS = 64

const GIB = 2 ** 30
const POOLS = ['archive-2026', 'production']
const uuid = (kind: number, at: number) => `${kind.toString(16).padStart(8, '0')}-0000-4000-8000-${at.toString(16).padStart(12, '0')}`
const nqn = (at: number) => `nqn.2014-08.org.nvmexpress:uuid:${uuid(7, at)}`
const of = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

function drive(like: PoolDrive, pool: number, at: number): PoolDrive {
  const isHot = pool === 0 && at === 7
  const health = {
    ...like.health,
    temperature_celsius: isHot ? 78 : 38 + (at % 9), temperature_max_celsius: 75, used_percent: 3 + at, answer_age_seconds: 20,
    media_errors: at === 9 ? 1234 : 0, power_on_hours: 9000 + at, absent: null, firmware: 'EPK9CB5Q',
    warnings: isHot ? [{ kind: 'too_hot', message: '78 °C, hot from 75 °C', severity: 'warning' as const }] : [],
  }
  const kernel_name = `nvme${pool * 30 + at}n1`
  return {
    ...like, health, name: `drive-${at}`, pool: POOLS[pool]!, uuid: uuid(1 + pool, at), kernel_name, kind: 'block device',
    model: 'SAMSUNG MZQL23T8HCLS-00A07', serial: `S64HNE0T${100_000 + at}`, by_id: `/dev/disk/by-id/nvme-SAMSUNG_MZQL23T8HCLS-00A07_S64HNE0T${100_000 + at}`,
    size_bytes: 3576 * GIB, spec: `/dev/${kernel_name}`, slot: `slot ${at} of enclosure 500304801ef2a93f`, states: pool === 1 && at === 12 ? ['failed'] : ['online'],
  }
}

function pool(like: Pool, at: number): Pool {
  const space = like.space && {
    ...like.space, usable_bytes: 90_000 * GIB, limit_bytes: 80_000 * GIB, physical_used_bytes: (at ? 71_234 : 20_480) * GIB, map_bytes: 130 * GIB,
    garbage_bytes: 4100 * GIB, logical_used_bytes: 123_456 * GIB, stored_bytes: 61_000 * GIB, compression_ratio: 2.02, safe_to_write_bytes: (at ? 8766 : 59_520) * GIB,
    safe_alike_bytes: 17_700 * GIB, promised_bytes: 200_000 * GIB, formatted_bytes: 210_000 * GIB, full_in_seconds: at ? 273_600 : null,
  }
  const rebuild = { done_percent: 37.4, left_bytes: 2238 * GIB, eta_seconds: 5400, obstacle: null }
  return {
    ...like, space, name: POOLS[at]!, uuid: uuid(3, at), level: '6', states: at ? ['degraded', 'rebuilding'] : ['online'],
    notes: [], jobs: { ...like.jobs, rebuild: at ? rebuild : null }, drives: of(DRIVES / 2, (it) => drive(like.drives[0]!, at, it)),
  }
}

function volume(like: Volume, at: number): Volume {
  const size_bytes = (64 + (at % 32) * 64) * GIB
  return {
    ...like, size_bytes, name: `vm-${at.toString().padStart(4, '0')}-database-primary`, pool: POOLS[at % 2]!, uuid: uuid(4, at), nsid: at + 1,
    logical_used_bytes: Math.round(size_bytes * ((at % 100) / 100)), physical_used_bytes: Math.round(size_bytes * ((at % 100) / 200)),
    compression_ratio: at % 100 ? 2 : null, access: { allow_any: false, hosts: [nqn(at % HOSTS), nqn((at + 1) % HOSTS)] },
  }
}

export function status(like: Status): Status {
  const pools = of(2, (at) => pool(like.pools[0]!, at))
  const alerts: Status['alerts'] = [
    { severity: 'error', code: 'failed', pool: 'production', drive: 'drive-12', message: "drive-12 of pool 'production' is failed", hint: 'replace it' },
    { severity: 'warning', code: 'degraded', pool: 'production', drive: null, message: "pool 'production' is degraded", hint: null },
    { severity: 'warning', code: 'too_hot', pool: 'archive-2026', drive: 'drive-7', message: "drive-7 of pool 'archive-2026': 78 °C, hot from 75 °C", hint: null },
  ]
  return { ...like, pools, alerts, reactors: REACTORS, volumes: of(VOLUMES, (at) => volume(like.volumes[0]!, at)), hosts_connected: HOSTS, host_connects: 1733, host_disconnects: 733 }
}

/** Counts that grow with each look. */
const counts = (look: number, at: number, usual: number): IoCounts => {
  const operations = look * (10 + (at % 50)) * 20
  const buckets = [usual, usual * 2, usual * 8].map((from, it) => [from, look * (10 + (at % 50)) * [16, 3, 1][it]!])
  return { operations, transferred_bytes: operations * 8192, total_us: operations * usual * 1.4, max_us: usual * 9, buckets }
}

export function iostat(all: Status, like: IoStat, look: number): IoStat {
  const kinds = (at: number, usual: number) => ({ reads: counts(look, at, usual), writes: counts(look, at + 7, usual * 2), trims: counts(0, 0, 64) })
  const volumes = all.volumes.map((it, at) => ({
    name: it.name, pool: it.pool, uuid: it.uuid, compression_ratio: 2, operations_in_flight: at % 3,
    waiting_operations: 0, delayed_operations: 0, delayed_seconds: 0, ...kinds(at, 256),
  }))
  const drives = all.pools.flatMap((it) => it.drives).map((it, at) => ({
    name: it.name, pool: it.pool, uuid: it.uuid, spec: it.spec!, operations_in_flight: at % 5, busy_seconds: look * 1.2, ...kinds(at * 3, 96),
  }))
  const threads = of(REACTORS, (at) => ({ name: `reactor-${at}`, cpu_seconds: look * (0.2 + (at % 8) / 10) }))
  return { ...like, uptime_seconds: 1000 + 2 * look, threads, volumes, drives }
}

export const hosts = (): Host[] =>
  of(HOSTS, (at) => ({
    nqn: nqn(at), host_id: uuid(7, at), address: `10.20.${Math.floor(at / 250)}.${(at % 250) + 1}`, io_queues: 8, io_queues_max: 8,
    connected_at: '2026-03-01T08:00:00Z', controller_id: at, kind: 'io',
  }))

export const jobs = (): Job[] =>
  of(JOBS, (at) => {
    const [kind, runs] = [at < 10 ? ('erase' as const) : ('scrub' as const), at < 8]
    return {
      id: `${uuid(3, at)}/${kind}`, kind, pool: `pool-${at}`, pool_uuid: uuid(3, at), states: [runs ? 'running' : 'finished'], can_stop: false,
      drives: kind === 'erase' ? of(DRIVES / 2, (it) => `/dev/nvme${it}n1`) : [], done_percent: runs ? at * 11 : 100,
      left_bytes: runs ? 900 * GIB : null, eta_seconds: runs && at > 0 ? 4000 : null, started_at: '2026-03-01T08:00:00Z',
      finished_at: runs ? null : '2026-03-01T10:00:00Z', problem: null, result: runs ? null : 'nothing was wrong',
    }
  })

export const events = (like: Event): Event[] =>
  of(1000, (at) => ({ ...like, seq: 1_000_000 + at, message: `host ${nqn(at)} has connected from 10.20.0.${at % 250}`, severity: at % 40 === 3 ? 'error' : at % 20 === 1 ? 'warning' : 'info' }))

/** Has a page ask that appliance. Each request of `/live` is answered with two looks, and ends. */
export async function atSize(page: Page, real: <T>(path: string) => Promise<T>): Promise<void> {
  const [all, io, told] = [status(await real('/status')), await real<IoStat>('/iostat?drives=true'), await real<Event[]>('/events')]
  let look = 0
  const message = (event: string, data: unknown) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
  const one = () => message('status', all) + message('iostat', iostat(all, io, (look += 1))) + message('jobs', jobs())
  await page.route('**/api/v1/live?*', (route) => route.fulfill({ contentType: 'text/event-stream', body: one() + one() }))
  const answers: Record<string, () => unknown> = { hosts, jobs, status: () => all, events: () => events(told[0]!) }
  for (const [path, answer] of Object.entries(answers)) {
    await page.route(new RegExp(`/api/v1/${path}(\\?.*)?$`), (route) => route.fulfill({ json: answer() }))
  }
}
