import { expect, test } from './test'

test('a token that is not known is refused, and said so', async ({ page, daemon }) => {
  await page.goto(daemon.url)
  await page.getByLabel('Token').fill('ashlar_0000')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('alert')).toContainText('the token is not known')
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
})

test('a good token signs in, for this tab alone, until one signs out', async ({ open, daemon }) => {
  const page = await open('operator')
  await page.reload()
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible()
  const kept = () => page.evaluate(() => JSON.stringify([{ ...localStorage }, document.cookie]))
  expect(await kept()).not.toContain(daemon.tokens.operator)
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page.getByLabel('Token')).toBeVisible()
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
})

test('a token that is forgotten meanwhile signs out', async ({ page, daemon }) => {
  const token = daemon.run('token', 'create', 'short', '--role', 'viewer').trim()
  await page.goto(daemon.url)
  await page.getByLabel('Token').fill(token)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible()
  daemon.run('token', 'revoke', 'short')
  await expect(page.getByRole('alert').filter({ hasText: 'does not hold any more' })).toBeVisible()
})
