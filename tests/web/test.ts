// What the tests have in common: a daemon, a page that is signed in, and a watch over what a page
// must never do.
import { test as base, expect, type Browser, type Page } from '@playwright/test'
import { Daemon, type Role } from './daemon'

export { expect, type Page }

/** A page of a daemon of its own, signed in. Whoever asks for it closes its context. */
export async function ownPage(browser: Browser, own: Daemon, role: Role): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  await page.goto(own.url)
  await page.getByLabel('Token').fill(own.tokens[role])
  await page.keyboard.press('Enter')
  await expect(page.locator('[data-readout="Health"]')).toContainText('Healthy')
  return page
}

interface Fixtures {
  /** Opens the dashboard, signed in with that role. */
  open: (role: Role, hash?: string) => Promise<Page>
  /** What went wrong that no page may do: a request elsewhere, a breach of the policy, an error. */
  wrongs: string[]
}

export const test = base.extend<Fixtures, { daemon: Daemon }>({
  daemon: [
    async ({}, use) => {
      const daemon = await new Daemon(process.env.ASHLAR ?? 'target/release/ashlar').ready()
      await use(daemon)
      await daemon.stop()
    },
    { scope: 'worker' },
  ],
  wrongs: [
    async ({ page, daemon }, use) => {
      const wrongs: string[] = []
      page.on('request', (request) => {
        const url = request.url()
        if (!url.startsWith(daemon.url) && !url.startsWith('data:')) wrongs.push(`a request to ${url}`)
      })
      page.on('pageerror', (error) => wrongs.push(`an error: ${error.message}`))
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/i.test(message.text())) wrongs.push(message.text())
      })
      await use(wrongs)
      expect(wrongs).toEqual([])
    },
    { auto: true },
  ],
  open: async ({ page, daemon }, use) => {
    await use(async (role, hash = '#/overview') => {
      await page.goto(daemon.url)
      await page.getByLabel('Token').fill(daemon.tokens[role])
      await page.getByRole('button', { name: 'Sign in' }).click()
      await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible()
      if (hash !== '#/overview') await page.goto(`${daemon.url}/${hash}`)
      return page
    })
  },
})
