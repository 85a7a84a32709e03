// What is wrong with how a page looks, for whoever cannot see it well or has a small screen.
import AxeBuilder from '@axe-core/playwright'
import type { Page } from './test'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe finds wrong, and that the page is wider than the screen. */
export async function wrongWith(page: Page, what: string): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze()
  const found = violations.flatMap((it) => it.nodes.map((node) => `${what}: ${it.id}: ${node.target} ${node.failureSummary}`))
  const [needed, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
  return needed! > has! ? [...found, `${what} needs ${needed} px`] : found
}
