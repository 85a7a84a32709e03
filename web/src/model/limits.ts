// What a volume may take at most, in words.
import type { Schemas } from '../api/client'
import { byteRate, rate, text } from './format'

export function limitsOf({ policy, source, limits, waiting_operations: waiting }: Schemas['VolumeQos']): string {
  const at = (value: number | null | undefined, what: string, show = rate) => (value == null ? [] : [`${what} ${text(show(value))}`])
  const all = [
    ...at(limits.iops_max, 'operations'),
    ...at(limits.read_iops_max, 'reads'),
    ...at(limits.write_iops_max, 'writes'),
    ...at(limits.bytes_per_second_max, 'in all', byteRate),
    ...at(limits.read_bytes_per_second_max, 'read', byteRate),
    ...at(limits.write_bytes_per_second_max, 'written', byteRate),
    ...at(limits.iops_per_gib, 'operations a GiB'),
    ...at(limits.read_iops_per_gib, 'reads a GiB'),
    ...at(limits.write_iops_per_gib, 'writes a GiB'),
  ]
  if (all.length === 0) return 'none'
  const by = policy ? ` (policy ${policy}${source === 'pool' ? ', of its pool' : ''})` : ''
  return `${all.join(', ')}${by}${waiting > 0 ? `; ${waiting} commands wait` : ''}`
}
