import { describe, expect, it } from 'vitest'
import { byteRate, bytes, duration, exactSize, micros, parseSize, percent, rate, text } from './format'

describe('figures', () => {
  it('have three digits that count, and a unit', () => {
    expect([0, 1023, 1024, 1536, 10 * 2 ** 30, 1023.9 * 2 ** 30].map((it) => text(bytes(it)))).toEqual([
      '0 B', '1023 B', '1.00 KiB', '1.50 KiB', '10.0 GiB', '1.00 TiB',
    ])
    expect([0, 12.4, 999, 12_345, 1_500_000].map((it) => text(rate(it)))).toEqual(['0 /s', '12 /s', '999 /s', '12.3 k/s', '1.50 M/s'])
    expect([0.5, 412, 1500, 2.5e6].map((it) => text(micros(it)))).toEqual(['0.50 µs', '412 µs', '1.50 ms', '2.50 s'])
    expect(text(byteRate(0))).toBe('0 MiB/s')
    expect(text(percent(0.04))).toBe('0.0 %')
  })

  it('are a dash where they are not known', () => {
    expect([bytes(null), rate(undefined), micros(null)].map(text)).toEqual(['–', '–', '–'])
  })

  it('tell durations by their two largest units', () => {
    expect([0, 59, 61, 950, 7260, 90_000, 9 * 86_400].map(duration)).toEqual(['0 s', '59 s', '1 min 1 s', '15 min', '2 h 1 min', '1 d 1 h', '9 d'])
  })
})

describe('sizes', () => {
  it('are read as they are written', () => {
    expect(['10GiB', '1.5 TiB', '512m', '4096', '1kb'].map(parseSize)).toEqual([10 * 2 ** 30, 1.5 * 2 ** 40, 512 * 2 ** 20, 4096, 1024])
    expect(['', 'ten', '1.2.3G', '-5G'].map(parseSize)).toEqual([null, null, null, null])
    expect(parseSize(exactSize(3 * 2 ** 30 + 4096))).toBe(3 * 2 ** 30 + 4096)
  })
})
