// What whoever looks has chosen of the looks: kept by the browser, for it is no secret.

export type Theme = 'auto' | 'light' | 'dark'
const KEY = 'ashlar-choice'

interface Choice {
  theme: Theme
  keys: boolean
}

function kept(): Choice {
  try {
    return { theme: 'auto', keys: true, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') }
  } catch {
    return { theme: 'auto', keys: true }
  }
}

class Chosen {
  #choice = $state<Choice>(kept())

  get theme() {
    return this.#choice.theme
  }
  set theme(theme: Theme) {
    this.#choice.theme = theme
    this.#keep()
  }

  /** Whether single keys go to pages. */
  get keys() {
    return this.#choice.keys
  }
  set keys(keys: boolean) {
    this.#choice.keys = keys
    this.#keep()
  }

  /** Shows it. */
  apply(): void {
    if (this.theme === 'auto') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = this.theme
  }

  #keep(): void {
    localStorage.setItem(KEY, JSON.stringify(this.#choice))
    this.apply()
  }
}

export const chosen = new Chosen()
