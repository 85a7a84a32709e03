// How something is changed: asked for, confirmed where it costs something, and said when it is done.
import { ApiError, ask } from '../api/client'
import { live } from './live.svelte'

/** What somebody is asked before something is lost. */
export interface Question {
  /** What it costs, in words. */
  costs: string
  /** What has to be written to go on: the name of what is lost. */
  typed: string | null
  /** As a title and on the button. */
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
 * Makes a change. What surely costs something is asked first. What the daemon refuses because it costs
 * something is asked by what it says, unless that was asked already, and sent again as confirmed.
 * Nothing is answered where whoever reads it does not go on.
 *
 * Throws the refusal of the daemon.
 */
export async function change<T>(it: Change): Promise<{ answer: T } | null> {
  const question = (costs: string) => changes.confirm({ costs, typed: it.typed ?? null, action: it.action })
  if (it.costs !== undefined && !(await question(it.costs))) return null
  let answer: T
  try {
    answer = await ask<T>(it.method, it.where, it.body)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'confirmation_needed') throw error
    if (it.costs === undefined && !(await question(error.detail))) return null
    answer = await ask<T>(it.method, it.where + '?confirm=true', it.body)
  }
  changes.say(it.done)
  await live.refresh()
  return { answer }
}

/** What is tried in one place, and why the last of it was refused. */
export class Attempts {
  error = $state.raw<ApiError | null>(null)

  /** Whether it was done. */
  async to(what: () => Promise<unknown>): Promise<boolean> {
    this.error = null
    try {
      return (await what()) !== null
    } catch (refused) {
      this.error = refused as ApiError
      return false
    }
  }
}
