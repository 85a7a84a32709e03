import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from './test'

const GZIP_BYTES_MAX = 80_000

test('the whole page has at most 80 KB by gzip, and asks nobody else', async ({ daemon }) => {
  const gzip = { headers: { 'accept-encoding': 'gzip' } }
  const plain = (await daemon.ask('/')).body.toString()
  const names = ['/', ...plain.matchAll(/"(\/assets\/[^"]+)"/g)].map((it) => (typeof it === 'string' ? it : it[1]!))
  expect(names.length).toBeGreaterThan(2)
  let sent = 0
  for (const name of names) {
    const answer = await daemon.ask(name, gzip)
    expect(answer.status, name).toBe(200)
    expect(answer.headers['content-encoding'], name).toBe('gzip')
    expect(answer.headers['content-security-policy'], name).toContain("default-src 'none'; script-src 'self'")
    sent += answer.body.length
  }
  expect(sent).toBeLessThanOrEqual(GZIP_BYTES_MAX)
  expect(plain).not.toMatch(/https?:\/\//)
})

test('the types of the dashboard are those of the API', async ({ daemon }) => {
  const file = join(daemon.place, 'openapi.json')
  writeFileSync(file, (await daemon.ask('/api/v1/openapi.json', { role: 'viewer' })).body)
  execFileSync(process.execPath, [join(import.meta.dirname, '../../web/scripts/types.mjs'), '--check', file])
})
