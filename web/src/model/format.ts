// Figures as people read them: three digits that count, and the unit apart.

/** A figure and its unit, which are shown in different weights. */
export interface Figure {
  value: string
  unit: string
}

export const NONE: Figure = { value: '–', unit: '' }

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

/** Three digits that count; no more than the figure can have. */
export function digits(value: number): string {
  const size = Math.abs(value)
  if (size >= 100 || value === 0) return Math.round(value).toString()
  return value.toFixed(size >= 10 ? 1 : 2)
}

function scaled(value: number, base: number, units: string[]): Figure {
  let at = 0
  let rest = value
  // A figure that rounds up to the next unit is shown in that unit.
  while (Math.abs(rest) >= base - 0.5 && at < units.length - 1) {
    rest /= base
    at += 1
  }
  return { value: at === 0 ? Math.round(rest).toString() : digits(rest), unit: units[at]! }
}

/** How many bytes a unit such as `MiB` or `MiB/s` has. */
export const unitOf = (unit: string): number => 1024 ** Math.max(0, BINARY.indexOf(unit.replace('/s', '')))

export type Known = number | null | undefined

export const bytes = (value: Known): Figure => (value == null ? NONE : scaled(value, 1024, BINARY))

export function byteRate(value: Known): Figure {
  if (value == null) return NONE
  // Rates are compared with each other: below a MiB they stay in one unit.
  if (value < 1 << 20) return { value: value === 0 ? '0' : digits(value / (1 << 20)), unit: 'MiB/s' }
  const { value: shown, unit } = bytes(value)
  return { value: shown, unit: `${unit}/s` }
}

export function rate(value: Known): Figure {
  if (value == null) return NONE
  if (value < 999.5) return { value: value === 0 || value >= 10 ? Math.round(value).toString() : digits(value), unit: '/s' }
  const { value: shown, unit } = scaled(value, 1000, ['', 'k', 'M', 'G'])
  return { value: shown, unit: `${unit}/s` }
}

export const count = (value: Known): Figure =>
  value == null ? NONE : value < 10_000 ? { value: Math.round(value).toString(), unit: '' } : scaled(value, 1000, ['', 'k', 'M', 'G', 'T'])

export function micros(value: Known): Figure {
  if (value == null) return NONE
  if (value < 999.5) return { value: digits(value), unit: 'µs' }
  return value < 999_500 ? { value: digits(value / 1e3), unit: 'ms' } : { value: digits(value / 1e6), unit: 's' }
}

export const percent = (value: Known): Figure =>
  value == null ? NONE : { value: value > 0 && value < 10 ? value.toFixed(1) : Math.round(value).toString(), unit: '%' }

export const ratio = (value: Known): Figure =>
  value == null ? NONE : { value: value.toFixed(2), unit: ': 1' }

const SPANS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** A duration by its two largest units. */
export function duration(seconds: Known): string {
  if (seconds == null) return '–'
  const whole = Math.max(0, Math.round(seconds))
  const at = SPANS.findIndex(([span]) => whole >= span)
  if (at < 0) return '0 s'
  const [span, unit] = SPANS[at]!
  const next = SPANS[at + 1]
  // Of a quarter of an hour nobody wants the seconds.
  const rest = next && !(unit === 'min' && whole >= 600) ? Math.floor((whole % span) / next[0]) : 0
  return `${Math.floor(whole / span)} ${unit}${rest > 0 && next ? ` ${rest} ${next[1]}` : ''}`
}

export const text = ({ value, unit }: Figure): string => (unit ? `${value} ${unit}` : value)

/** How the API and the command line write sizes; `null` if this is none. */
export function parseSize(written: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([KMGTPE]i?B?|B)?\s*$/i.exec(written)
  if (!found) return null
  const unit = (found[2] ?? 'B').toUpperCase()
  const power = unit === 'B' ? 0 : 'KMGTPE'.indexOf(unit[0]!) + 1
  const size = Number(found[1]) * 1024 ** power
  return Number.isSafeInteger(size) ? size : null
}

/** A size as it can be written again without loss. */
export function exactSize(value: number): string {
  let at = 0
  let rest = value
  while (rest >= 1024 && rest % 1024 === 0 && at < BINARY.length - 1) {
    rest /= 1024
    at += 1
  }
  return `${rest}${BINARY[at]}`
}

/** A moment in the time of whoever looks, to the second. */
export function moment(at: string | null | undefined): string {
  if (!at) return '–'
  const date = new Date(at)
  const two = (part: number) => part.toString().padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Names sorted as people count: drive-2 before drive-10. */
export const byName = new Intl.Collator('en', { numeric: true }).compare
