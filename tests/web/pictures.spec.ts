// Makes the pictures of the documentation anew: `scripts/web pictures`. Of a demonstration that has
// worked long enough for charts to have something to show.
import { join } from 'node:path'
import { Daemon } from './daemon'
import { expect, ownPage, test } from './test'

const FOLDER = process.env.PICTURES
const SHOWN_SECONDS = 150

test.skip(!FOLDER, 'only by `scripts/web pictures`')

const PICTURES = [
  { name: 'overview', hash: 'overview', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'path', hash: 'path', width: 1280, height: 880, colorScheme: 'dark' },
  { name: 'phone', hash: 'path', width: 360, height: 1100, colorScheme: 'dark' },
] as const

test('pictures for the documentation', async ({ browser, daemon }) => {
  test.setTimeout((SHOWN_SECONDS + 120) * 1000)
  const demo = await new Daemon(daemon.program, 'demo').ready()
  const page = await ownPage(browser, demo, 'operator')
  // What is shown is a history: only time makes it.
  await page.waitForTimeout(SHOWN_SECONDS * 1000)
  for (const { name, hash, colorScheme, ...viewport } of PICTURES) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(viewport)
    await page.goto(`${demo.url}/#/${hash}`)
    await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
    await page.screenshot({ path: join(FOLDER!, `dashboard-${name}.png`), animations: 'disabled' })
  }
  await page.context().close()
  await demo.stop()
})
