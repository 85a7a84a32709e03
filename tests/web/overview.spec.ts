import { bytes, text } from '../../web/src/model/format'
import { expect, test } from './test'

test('the overview shows the figures of the daemon', async ({ open, daemon }) => {
  const page = await open('viewer')
  const readout = (name: string) => page.locator(`[data-readout="${name}"]`)
  const { space } = await daemon.json('/pools/tank')
  await expect(readout('Safe to write')).toContainText(text(bytes(space.safe_to_write_bytes)))
  await expect(readout('Redundancy')).toContainText('1 of 1')
  await expect(readout('Health')).toContainText('Healthy')
  await expect(readout('Narrowest')).toContainText('idle')
  await expect(page.getByRole('heading', { name: 'tank' })).toBeVisible()
  await expect(page.getByRole('img', { name: /^Throughput of the last ten minutes/ })).toBeVisible()
})

test('the data path shows every station, and how much of each is used', async ({ open }) => {
  const page = await open('viewer', '#/path')
  for (const stage of ['hosts', 'target', 'door', 'batch', 'compress', 'parity', 'map', 'drives']) {
    await expect(page.locator(`[data-stage=${stage}]`)).toBeVisible()
  }
  const used = { hosts: 'of those offered', target: 'busy', door: 'limit used', batch: 'busy', compress: 'busy', parity: 'busy', map: 'busy', drives: 'busiest' }
  for (const [stage, label] of Object.entries(used)) {
    // That is known with the second answer of the daemon.
    await expect(page.locator(`[data-stage=${stage}]`)).toContainText(label)
    await expect(page.locator(`[data-stage=${stage}]`)).not.toContainText('not measured')
  }
  await expect(page.getByRole('region', { name: 'Narrowest place' })).toContainText('Hosts ask for nothing')
})

test('figures are live: a volume that is made elsewhere shows up', async ({ open, daemon }) => {
  const page = await open('viewer', '#/volumes')
  daemon.run('volume', 'create', 'tank/elsewhere', '--size', '64MiB')
  await expect(page.getByRole('link', { name: 'tank/elsewhere' })).toBeVisible()
  daemon.run('volume', 'delete', 'tank/elsewhere', '--yes')
  await expect(page.getByRole('link', { name: 'tank/elsewhere' })).toBeHidden()
})
