import { wrongWith } from './axe'
import { expect, test } from './test'

const HOST = 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555'

test('a volume is made, resized, shown to a host, and deleted', async ({ open, daemon }) => {
  const page = await open('admin', '#/volumes')
  const said = page.getByRole('status')

  await page.getByRole('button', { name: 'Create a volume' }).click()
  const create = page.getByRole('dialog', { name: 'Create a volume' })
  await create.getByLabel('Name').fill('v0')
  await create.getByLabel('Size').fill('ten')
  await expect(create).toContainText('This is no size')
  await expect(create.getByRole('button', { name: 'Create volume' })).toBeDisabled()
  await create.getByLabel('Size').fill('64MiB')
  await create.getByRole('button', { name: 'Create volume' }).click()
  await expect(page.getByRole('heading', { name: 'tank/v0' })).toBeVisible()
  await expect(said.filter({ hasText: 'Volume tank/v0 is made.' })).toBeVisible()
  expect(await daemon.json('/volumes/tank/v0')).toMatchObject({ size_bytes: 64 << 20, access: { allow_any: false, hosts: [] } })

  const nqn = (await daemon.json('/status')).subsystem_nqn
  await expect(page.getByRole('group', { name: 'Connect to this appliance alone' })).toContainText(`-n ${nqn}`)

  await page.getByLabel('Allow hosts').fill(HOST)
  await page.getByRole('button', { name: 'Allow', exact: true }).click()
  await expect(page.getByRole('button', { name: `Deny ${HOST}` })).toBeVisible()
  expect((await daemon.json('/volumes/tank/v0')).access.hosts).toEqual([HOST])

  await page.getByLabel('New size').fill('128MiB')
  await page.getByRole('button', { name: 'Resize', exact: true }).click()
  await expect(said.filter({ hasText: 'tank/v0 has 128 MiB' })).toBeVisible()

  // Smaller costs what it cuts off: the daemon says so, and the name has to be written.
  await page.getByLabel('New size').fill('32MiB')
  await page.getByRole('button', { name: 'Resize', exact: true }).click()
  const shrink = page.getByRole('dialog', { name: 'Resize volume?' })
  await expect(shrink.getByRole('button', { name: 'Resize volume' })).toBeDisabled()
  await shrink.getByRole('button', { name: 'Cancel' }).click()
  expect((await daemon.json('/volumes/tank/v0')).size_bytes).toBe(128 << 20)

  await page.getByLabel('It has').selectOption('limits of its own')
  await page.getByLabel('Operations', { exact: true }).fill('5000')
  await page.getByRole('button', { name: 'Limit', exact: true }).click()
  await expect(said.filter({ hasText: 'The limits of tank/v0 are changed.' })).toBeVisible()
  expect((await daemon.json('/volumes/tank/v0')).qos.limits).toMatchObject({ iops_max: 5000, bytes_per_second_max: null })

  await page.getByRole('button', { name: 'Delete volume' }).click()
  const remove = page.getByRole('dialog', { name: 'Delete volume?' })
  await expect(remove).toContainText('tank/v0')
  await expect(remove).toContainText(HOST)
  const button = remove.getByRole('button', { name: 'Delete volume' })
  await remove.getByRole('textbox').fill('v')
  await expect(button).toBeDisabled()
  await remove.getByRole('textbox').fill('v0')
  await button.click()
  await expect(page.getByRole('heading', { name: 'Volumes', level: 1 })).toBeVisible()
  expect((await daemon.ask('/api/v1/volumes/tank/v0', { role: 'admin' })).status).toBe(404)
})

test('what the daemon refuses is said, with the way out, and nothing is lost', async ({ open, daemon }) => {
  daemon.run('volume', 'create', 'tank/taken', '--size', '64MiB')
  const page = await open('operator', '#/volumes')
  await page.getByRole('button', { name: 'Create a volume' }).click()
  const create = page.getByRole('dialog')
  await create.getByLabel('Name').fill('taken')
  await create.getByLabel('Size').fill('1GiB')
  await create.getByRole('button', { name: 'Create volume' }).click()
  await expect(create.getByRole('alert')).toContainText('Not done:')
  await expect(create.getByRole('alert')).toContainText('taken')
  await expect(create.getByLabel('Size')).toHaveValue('1GiB')
  daemon.run('volume', 'delete', 'tank/taken', '--yes')
})

