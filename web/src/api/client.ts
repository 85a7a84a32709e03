// How the daemon is asked. Owns the token, which is kept for this tab alone, and the shape of errors.
import type { components } from './schema'

export type Schemas = components['schemas']
export type Status = Schemas['Status']
export type Pool = Schemas['Pool']
export type PoolDrive = Schemas['PoolDrive']
export type PoolSettings = Schemas['PoolSettings']
export type Volume = Schemas['Volume']
export type Alert = Schemas['Alert']
export type Host = Schemas['Host']
export type Job = Schemas['Job']
export type Event = Schemas['Event']
export type IoStat = Schemas['IoStat']
export type IoCounts = Schemas['IoCounts']
export type Session = Schemas['Session']
export type Role = Schemas['Role']
export type Token = Schemas['Token']
export type DriveInfo = Schemas['DriveInfo']
export type Policy = Schemas['QosPolicy']

const ROOT = '/api/v1'
const KEY = 'ashlar-token'
/** How long an answer is waited for; changes may wait for drives. */
const ANSWER_MS = 60_000

/** What the daemon says when it refuses; `code` is `no_answer` where nobody says anything. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    readonly detail: string,
    readonly hint: string | null = null,
    readonly status = 0,
  ) {
    super(detail)
  }
}

export function token(): string | null {
  return sessionStorage.getItem(KEY)
}

export function keepToken(shown: string | null): void {
  if (shown) sessionStorage.setItem(KEY, shown)
  else sessionStorage.removeItem(KEY)
}

/** A path of encoded parts: names may have any character. */
export function path(...parts: string[]): string {
  return parts.map((part) => '/' + encodeURIComponent(part)).join('')
}

async function send(method: string, where: string, body: unknown, signal: AbortSignal) {
  const headers: Record<string, string> = {}
  const shown = token()
  if (shown) headers.Authorization = `Bearer ${shown}`
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const text = body === undefined ? undefined : JSON.stringify(body)
  const options: RequestInit = { method, headers, body: text, signal, cache: 'no-store', credentials: 'omit' }
  let response: Response
  try {
    response = await fetch(ROOT + where, options)
  } catch (cause) {
    throw new ApiError('no_answer', `the daemon does not answer: ${(cause as Error).message}`)
  }
  if (!response.ok) throw await refusal(response)
  return response
}

async function refusal(response: Response): Promise<ApiError> {
  const said = (await response.json().catch(() => null)) as Partial<Schemas['Problem']> | null
  const detail = said?.detail ?? `the daemon answers ${response.status}`
  return new ApiError(said?.code ?? 'unknown', detail, said?.hint ?? null, response.status)
}

/** Asks, or changes. Bodies that are not JSON are answered as `undefined`. */
export async function ask<T>(method: string, where: string, body?: unknown): Promise<T> {
  const response = await send(method, where, body, AbortSignal.timeout(ANSWER_MS))
  if (!response.headers.get('content-type')?.includes('json')) return undefined as T
  return (await response.json()) as T
}

export const get = <T>(where: string) => ask<T>('GET', where)

export interface Message {
  event: string
  data: string
  id: string | null
}

/** Longest message of a stream that is put together, in characters: a daemon sends no longer ones. */
const MESSAGE_MAX = 64 << 20

/** Takes server-sent events apart, whatever pieces they come in. */
export class Messages {
  #rest = ''

  take(text: string): Message[] {
    this.#rest += text.replaceAll('\r', '')
    const blocks = this.#rest.split('\n\n')
    this.#rest = blocks.pop() ?? ''
    if (this.#rest.length > MESSAGE_MAX) throw new ApiError('no_answer', 'a message has no end')
    return blocks.map(message).filter((it) => it !== null)
  }
}

function message(block: string): Message | null {
  const found: Message = { event: 'message', data: '', id: null }
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') found.event = value
    else if (field === 'id') found.id = value
    else if (field === 'data') data.push(value)
  }
  found.data = data.join('\n')
  return data.length > 0 ? found : null
}

/** A stream of events: by fetch, for EventSource can show no token. Ends when the daemon ends it. */
export async function* follow(where: string, signal: AbortSignal): AsyncGenerator<Message> {
  const response = await send('GET', where, undefined, signal)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const messages = new Messages()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield* messages.take(value)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
