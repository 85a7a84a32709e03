import { Daemon } from './daemon'
import { expect, ownPage, test } from './test'

test('events come as they happen, filtered as asked', async ({ open, daemon }) => {
  const page = await open('viewer', '#/events')
  daemon.run('volume', 'create', 'tank/told', '--size', '64MiB')
  await expect(page.getByRole('listitem').filter({ hasText: 'tank/told' }).first()).toBeVisible()
  await page.getByLabel('Filter events').fill('no such words')
  await expect(page.getByText('Nothing matches.')).toBeVisible()
  daemon.run('volume', 'delete', 'tank/told', '--yes')
})

test('a setting of a pool is changed', async ({ open, daemon }) => {
  const page = await open('operator', '#/settings')
  await page.getByLabel('Scrub every').fill('7')
  await page.getByRole('button', { name: 'Change tank' }).click()
  await expect(page.getByRole('status').filter({ hasText: 'tank is changed.' })).toBeVisible()
  expect((await daemon.json('/pools/tank')).settings.scrub_interval_seconds).toBe(7 * 86_400)
})

test('a scrub is started, and is among the jobs', async ({ open }) => {
  const page = await open('operator', '#/jobs')
  await page.getByRole('button', { name: 'scrub tank' }).click()
  await expect(page.getByRole('status').filter({ hasText: 'The scrub of tank has begun.' })).toBeVisible()
  await expect(page.getByText('tank scrub').first()).toBeVisible()
})

test('a drive that is given up by its name shows up on the overview, among the events, and among the drives', async ({ browser, daemon }) => {
  const own = await new Daemon(daemon.program).ready(5)
  const page = await ownPage(browser, own, 'operator')
  await page.goto(`${own.url}/#/drives/tank/drive-1`)
  await page.getByRole('button', { name: 'Give it up' }).click()
  const dialog = page.getByRole('dialog', { name: 'Give the drive up?' })
  await dialog.getByRole('textbox').fill('drive-1')
  await dialog.getByRole('button', { name: 'Give the drive up' }).click()
  // An empty pool is whole again at once, and asks for no attention: this is what stays.
  await page.getByRole('link', { name: 'Overview' }).click()
  await expect(page.getByRole('region', { name: 'tank', exact: true })).toContainText('reduced')
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await expect(page.getByRole('listitem').filter({ hasText: "drive-1 of pool 'tank' is released" })).toBeVisible()
  await page.getByRole('link', { name: 'Drives', exact: true }).click()
  const slots = page.getByRole('list', { name: 'Drives of tank' })
  await expect(slots.getByRole('listitem').filter({ hasText: 'drive-1' })).toContainText('released')
  await page.context().close()
  await own.stop()
})

test('a daemon that is gone is said to be gone, and what is shown to be old', async ({ browser, daemon }) => {
  const own = await new Daemon(daemon.program).ready()
  const page = await ownPage(browser, own, 'viewer')
  await own.stop()
  await expect(page.getByRole('alert').filter({ hasText: 'does not answer' })).toContainText('what is shown is from before')
  await expect(page.locator('[data-readout="Health"]')).toContainText('Unknown')
  await page.context().close()
})

test('what hosts do is shown: rates, latencies, drives, and a verdict on the narrowest place', async ({ browser, daemon }) => {
  const own = await new Daemon(daemon.program, 'demo').ready()
  const page = await ownPage(browser, own, 'viewer')
  await expect(page.getByRole('img', { name: /^Throughput.*read: now [1-9.]+[0-9.]* [KMG]iB\/s/ })).toBeVisible()
  await expect(page.getByRole('img', { name: /^Latency.*write: now [0-9.]+ [µm]?s/ })).toBeVisible()
  await page.getByRole('link', { name: 'Data path' }).click()
  await expect(page.locator('[data-readout="Narrowest"]')).not.toContainText(/idle|measuring/)
  await expect(page.getByRole('region', { name: 'Busiest volumes' })).toContainText('demo/checked')
  await expect(page.getByRole('region', { name: 'Busiest drives' })).toContainText('demo/drive-')
  await expect(page.locator('[data-stage=compress]')).toContainText(/[0-9] : 1/)
  await page.context().close()
  await own.stop()
})
