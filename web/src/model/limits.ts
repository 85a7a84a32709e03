// What a volume may take at most, in words and as fields.
import type { Schemas, Volume } from '../api/client'
import { byteRate, rate, text } from './format'
import type { Io } from './rates'

const MIB = 2 ** 20
const bandwidth = { unit: 'MiB/s', factor: MIB }
const perGib = { unit: '/s a GiB' }
/** What a limit by size lets a volume have at least, however small it is. */
const IOPS_MIN = 10
export const LIMITS: { name: keyof Schemas['QosLimits']; label: string; unit: string; factor?: number }[] = [
  { name: 'iops_max', label: 'Operations', unit: '/s' },
  { name: 'read_iops_max', label: 'Reads', unit: '/s' },
  { name: 'write_iops_max', label: 'Writes', unit: '/s' },
  { name: 'bytes_per_second_max', label: 'Throughput', ...bandwidth },
  { name: 'read_bytes_per_second_max', label: 'Read throughput', ...bandwidth },
  { name: 'write_bytes_per_second_max', label: 'Write throughput', ...bandwidth },
  { name: 'iops_per_gib', label: 'Operations by size', ...perGib },
  { name: 'read_iops_per_gib', label: 'Reads by size', ...perGib },
  { name: 'write_iops_per_gib', label: 'Writes by size', ...perGib },
]

/** The limits and what else a policy says. */
export const POLICY = [
  ...LIMITS,
  { name: 'burst_seconds', label: 'Saved up while idle', unit: 's', isReal: true },
  { name: 'weight', label: 'Weight', unit: '', hint: 'its part where volumes want more than there is' },
]

/** What is sent of a draft of those. */
export function policyOf({ weight, ...limits }: Record<string, unknown>) {
  return { limits, ...(weight !== undefined && { weight }) }
}

export function limitsIn(limits: Schemas['QosLimits']): string {
  const all = LIMITS.flatMap(({ name, label, unit, factor }) => {
    const value = limits[name]
    if (value == null) return []
    const figure = factor ? byteRate(value) : rate(value)
    return [`${label.toLowerCase()} ${text(figure)}${factor ? '' : unit.slice(2)}`]
  })
  return all.join(', ') || 'none'
}

export function limitsOf({ policy, source, limits, waiting_operations: waiting }: Schemas['VolumeQos']): string {
  const by = policy ? ` (policy ${policy}${source === 'pool' ? ', of its pool' : ''})` : ''
  return `${limitsIn(limits)}${by}${waiting > 0 ? `; ${waiting} commands wait` : ''}`
}

/** What part of its limits a volume takes, of the one that it is nearest to; `null`: it has none, or
 * nothing is known of what it does. It may be more than all for a moment, of what was saved up. */
export function limitUsed({ qos: { limits }, size_bytes }: Volume, io: Io | undefined): number | null {
  if (!io) return null
  const bySize = (limit: number | null | undefined) => limit && Math.max(IOPS_MIN, Math.floor((limit * size_bytes) / 2 ** 30))
  const [reads, writes, all] = [io.reads.perSecond, io.writes.perSecond + io.trims.perSecond, io.all.perSecond]
  const [readBytes, writeBytes] = [io.reads.bytesPerSecond, io.writes.bytesPerSecond]
  const parts = ([
    [all, limits.iops_max], [reads, limits.read_iops_max], [writes, limits.write_iops_max],
    [all, bySize(limits.iops_per_gib)], [reads, bySize(limits.read_iops_per_gib)], [writes, bySize(limits.write_iops_per_gib)],
    [readBytes + writeBytes, limits.bytes_per_second_max], [readBytes, limits.read_bytes_per_second_max], [writeBytes, limits.write_bytes_per_second_max],
  ] as const).flatMap(([used, limit]) => (limit ? [used / limit] : []))
  return parts.length > 0 ? Math.max(...parts) : null
}
