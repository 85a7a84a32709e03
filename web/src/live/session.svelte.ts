// Who is signed in, and what they may do. The daemon decides: this only hides what it would refuse.
import { ApiError, type Role, type Session, get, keepToken } from '../api/client'
import { live } from './live.svelte'

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 }

class SignedIn {
  session = $state.raw<Session | null>(null)
  /** It is not known yet whether the token of this tab still holds. */
  isLooking = $state(true)
  refusal = $state<ApiError | null>(null)

  /** Whether whoever is signed in may do what needs this role. */
  may(role: Role): boolean {
    return this.session !== null && RANK[this.session.role] >= RANK[role]
  }

  /** Asks who one is, by the token that the tab has; none is needed behind the daemon's socket. */
  async look(): Promise<void> {
    try {
      this.session = await get<Session>('/session')
      this.refusal = null
      live.onrefused = () => this.out(new ApiError('unauthenticated', 'The token does not hold any more.'))
      live.start()
    } catch (error) {
      this.session = null
      this.refusal = error as ApiError
    }
    this.isLooking = false
  }

  async in(shown: string): Promise<void> {
    keepToken(shown.trim())
    await this.look()
    if (!this.session) keepToken(null)
  }

  out(why: ApiError | null = null): void {
    keepToken(null)
    live.stop()
    this.session = null
    this.refusal = why
  }
}

export const signedIn = new SignedIn()
