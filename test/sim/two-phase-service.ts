// What a two-phase tool holds for those who prepared something: until they commit, roll back, or wait too long.
import type { Run } from './history.ts'
import { COMMIT_MS, COMMIT_SLACK_MS } from './sim-tool.ts'

interface Hold {
  readonly token: string
  readonly run: Run
  readonly until: number
  state: 'prepared' | 'committed' | 'rolled-back'
}

export class Holds {
  readonly #byToken = new Map<string, Hold>()
  readonly #byKey = new Map<string, Hold>()

  /** What is held for this key: preparing twice is preparing once. */
  prepared(key: string, now: number): Run | undefined {
    const hold = this.#byKey.get(key)
    if (hold === undefined || hold.state === 'rolled-back') return undefined
    return hold.state === 'committed' || now < hold.until ? hold.run : undefined
  }

  prepare(key: string, run: Run, now: number): void {
    if (this.prepared(key, now) !== undefined) return
    const token = `hold/${this.#byToken.size + 1}`
    // Longer than it says: what was prepared late, or by another clock, is still there for its whole time.
    const hold: Hold = { token, run, until: now + COMMIT_MS + COMMIT_SLACK_MS, state: 'prepared' }
    this.#byKey.set(key, hold)
    this.#byToken.set(token, hold)
  }

  tokenOf(key: string): string {
    return this.#byKey.get(key)?.token ?? ''
  }

  /** A hold that was committed takes another commit for a second one: it never asked whether it was meant. */
  canCommit(token: string, now: number): boolean {
    const hold = this.#byToken.get(token)
    if (hold === undefined) return false
    return hold.state === 'committed' || (hold.state === 'prepared' && now < hold.until)
  }

  isGone(token: string): boolean {
    return !this.#byToken.has(token)
  }

  commit(token: string): void {
    const hold = this.#byToken.get(token)
    if (hold !== undefined) hold.state = 'committed'
  }

  rollBack(token: string, now: number): 'rolled-back' | 'gone' | 'committed' {
    const hold = this.#byToken.get(token)
    if (hold === undefined || (hold.state === 'prepared' && now >= hold.until)) return 'gone'
    if (hold.state === 'committed') return 'committed'
    hold.state = 'rolled-back'
    return 'rolled-back'
  }
}
