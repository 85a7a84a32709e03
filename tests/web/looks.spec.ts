import AxeBuilder from '@axe-core/playwright'
import { expect, test, type Page } from './test'

const PAGES = ['overview', 'path', 'drives', 'volumes', 'hosts', 'jobs', 'events', 'settings', 'volumes/tank/looked-at', 'drives/tank/drive-0']
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

async function check(page: Page, what: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze()
  const found = violations.flatMap((it) => it.nodes.map((node) => `${what}: ${it.id}: ${node.target} ${node.failureSummary}`))
  expect(found).toEqual([])
  const [needed, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
  expect(needed, `${what} is wider than the screen`).toBeLessThanOrEqual(has!)
}

for (const width of [1280, 380]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test.describe(`${colorScheme}, ${width} px`, () => {
      test.use({ viewport: { width, height: 800 }, colorScheme })

      test('no page has a violation that axe finds, or is too wide', async ({ open, daemon }) => {
        test.setTimeout(180_000)
        daemon.run('volume', 'create', 'tank/looked-at', '--size', '64MiB', '--allow', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555')
        const page = await open('admin')
        for (const at of PAGES) {
          await page.goto(`${daemon.url}/#/${at}`)
          await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
          await check(page, at)
        }
        await page.goto(`${daemon.url}/#/volumes`)
        await page.getByRole('button', { name: 'Create a volume' }).click()
        await check(page, 'the dialog that makes a volume')
        await page.keyboard.press('Escape')
        await page.goto(`${daemon.url}/#/volumes/tank/looked-at`)
        await page.getByRole('button', { name: 'Delete volume' }).click()
        await check(page, 'the dialog that deletes one')
        daemon.run('volume', 'delete', 'tank/looked-at', '--yes')
      })

      test('signing in has no violation that axe finds', async ({ page, daemon }) => {
        await page.goto(daemon.url)
        await expect(page.getByLabel('Token')).toBeVisible()
        await check(page, 'sign in')
      })
    })
  }
}

test('the colours that one chooses stay', async ({ open }) => {
  const page = await open('viewer', '#/settings')
  await page.getByLabel('dark', { exact: true }).check()
  const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)
  expect(await scheme()).toBe('dark')
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible()
  expect(await scheme()).toBe('dark')
})
