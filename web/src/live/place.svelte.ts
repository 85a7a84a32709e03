// Which page is shown: the part of the address after `#`, so that each can be linked to.

export const PAGES = ['overview', 'path', 'drives', 'volumes', 'hosts', 'jobs', 'events', 'settings'] as const
export type Page = (typeof PAGES)[number]

export const TITLES: Record<Page, string> = {
  overview: 'Overview', path: 'Data path', drives: 'Drives', volumes: 'Volumes',
  hosts: 'Hosts', jobs: 'Jobs', events: 'Events', settings: 'Settings',
}

class Place {
  page = $state<Page>('overview')
  /** What follows the page: a pool and an object in it. */
  names = $state.raw<string[]>([])

  constructor() {
    addEventListener('hashchange', () => this.#read())
    this.#read()
  }

  #read(): void {
    const [page, ...names] = location.hash.replace(/^#\/?/, '').split('/').map(decoded)
    this.page = PAGES.find((it) => it === page) ?? 'overview'
    this.names = names.filter((name) => name !== '')
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const link = (page: Page, ...names: string[]) => `#/${[page, ...names.map(encodeURIComponent)].join('/')}`
export const go = (page: Page, ...names: string[]) => {
  location.hash = link(page, ...names)
}

export const place = new Place()
