import { expect, test } from './test'

test('all can be done by the keyboard alone', async ({ page, daemon }) => {
  await page.goto(daemon.url)
  await expect(page.getByLabel('Token')).toBeFocused()
  await page.keyboard.type(daemon.tokens.admin)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible()

  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Skip to the page' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('main')).toBeFocused()

  await page.keyboard.press('g')
  await page.keyboard.press('v')
  await expect(page.getByRole('heading', { name: 'Volumes', level: 1 })).toBeVisible()
  await expect(page.getByRole('main')).toBeFocused()
  await page.keyboard.press('Tab')
  const create = page.getByRole('button', { name: 'Create a volume' })
  await expect(create).toBeFocused()

  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await expect(dialog).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(dialog).toBeHidden()
  await expect(create).toBeFocused()

  await page.keyboard.press('Enter')
  await expect(dialog.getByLabel('Name')).toBeFocused()
  await page.keyboard.type('by-keys')
  await page.keyboard.press('Tab')
  await page.keyboard.type('64MiB')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { name: 'tank/by-keys' })).toBeVisible()

  await page.getByRole('button', { name: 'Delete volume' }).press('Enter')
  await page.keyboard.type('by-keys')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { name: 'Volumes', level: 1 })).toBeVisible()
  expect((await daemon.ask('/api/v1/volumes/tank/by-keys', { role: 'admin' })).status).toBe(404)

  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible()
})
