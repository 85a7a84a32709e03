// Drives that come and go, each in a pool of a daemon of its own. The pools are empty: what is asked
// for is done at once, and stays so.
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from '@playwright/test'
import { wrongWith } from './axe'
import { Daemon } from './daemon'
import { expect, ownPage, test, type Page } from './test'

/** The page of a drive of a pool of five, and the daemon that it is of. */
async function atDrive(browser: Browser, program: string, name: string): Promise<{ own: Daemon; page: Page }> {
  const own = await new Daemon(program).ready(5)
  const page = await ownPage(browser, own, 'admin')
  await page.goto(`${own.url}/#/drives/tank/${name}`)
  return { own, page }
}

/** The files of the pool's drives that are in this state. */
async function files(own: Daemon, state: string): Promise<string[]> {
  const drives: { states: string[]; spec: string }[] = (await own.json('/pools/tank')).drives
  return drives.filter((it) => it.states.includes(state)).map((it) => it.spec.replace(/,.*|.*\//g, '')).sort()
}

const said = (page: Page, text: string) => expect(page.getByRole('status').filter({ hasText: text })).toBeVisible()

test('a drive is replaced, and what the other one holds is lost only once its name is written', async ({ browser, daemon }) => {
  const { own, page } = await atDrive(browser, daemon.program, 'drive-1')
  const file = join(own.place, 'comes.img')
  writeFileSync(file, 'somebody has written this')
  truncateSync(file, 256 << 20)
  await page.getByRole('button', { name: 'Replace' }).click()
  const replace = page.getByRole('dialog', { name: 'Replace tank/drive-1' })
  await expect(replace.getByRole('button', { name: 'Replace drive' })).toBeDisabled()
  await replace.getByLabel('The drive that comes').fill(join(own.place, 'none.img'))
  await replace.getByRole('button', { name: 'Replace drive' }).click()
  await expect(replace.getByRole('alert')).toContainText('none.img')

  await replace.getByLabel('The drive that comes').fill(`file:${file}`)
  await replace.getByRole('button', { name: 'Replace drive' }).click()
  const lose = page.getByRole('dialog', { name: 'Replace drive?' })
  await expect(lose).toContainText('What it holds is lost.')
  expect(await wrongWith(page, 'a question over a dialog')).toEqual([])
  await lose.getByRole('button', { name: 'Cancel' }).click()
  await expect(lose).toBeHidden()
  expect(await files(own, 'online')).toEqual(['0.img', '1.img', '2.img', '3.img', '4.img'])

  await replace.getByRole('button', { name: 'Replace drive' }).click()
  await lose.getByRole('textbox').fill(`file:${file}`)
  await lose.getByRole('button', { name: 'Replace drive' }).click()
  await said(page, `file:${file} takes the place of tank/drive-1.`)
  await expect(replace).toBeHidden()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('There is no drive tank/drive-1')
  await expect.poll(() => files(own, 'online')).toEqual(['0.img', '2.img', '3.img', '4.img', 'comes.img'])
  await page.context().close()
  await own.stop()
})

test('a drive leaves once its name is written, and is among the drives no more', async ({ browser, daemon }) => {
  const { own, page } = await atDrive(browser, daemon.program, 'drive-3')
  await page.getByRole('button', { name: 'Remove, once it is empty' }).click()
  const ask = page.getByRole('dialog', { name: 'Remove drive?' })
  await expect(ask).toContainText('will have less room without drive-3')
  await ask.getByRole('textbox').fill('drive-3')
  await ask.getByRole('button', { name: 'Remove drive' }).click()
  await said(page, 'tank/drive-3 leaves once what lives on it is on others.')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('There is no drive tank/drive-3')
  await page.getByRole('link', { name: 'Drives', exact: true }).first().click()
  await expect(page.getByRole('list', { name: 'Drives of tank' }).getByRole('listitem')).toHaveCount(4)
  expect(await files(own, 'online')).toEqual(['0.img', '1.img', '2.img', '4.img'])
  await page.context().close()
  await own.stop()
})

test('a drive that was given up is taken back', async ({ browser, daemon }) => {
  const { own, page } = await atDrive(browser, daemon.program, 'drive-2')
  own.run('drive', 'fail', 'tank/drive-2', '--yes')
  await expect.poll(() => files(own, 'released')).toEqual(['2.img'])
  await page.getByRole('button', { name: 'Take it back' }).click()
  await said(page, 'The drive is back in tank.')
  expect(await files(own, 'online')).toEqual(['0.img', '1.img', '2.img', '3.img', '4.img'])
  await page.getByRole('link', { name: 'Overview' }).click()
  await expect(page.getByRole('region', { name: 'tank', exact: true })).not.toContainText('reduced')
  await page.context().close()
  await own.stop()
})
