import { wrongWith } from './axe'
import { DRIVES, HOSTS, JOBS, VOLUMES, atSize } from './size'
import { expect, test } from './test'

/** So many elements are laid out in no time; a page that draws all it has would have ten times as many. */
const ELEMENTS_MAX = 3500

/** Pages, and what of the ill part they show. */
const ILL = [
  ['overview', "drive-12 of pool 'production' is failed"], ['path', `connected${HOSTS}`], ['drives', 'too hot'],
  ['drives/production/drive-12', 'slot 12 of enclosure'], ['volumes', `${VOLUMES} volumes`], ['hosts', `${HOSTS} hosts are connected`],
  ['jobs', 'pool-0 erase of 30 drives'], ['events', /1,?0\d\d events/],
] as const

test('an appliance of its size is shown whole, with no more drawn at a time than is looked at', async ({ open, daemon }) => {
  daemon.run('volume', 'create', 'tank/like', '--size', '64MiB')
  const page = await open('admin', '#/settings')
  await atSize(page, (path) => daemon.json(path))
  await page.reload()
  await expect(page.locator('[data-readout="Redundancy"]')).toContainText('1 of 2')
  const wrong: string[] = []
  const at = async (hash: string, shown: string | RegExp) => {
    await page.goto(`${daemon.url}/#/${hash}`)
    await expect(page.getByRole('main')).toContainText(shown)
    expect(await page.evaluate(() => document.querySelectorAll('*').length), hash).toBeLessThan(ELEMENTS_MAX)
    wrong.push(...(await wrongWith(page, hash)))
  }
  await expect(page.locator('[data-readout="Health"]')).toContainText(/Attention.*, and 2 more/)
  await at('overview', "drive-12 of pool 'production' is failed")
  await at('path', `connected${HOSTS}`)
  await expect(page.locator('[data-stage=target]')).toContainText(/busy27.*busiest45/)
  await at('jobs', 'pool-0 erase of 30 drives')
  await expect(page.getByRole('meter')).toHaveCount(JOBS)
  await at('drives', 'too hot')
  await expect(page.getByRole('row')).toHaveCount(DRIVES + 1)
  await page.getByRole('link', { name: 'drive-12 slot 12' }).last().click()
  await expect(page.getByRole('main')).toContainText('slot 12 of enclosure 500304801ef2a93f')
  const lights: unknown[] = []
  await page.route('**/api/v1/drives/locate', (route) => (lights.push(route.request().postDataJSON()), route.fulfill({ json: {} })))
  wrong.push(...(await wrongWith(page, 'a drive that has failed')))
  await page.getByRole('button', { name: 'Light its slot' }).click()
  await expect(page.getByRole('status').filter({ hasText: 'The light of slot 12 of enclosure 500304801ef2a93f is on.' })).toBeVisible()
  expect(lights).toEqual([{ drive: 'production/drive-12', on: true }])
  await at('events', /1,?0\d\d events/)
  await at('hosts', `${HOSTS} hosts are connected`)
  await at('volumes', `${VOLUMES} volumes`)
  await expect(page.getByRole('group', { name: 'Volumes' }).getByRole('row')).toHaveCount(101)
  await page.getByRole('button', { name: 'Operations' }).click()
  await page.getByLabel('Filter volumes').fill('vm-0777')
  await page.getByRole('link', { name: 'production/vm-0777-database-primary' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('production/vm-0777-database-primary')
  expect(wrong).toEqual([])
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  daemon.run('volume', 'delete', 'tank/like', '--yes')
})

test.describe('in the dark, on a phone', () => {
  test.use({ viewport: { width: 360, height: 800 }, colorScheme: 'dark' })

  test('an appliance of its size, part of which is ill, has no violation that axe finds, and is not too wide', async ({ open, daemon }) => {
    daemon.run('volume', 'create', 'tank/like', '--size', '64MiB')
    const page = await open('admin', '#/settings')
    await atSize(page, (path) => daemon.json(path))
    await page.reload()
    const wrong: string[] = []
    for (const [at, shown] of ILL) {
      await page.goto(`${daemon.url}/#/${at}`)
      await expect(page.getByRole('main')).toContainText(shown)
      wrong.push(...(await wrongWith(page, at)))
    }
    expect(wrong).toEqual([])
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    daemon.run('volume', 'delete', 'tank/like', '--yes')
  })
})
