import { wrongWith } from './axe'
import { expect, test, type Page } from './test'

const PAGES = ['overview', 'path', 'drives', 'volumes', 'hosts', 'jobs', 'events', 'settings', 'volumes/tank/looked-at', 'drives/tank/drive-0']
/** The buttons that open dialogs, and their pages. */
const DIALOGS = [
  ['volumes', 'Create a volume'], ['volumes', 'Create a policy'], ['drives', 'Create a pool'], ['drives', 'Import a pool'],
  ['drives', 'Add a drive'], ['drives/tank/drive-0', 'Replace'], ['volumes/tank/looked-at', 'Delete volume'],
  ['settings', 'Forget viewer'], ['volumes/tank/looked-at', 'Wipe'], ['drives/tank/drive-0', 'Remove, once it is empty'],
  ['drives/tank/drive-0', 'Give it up'],
] as const

/** Opens a dialog, looks at it, and leaves it by the keyboard: it gives the focus back. */
async function wrongWithDialog(page: Page, opener: string): Promise<string[]> {
  const button = page.getByRole('button', { name: opener, exact: true })
  await button.click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toBeVisible()
  await expect(dialog.getByText('Looking…')).toBeHidden()
  const wrong = await wrongWith(page, `the dialog of ${opener}`)
  await page.keyboard.press('Escape')
  await expect(dialog).toBeHidden()
  await expect(button).toBeFocused()
  return wrong
}

const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 360, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const

for (const { width, colorScheme } of LOOKS) {
  test.describe(`${colorScheme}, ${width} px`, () => {
    test.use({ viewport: { width, height: 800 }, colorScheme })

    test('no page has a violation that axe finds, or is too wide', async ({ open, daemon }) => {
      daemon.run('volume', 'create', 'tank/looked-at', '--size', '64MiB', '--allow', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555')
      const page = await open('admin')
      const wrong: string[] = []
      for (const at of PAGES) {
        await page.goto(`${daemon.url}/#/${at}`)
        await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
        wrong.push(...(await wrongWith(page, at)))
      }
      expect(wrong).toEqual([])
      daemon.run('volume', 'delete', 'tank/looked-at', '--yes')
    })

    test('nor has a dialog, and each gives the focus back', async ({ open, daemon }) => {
      daemon.run('volume', 'create', 'tank/looked-at', '--size', '64MiB')
      const page = await open('admin')
      const wrong: string[] = []
      for (const [at, opener] of DIALOGS) {
        await page.goto(`${daemon.url}/#/${at}`)
        wrong.push(...(await wrongWithDialog(page, opener)))
      }
      expect(wrong).toEqual([])
      daemon.run('volume', 'delete', 'tank/looked-at', '--yes')
    })

    test('nor have the keys', async ({ open }) => {
      const page = await open('viewer')
      // By the key itself: a small screen has no button for them.
      await page.keyboard.press('?')
      await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible()
      expect(await wrongWith(page, 'the keys')).toEqual([])
      await page.getByRole('button', { name: 'Close' }).click()
      await expect(page.getByRole('dialog')).toBeHidden()
    })

    test('signing in has no violation that axe finds', async ({ page, daemon }) => {
      await page.goto(daemon.url)
      await expect(page.getByLabel('Token')).toBeVisible()
      expect(await wrongWith(page, 'sign in')).toEqual([])
    })
  })
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
