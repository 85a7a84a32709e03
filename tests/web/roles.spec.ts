import { expect, test } from './test'

const PAGES = ['overview', 'path', 'drives', 'volumes', 'hosts', 'jobs', 'events', 'settings', 'volumes/tank/seen', 'drives/tank/drive-0']
const CHANGES = /\b(create|delete|wipe|resize|allow|deny|change|add|remove|replace|give|stop|scrub|trim|verify|rebalance|format|make|forget|only)\b/i

test('a viewer is shown no change, and the API refuses each anyway', async ({ open, daemon }) => {
  daemon.run('volume', 'create', 'tank/seen', '--size', '64MiB', '--allow', 'any')
  const page = await open('viewer')
  for (const at of PAGES) {
    await page.goto(`${daemon.url}/#/${at}`)
    await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
    expect(await page.getByRole('main').getByRole('button', { name: CHANGES }).count(), at).toBe(0)
  }
  for (const [method, path] of [['POST', '/pools/tank/scrub'], ['DELETE', '/volumes/tank/seen?confirm=true'], ['PATCH', '/pools/tank']] as const) {
    const answer = await daemon.ask(`/api/v1${path}`, { method, role: 'viewer', body: method === 'PATCH' ? { autotrim: false } : undefined })
    expect(answer.status, path).toBe(403)
  }
  daemon.run('volume', 'delete', 'tank/seen', '--yes')
})

test('an operator may change, and not lose data', async ({ open, daemon }) => {
  daemon.run('volume', 'create', 'tank/kept', '--size', '64MiB')
  const page = await open('operator', '#/volumes/tank/kept')
  await expect(page.getByRole('button', { name: 'Resize' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Delete volume' })).toBeHidden()
  daemon.run('volume', 'delete', 'tank/kept', '--yes')
})
