// What the daemon says now, and the last ten minutes of it. Owns the state that all pages show.
//
// Figures come by the stream `/live`, or where there is no place in it by asking as often.
// While nobody looks at the tab nothing is asked, so that an idle daemon stays idle.
import { ApiError, type Event, type Host, type IoStat, type Job, type Message, type Status, follow, get } from '../api/client'
import { type Verdict, judge, steady } from '../model/narrowest'
import { type Picture, type Reading, type StoreRates, picture, storeRates } from '../model/rates'
import { Ring } from '../model/ring'

/** From one look to the next: of a thousand volumes each one is long. */
const LOOK_SECONDS = 2
const LIVE = `/live?topics=status,iostat,jobs&interval_seconds=${LOOK_SECONDS}`
/** With these there is no stream, and the figures are asked for. */
const NO_STREAM = ['unknown_path', 'too_many_followers']
/** Hosts come and go seldom. */
const SLOW_MS = 10_000
const RETRY_MS = 3000
const EVENTS_MAX = 2000
/** Volumes and drives whose history is kept. */
const HISTORIES_MAX = 1200

/** Series of a history of operations. */
export const SERIES = { readRate: 0, writeRate: 1, readBytes: 2, writeBytes: 3, readP99: 4, writeP99: 5, readMean: 6, writeMean: 7 }
const SERIES_COUNT = 8

export type Connection = 'connecting' | 'live' | 'lost'

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    if (signal.aborted) return done()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      done()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })

class Live {
  status = $state.raw<Status | null>(null)
  /** `null`: nobody has said yet. */
  hosts = $state.raw<Host[] | null>(null)
  jobs = $state.raw<Job[]>([])
  events = $state.raw<Event[] | null>(null)
  picture = $state.raw<Picture | null>(null)
  stores = $state.raw<StoreRates[]>([])
  connection = $state<Connection>('connecting')
  problem = $state.raw<ApiError | null>(null)
  /** When the daemon has answered last. */
  seen = $state('')
  /** Grows with each point of the histories: whoever draws one reads it. */
  tick = $state(0)
  verdict = $state.raw<Verdict>({ state: 'unknown', narrowest: null, findings: [] })

  readonly total = new Ring(SERIES_COUNT)
  readonly #histories = new Map<string, Ring>()
  #iostat: IoStat | null = null
  #reading: Reading | null = null
  #awake: AbortController | null = null
  #isRefreshing = false
  /** Called when the daemon does not take the token any more. */
  onrefused = () => {}

