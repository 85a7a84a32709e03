// Jobs that go on for as long as a test looks at them: the pool holds what a host has written, and a
// job may have a hundredth of the time.
import { wrongWith } from './axe'
import { Daemon } from './daemon'
import { expect, ownPage, test } from './test'

const WRITTEN_SECONDS = 12
const STORED_BYTES_MIN = 32 << 20

let own: Daemon

test.beforeAll(async ({ daemon }) => {
  own = await new Daemon(daemon.program, 'demo', WRITTEN_SECONDS).ready()
  // It answers before it has made its pool.
  const stored = async () => (await own.json('/pools/demo')).space?.stored_bytes ?? 0
  await expect.poll(stored, { timeout: 120_000 }).toBeGreaterThan(STORED_BYTES_MIN)
  // The host goes once it has written: nothing but the jobs changes the pool then.
  await expect.poll(async () => (await own.json('/hosts')).length, { timeout: 120_000 }).toBe(0)
  own.run('pool', 'set', 'demo', 'scrub-prio=1', 'recon-prio=1')
})

test.afterAll(async () => own.stop())

test('a scrub is stopped while it goes on', async ({ browser }) => {
  const page = await ownPage(browser, own, 'operator')
  await page.getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('button', { name: 'scrub demo', exact: true }).click()
  const running = page.getByRole('region', { name: 'Going on' })
  const stop = running.getByRole('button', { name: 'Stop demo scrub' })
  await expect(stop).toBeVisible()
  await expect(page.getByRole('button', { name: 'scrub demo', exact: true })).toBeDisabled()
  await stop.click()
  await expect(page.getByRole('status').filter({ hasText: 'The scrub of demo is stopped.' })).toBeVisible()
  await expect(running).toContainText('Nothing goes on.')
  await expect(page.getByRole('region', { name: 'Ended' }).getByRole('listitem').filter({ hasText: 'demo scrub' })).toContainText('stopped')
  expect((await own.json('/jobs/demo/scrub')).states).toEqual(['stopped'])
  await page.context().close()
})

test('a drive is asked for by its name before it is emptied, and stays if its way out is stopped', async ({ browser }) => {
  const page = await ownPage(browser, own, 'operator')
  const states = async () => (await own.json('/pools/demo')).drives.find((it: { name: string }) => it.name === 'drive-1').states
  const remove = async () => {
    await page.goto(`${own.url}/#/drives/demo/drive-1`)
    await page.getByRole('button', { name: 'Remove, once it is empty' }).click()
    const ask = page.getByRole('dialog', { name: 'Remove drive?' })
    await expect(ask).toContainText('will have less room without drive-1')
    await expect(ask.getByRole('button', { name: 'Remove drive' })).toBeDisabled()
    expect(await wrongWith(page, 'the question before a drive goes')).toEqual([])
    await ask.getByRole('textbox').fill('drive-1')
    await ask.getByRole('button', { name: 'Remove drive' }).click()
    await expect(page.getByRole('status').filter({ hasText: 'demo/drive-1 leaves once what lives on it is on others.' })).toBeVisible()
    await expect(page.getByRole('button', { name: 'Let it stay' })).toBeVisible()
    expect(await states()).toContain('evacuating')
  }

  await remove()
  await page.getByRole('button', { name: 'Let it stay' }).click()
  await expect(page.getByRole('status').filter({ hasText: 'demo/drive-1 stays.' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Remove, once it is empty' })).toBeVisible()
  expect(await states()).toContain('online')

  await remove()
  await page.getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('button', { name: 'Stop demo evacuation of drive-1' }).click()
  await expect(page.getByRole('status').filter({ hasText: 'The evacuation of demo is stopped.' })).toBeVisible()
  await expect(page.getByRole('region', { name: 'Going on' })).toContainText('Nothing goes on.')
  expect(await states()).toContain('online')
  await page.context().close()
})
