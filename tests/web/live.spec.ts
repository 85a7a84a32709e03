import { Daemon } from './daemon'
import { expect, test } from './test'

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

test.describe('a lost drive', () => {
  let own: Daemon

  test.beforeAll(async ({ daemon }) => {
    own = await new Daemon(daemon.program).ready(5)
  })
  test.afterAll(() => own.stop())

  test('shows up at a glance, on the page of drives, and is given up with its name', async ({ browser }) => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const page = await context.newPage()
    await page.goto(own.url)
    await page.getByLabel('Token').fill(own.tokens.operator)
    await page.keyboard.press('Enter')
    await page.goto(`${own.url}/#/drives/tank/drive-1`)
    await page.getByRole('button', { name: 'Give it up' }).click()
    const dialog = page.getByRole('dialog', { name: 'Give the drive up?' })
    await dialog.getByRole('textbox').fill('drive-1')
    await dialog.getByRole('button', { name: 'Give the drive up' }).click()
    await expect(page.locator('[data-readout="Health"]')).toContainText(/Attention|Critical/)
    await page.getByRole('link', { name: 'Overview' }).click()
    await expect(page.getByRole('region', { name: 'To see to' })).toContainText('tank/drive-1')
    await page.getByRole('link', { name: 'Drives', exact: true }).click()
    await expect(page.getByRole('list', { name: 'Drives of tank' }).getByRole('listitem').filter({ hasText: 'drive-1' })).toContainText(/failed|released/)
    await context.close()
  })
})

test('a daemon that is gone is said to be gone, and found again', async ({ page, daemon }) => {
  const own = await new Daemon(daemon.program).ready()
  await page.goto(own.url)
  await page.getByLabel('Token').fill(own.tokens.viewer)
  await page.keyboard.press('Enter')
  await expect(page.locator('[data-readout="Health"]')).toContainText('Healthy')
  await own.stop()
  await expect(page.getByRole('alert').filter({ hasText: 'does not answer' })).toBeVisible()
  await expect(page.locator('[data-readout="Health"]')).toContainText('Unknown')
})