  start(): void {
    this.stop()
    document.addEventListener('visibilitychange', this.#look)
    this.#look()
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#look)
    this.#sleep()
    this.#histories.clear()
    this.status = this.picture = this.events = this.hosts = null
    this.jobs = []
    this.stores = []
    this.connection = 'connecting'
  }

  /** The history of a volume or drive; nothing was counted of it yet where there is none. */
  history(key: string): Ring | null {
    return this.#histories.get(key) ?? null
  }

  /** Asks for everything at once, as after a change. */
  async refresh(): Promise<void> {
    await Promise.allSettled([this.#getStatus(), this.#getHosts()])
  }

  #look = () => {
    if (document.hidden) {
      this.#sleep()
    } else if (!this.#awake) {
      this.#awake = new AbortController()
      void this.#watch(this.#awake.signal)
      void this.#followEvents(this.#awake.signal)
      void this.#repeat(() => this.#getHosts(), SLOW_MS, this.#awake.signal)
    }
  }

  /** Lets go of all streams, of which a browser has few for one address. What comes later is not
   * compared with what was before. */
  #sleep(): void {
    this.#awake?.abort()
    this.#awake = this.#iostat = this.#reading = null
    const now = Date.now() / 1000
    for (const ring of [this.total, ...this.#histories.values()]) if (ring.length > 0) ring.push(now, [])
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const message of follow(LIVE, signal)) this.#take(message)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && NO_STREAM.includes(error.code)) {
          return this.#repeat(() => this.#askAll(), LOOK_SECONDS * 1000, signal)
        }
        this.#failed(error)
      }
      await pause(RETRY_MS, signal)
    }
  }

  async #repeat(what: () => Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const failed = await what().then(() => false, (error) => {
        if (!signal.aborted) this.#failed(error)
        return true
      })
      await pause(failed ? RETRY_MS : ms, signal)
    }
  }

  #failed(error: unknown): void {
    const problem = error instanceof ApiError ? error : new ApiError('no_answer', String(error))
    if (problem.code === 'unauthenticated') return this.onrefused()
    this.problem = problem
    this.connection = 'lost'
  }

  #take(message: Message): void {
    if (message.event === 'status') this.#setStatus(JSON.parse(message.data))
    else if (message.event === 'iostat') this.#setIoStat(JSON.parse(message.data))
    else if (message.event === 'jobs') this.jobs = JSON.parse(message.data)
  }

  async #getStatus(): Promise<void> {
    this.#setStatus(await get<Status>('/status'))
    this.jobs = await get<Job[]>('/jobs')
  }

  async #askAll(): Promise<void> {
    await this.#getStatus()
    this.#setIoStat(await get<IoStat>('/iostat?drives=true'))
  }

  async #getHosts(): Promise<void> {
    this.hosts = await get<Host[]>('/hosts')
  }

  /** Each look has the status first. Both have one clock, that of the daemon: when an answer arrives
   * says more of the browser than of them. */
  #setIoStat(now: IoStat): void {
    const [before, earlier] = [this.#iostat, this.#reading]
    const reading = { seconds: now.uptime_seconds, pools: this.status?.pools ?? [] }
    this.#iostat = now
    this.#reading = reading
    this.picture = before && picture(before, now)
    this.stores = this.picture && earlier ? storeRates(earlier, reading) : []
    const figures = { picture: this.picture, stores: this.stores, pools: reading.pools, hosts: this.hosts }
    this.verdict = steady(this.verdict.narrowest, judge(figures))
    if (!before) return
    this.#remember(Date.now() / 1000)
  }

  #setStatus(now: Status): void {
    this.status = now
    this.connection = 'live'
    this.seen = new Date().toISOString()
    this.problem = null
  }

  #remember(seconds: number): void {
    const all = this.picture
    this.total.push(seconds, all ? pointOf(all.total) : [])
    for (const it of all ? [...all.volumes, ...all.drives] : []) {
      let ring = this.#histories.get(it.key)
      if (!ring && this.#histories.size < HISTORIES_MAX && it.all.perSecond > 0) {
        ring = new Ring(SERIES_COUNT)
        this.#histories.set(it.key, ring)
      }
      ring?.push(seconds, pointOf(it))
    }
    this.tick += 1
  }

  async #followEvents(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (!this.events?.length) this.events = (await get<Event[]>(`/events?limit=${EVENTS_MAX / 2}`)).reverse()
        const last = this.events[0]?.seq ?? 0
        for await (const message of follow(`/events/stream?after=${last}`, signal)) this.#addEvent(JSON.parse(message.data))
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && error.code === 'unauthenticated') return this.onrefused()
      }
      await pause(RETRY_MS, signal)
    }
  }

  #addEvent(event: Event): void {
    this.events = [event, ...(this.events ?? [])].slice(0, EVENTS_MAX)
    // What has happened is in the figures at once. Of many events at a time the first one asks for that:
    // the stream has the others soon.
    if (event.severity === 'info' || this.#isRefreshing) return
    this.#isRefreshing = true
    void this.refresh().then(() => (this.#isRefreshing = false))
  }
}

type Kinds = Pick<Picture['total'], 'reads' | 'writes'>

function pointOf({ reads, writes }: Kinds): (number | null)[] {
  return [
    reads.perSecond, writes.perSecond, reads.bytesPerSecond, writes.bytesPerSecond,
    reads.p99Us, writes.p99Us, reads.meanUs, writes.meanUs,
  ]
}

export const live = new Live()
