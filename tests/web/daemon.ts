// A real daemon with a pool of its own, for one file of tests.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Role = 'viewer' | 'operator' | 'admin'
const START_MS = 30_000

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export class Daemon {
  readonly place = mkdtempSync(join(tmpdir(), 'ashlar-web-'))
  readonly tokens = {} as Record<Role, string>
  url = ''
  #process: ChildProcess

  /** One that serves; or with `demo` one that has a pool already, and a host that keeps it busy for so long. */
  constructor(
    readonly program: string,
    readonly kind: 'serve' | 'demo' = 'serve',
    seconds = 600,
  ) {
    const log = openSync(join(this.place, 'log'), 'w')
    const args = [kind, '--state', join(this.place, 'state'), '--listen', '127.0.0.1:0', '--discovery', 'none', '--api-listen', '127.0.0.1:0']
    if (kind === 'demo') args.push('--seconds', `${seconds}`)
    this.#process = spawn(program, args, { stdio: ['ignore', log, log] })
  }

  /** Waits until it answers, and makes a pool and a token for each role. */
  async ready(drives = 4): Promise<this> {
    const end = Date.now() + START_MS
    for (;;) {
      try {
        this.run('status')
        break
      } catch (error) {
        if (Date.now() > end || this.#process.exitCode !== null) throw new Error(`${error}\n${readFileSync(join(this.place, 'log'))}`)
        await new Promise((done) => setTimeout(done, 50))
      }
    }
    if (this.kind === 'serve') this.#createPool(drives)
    for (const role of ['viewer', 'operator', 'admin'] as const) this.tokens[role] = this.run('token', 'create', role, '--role', role).trim()
    this.url = `https://${JSON.parse(this.run('session', '--output', 'json')).addresses[0]}`
    return this
  }

  #createPool(drives: number): void {
    const files = Array.from({ length: drives }, (_, at) => ['--drive', `file:${join(this.place, `${at}.img`)},size=256MiB,sparse=on`]).flat()
    this.run('pool', 'create', 'tank', '--level', '5', ...files)
  }

  /** What a command prints. */
  run(...args: string[]): string {
    const env = { ...process.env, ASHLAR_SOCKET: join(this.place, 'state', 'ashlar.sock') }
    return execFileSync(this.program, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }

  /** What it answers, as it is on the wire. */
  ask(path: string, options: { method?: string; role?: Role; headers?: Record<string, string>; body?: unknown } = {}): Promise<Answer> {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body)
    const headers = {
      ...(options.role && { authorization: `Bearer ${this.tokens[options.role]}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...options.headers,
    }
    return new Promise((done, failed) => {
      const request = https.request(this.url + path, { method: options.method ?? 'GET', headers, rejectUnauthorized: false }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part) => parts.push(part))
        response.on('end', () => done({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }))
      })
      request.on('error', failed)
      request.end(body)
    })
  }

  async json<T = any>(path: string): Promise<T> {
    return JSON.parse((await this.ask(`/api/v1${path}`, { role: 'admin' })).body.toString()) as T
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.#process.once('exit', done))
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGTERM')
      await ended
    }
    rmSync(this.place, { recursive: true, force: true })
  }
}
