// How something is changed: asked for, confirmed where it costs something, and said when it is done.
import { ApiError, ask } from '../api/client'
import { live } from './live.svelte'

/** What somebody is asked before something is lost. */
export interface Question {
  title: string
  /** What it costs, in words. */
  costs: string
  /** What has to be written to go on: the name of what is lost. */
  typed: string | null
  action: string
  answer: (goesOn: boolean) => void
}

class Changes {
  question = $state.raw<Question | null>(null)
  /** What was done last, for those who look and those who listen. */
  said = $state('')
  #timer = 0

  say(what: string): void {
    this.said = what
    clearTimeout(this.#timer)
    this.#timer = window.setTimeout(() => (this.said = ''), 8000)
  }

  confirm(question: Omit<Question, 'answer'>): Promise<boolean> {
    return new Promise((answer) => {
      const closed = (goesOn: boolean) => {
        this.question = null
        answer(goesOn)
      }
      this.question = { ...question, answer: closed }
    })
  }
}

export const changes = new Changes()

export interface Change {
  method: 'POST' | 'PATCH' | 'DELETE'
  where: string
  body?: unknown
  /** As a title and on the button: `Delete volume`. */
  action: string
  /** What is said once it is done. */
  done: string
  /** What has to be written where it costs something. */
  typed?: string
  /** What it surely costs, which is asked before the daemon is. */
  costs?: string
}

/**
 * Makes a change. What costs something is refused by the daemon, which names the cost: it is shown,
 * and the request repeated if whoever reads it goes on. Nothing is answered where they do not.
 *
 * Throws the refusal of the daemon.
 */
export async function change<T>(it: Change): Promise<{ answer: T } | null> {
  const question = (costs: string) => changes.confirm({ title: it.action, costs, typed: it.typed ?? null, action: it.action })
  let where = it.where
  if (it.costs !== undefined) {
    if (!(await question(it.costs))) return null
    where += '?confirm=true'
  }
  let answer: T
  try {
    answer = await ask<T>(it.method, where, it.body)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'confirmation_needed') throw error
    if (!(await question(error.detail))) return null
    answer = await ask<T>(it.method, it.where + '?confirm=true', it.body)
  }
  changes.say(it.done)
  await live.refresh()
  return { answer }
}