test('a host is denied, every host is let in once that is confirmed, and only named ones again', async ({ open, daemon }) => {
  daemon.run('volume', 'create', 'tank/seen-by', '--size', '64MiB', '--allow', HOST)
  const page = await open('operator', '#/volumes/tank/seen-by')
  const said = (text: string) => expect(page.getByRole('status').filter({ hasText: text })).toBeVisible()
  const access = async () => (await daemon.json('/volumes/tank/seen-by')).access
  const seen = page.getByRole('region', { name: 'Who may see it' })

  await page.getByLabel('Allow hosts').fill('any')
  await page.getByRole('button', { name: 'Allow', exact: true }).click()
  const ask = page.getByRole('dialog', { name: 'Allow hosts?' })
  await expect(ask).toContainText(HOST)
  // Nothing has to be written: whoever only presses Enter changes nothing.
  await expect(ask.getByRole('button', { name: 'Cancel' })).toBeFocused()
  expect(await wrongWith(page, 'a question without a name to write')).toEqual([])
  await page.keyboard.press('Enter')
  await expect(ask).toBeHidden()
  expect(await access()).toEqual({ allow_any: false, hosts: [HOST] })
  await page.getByRole('button', { name: 'Allow', exact: true }).click()
  await ask.getByRole('button', { name: 'Allow hosts' }).click()
  await expect(seen).toContainText('Every host.')
  expect(await access()).toEqual({ allow_any: true, hosts: [] })

  await seen.getByRole('button', { name: 'Only named hosts' }).click()
  await said('Only named hosts see tank/seen-by.')
  await expect(seen).toContainText('Nobody yet.')
  await page.getByLabel('Allow hosts').fill(HOST)
  await page.getByRole('button', { name: 'Allow', exact: true }).click()
  await seen.getByRole('button', { name: `Deny ${HOST}` }).click()
  await said(`${HOST} no longer sees tank/seen-by.`)
  await expect(seen).toContainText('Nobody yet.')
  expect(await access()).toEqual({ allow_any: false, hosts: [] })
  daemon.run('volume', 'delete', 'tank/seen-by', '--yes')
})

test('the settings of a volume are changed, and its page goes with its name', async ({ open, daemon }) => {
  daemon.run('volume', 'create', 'tank/first', '--size', '64MiB')
  const page = await open('operator', '#/volumes/tank/first')
  const settings = page.getByRole('region', { name: 'Settings' })
  const change = settings.getByRole('button', { name: 'Change' })
  await expect(change).toBeDisabled()
  await settings.getByLabel('Compression from now on').selectOption('lz4')
  await settings.getByLabel('Write protected').check()
  await change.click()
  await expect(page.getByRole('status').filter({ hasText: 'tank/first is changed.' })).toBeVisible()
  await expect(change).toBeDisabled()
  await expect(page.getByRole('main')).toContainText('write protected')
  expect(await daemon.json('/volumes/tank/first')).toMatchObject({ compression: 'lz4', write_protected: true })

  await settings.getByLabel('Name').fill('second')
  await settings.getByLabel('Write protected').uncheck()
  await change.click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('tank/second')
  await expect(page).toHaveURL(/#\/volumes\/tank\/second$/)
  expect(await daemon.json('/volumes/tank/second')).toMatchObject({ compression: 'lz4', write_protected: false })
  expect((await daemon.ask('/api/v1/volumes/tank/first', { role: 'admin' })).status).toBe(404)
  daemon.run('volume', 'delete', 'tank/second', '--yes')
})

test('the command that connects is copied, or selected where there is no clipboard', async ({ open, daemon, context }) => {
  daemon.run('volume', 'create', 'tank/copied', '--size', '64MiB')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: daemon.url })
  const page = await open('viewer', '#/volumes/tank/copied')
  const said = (text: string) => expect(page.getByRole('status').filter({ hasText: text })).toBeVisible()
  const label = 'Connect to this appliance alone'
  const copy = page.getByRole('button', { name: `Copy: ${label}` })
  const command = await page.getByRole('group', { name: label }).innerText()
  expect(command).toMatch(/^nvme connect -t tcp -a 127\.0\.0\.1 -s \d+ -n nqn\./)
  await copy.click()
  await said(`${label} is copied.`)
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command)

  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await copy.click()
  await said(`${label} is selected: copy it with the keyboard.`)
  expect(await page.evaluate(() => getSelection()?.toString())).toBe(command)
  daemon.run('volume', 'delete', 'tank/copied', '--yes')
})
