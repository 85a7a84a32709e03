import { expect, test } from './test'

test('a token is made, shown once, lets in, and is forgotten by its name', async ({ open, daemon }) => {
  const page = await open('admin', '#/settings')
  const tokens = page.getByRole('region', { name: 'Tokens' })
  await tokens.getByLabel('New token').fill('ann')
  await tokens.getByLabel('Role').selectOption('operator')
  await tokens.getByLabel('for days').fill('1')
  await tokens.getByRole('button', { name: 'Make token' }).click()
  const secret = await tokens.getByRole('group', { name: 'The token' }).innerText()
  const asked = () => daemon.ask('/api/v1/session', { headers: { authorization: `Bearer ${secret.trim()}` } })
  expect(JSON.parse((await asked()).body.toString())).toMatchObject({ role: 'operator' })

  const row = tokens.getByRole('row').filter({ hasText: 'ann' })
  await expect(row).toContainText('valid')
  await row.getByRole('button', { name: 'Forget ann' }).click()
  const forget = page.getByRole('dialog', { name: 'Forget token?' })
  await expect(forget).toContainText('not let in any more')
  await expect(forget.getByRole('button', { name: 'Forget token' })).toBeDisabled()
  await forget.getByRole('textbox').fill('ann')
  await forget.getByRole('button', { name: 'Forget token' }).click()
  await expect(row).toBeHidden()
  expect((await asked()).status).toBe(401)
})
