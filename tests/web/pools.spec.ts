import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Daemon } from './daemon'
import { expect, test } from './test'

const NAMES = ['a', 'b', 'c']

/** A directory of files that can be drives; `full` of them hold something. */
function shelf(daemon: Daemon, name: string, full = 0): { place: string; drives: string[] } {
  const place = join(daemon.place, name)
  mkdirSync(place)
  const drives = NAMES.map((it, at) => {
    const file = join(place, `${it}.img`)
    writeFileSync(file, at < full ? 'somebody has written this' : '')
    truncateSync(file, 256 << 20)
    return `file:${file}`
  })
  return { place, drives }
}

test('a pool is made of unused drives, and what they hold is lost only once its name is written', async ({ open, daemon }) => {
  const { place, drives } = shelf(daemon, 'shelf', 1)
  const page = await open('admin', '#/drives')
  await page.getByRole('button', { name: 'Create a pool' }).click()
  const create = page.getByRole('dialog', { name: 'Create a pool' })
  await create.getByLabel('Name').fill('made')
  await create.getByLabel('Level').selectOption('5')
  await create.getByLabel('Other drives').fill(join(place, 'none.img'))
  await page.keyboard.press('Enter')
  await expect(create.getByRole('alert')).toContainText('none.img')
  await create.getByLabel('Other drives').fill(place)
  await create.getByRole('button', { name: 'Look there' }).click()
  for (const drive of drives) await expect(create.getByRole('checkbox', { name: drive })).toBeChecked()
  await create.getByRole('button', { name: 'Create pool of 3 drives' }).click()

  const lose = page.getByRole('dialog', { name: 'Create pool?' })
  await expect(lose).toContainText(`${drives[0]} holds`)
  await expect(lose).not.toContainText(drives[1]!)
  await lose.getByRole('button', { name: 'Cancel' }).click()
  expect((await daemon.ask('/api/v1/pools/made', { role: 'admin' })).status).toBe(404)
  await create.getByRole('button', { name: 'Create pool of 3 drives' }).click()
  await lose.getByRole('textbox').fill('made')
  await lose.getByRole('button', { name: 'Create pool' }).click()
  await expect(page.getByRole('list', { name: 'Drives of made' }).getByRole('listitem')).toHaveCount(3)
  expect(await daemon.json('/pools/made')).toMatchObject({ level: '5', states: ['online'] })
  daemon.run('pool', 'destroy', 'made', '--yes')
})

test('a pool that is on drives is found and imported, under another name', async ({ open, daemon }) => {
  const { place, drives } = shelf(daemon, 'brought')
  daemon.run('pool', 'create', 'theirs', '--level', '5', ...drives.flatMap((it) => ['--drive', it]))
  daemon.run('pool', 'export', 'theirs', '--yes')
  const page = await open('admin', '#/drives')
  await page.getByRole('button', { name: 'Import a pool' }).click()
  const found = page.getByRole('dialog', { name: 'Import a pool' })
  await found.getByLabel('Look at other drives').fill(place)
  await found.getByRole('button', { name: 'Look there' }).click()
  await expect(found).toContainText('level 5, 3 drives found, made with 3')
  await found.getByLabel('Under another name').fill('ours')
  await found.getByRole('button', { name: 'Import theirs' }).click()
  await expect(page.getByRole('list', { name: 'Drives of ours' })).toBeVisible()
  expect((await daemon.json('/pools/ours')).states).toEqual(['online'])
  daemon.run('pool', 'destroy', 'ours', '--yes')
})

test('a drive that holds something becomes a spare once that is given up', async ({ open, daemon }) => {
  const [drive] = shelf(daemon, 'given', 1).drives
  const page = await open('admin', '#/drives')
  await page.getByRole('button', { name: 'Add a drive' }).click()
  const add = page.getByRole('dialog', { name: 'Add a drive to tank' })
  await add.getByLabel('Drive', { exact: true }).fill(drive!)
  await add.getByLabel('spare: it waits').check()
  await add.getByRole('button', { name: 'Look at it' }).click()
  await expect(add.getByRole('status')).toContainText('It holds')
  await add.getByRole('button', { name: 'Add spare' }).click()
  const lose = page.getByRole('dialog', { name: 'Add spare?' })
  await expect(lose).toContainText('All of it is lost.')
  await lose.getByRole('textbox').fill(drive!)
  await lose.getByRole('button', { name: 'Add spare' }).click()
  await expect(page.getByRole('list', { name: 'Drives of tank' })).toContainText('given/a.img')
  expect((await daemon.json('/pools/tank')).spares).toMatchObject([{ spec: drive, problem: null }])
  daemon.run('pool', 'spare', 'remove', 'tank', drive!)
})
