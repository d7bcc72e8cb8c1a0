// A process that the chaos run kills, freezes and starts again.
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** Something that can be killed, frozen and started again. */
export interface Victim {
  readonly name: string
  /** How it ended by itself, each time: nobody had asked it to. */
  readonly ownEnds: readonly { readonly code: number | null; readonly said: string }[]
  /** The last of what it has written. */
  readonly said: string
  /** Resolves once it is ready. */
  start(): Promise<void>
  freeze(): void
  thaw(): void
  /** Ends it, and waits until it is gone. */
  end(how: 'kill' | 'stop'): Promise<void>
  /** Ends it at once, where nothing can be waited for any more. */
  killNow(): void
}

export interface VictimOptions {
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whether it is up; asked until it says so. */
  readonly ready: () => Promise<boolean>
  /** What it says of itself, where it does not become ready. */
  readonly why?: () => Promise<string>
  /** It ended by itself and cannot be started again. */
  readonly onLost: (error: unknown) => void
}

/** How long one start may take before the run gives up. */
const START_MS = 30_000
const KEPT_TEXT = 4_000

export class ProcessVictim implements Victim {
  readonly name: string
  readonly #options: VictimOptions
  #child: ChildProcess | undefined
  #said = ''
  #ended = Promise.resolve()
  readonly ownEnds: { readonly code: number | null; readonly said: string }[] = []
  #meant = true
  #starting = false

  constructor(options: VictimOptions) {
    this.name = options.name
    this.#options = options
  }

  get said(): string {
    return this.#said
  }

  /** One that ends by itself is started again, and that is counted. */
  async start(): Promise<void> {
    const until = performance.now() + START_MS
    this.#starting = true
    try {
      while (performance.now() < until) {
        if (this.#child === undefined) this.#spawn()
        if (await this.#options.ready()) return
        await sleep(20)
      }
    } finally {
      this.#starting = false
    }
    throw new Error(`${this.name} did not come up: ${await this.#options.why?.()}\n${this.#said}`)
  }

  #spawn(): void {
    const { file, args, env = {} } = this.#options
    const child = spawn(file, args, {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#meant = false
    child.stdin.on('error', () => {
      // It may be gone before its input is closed.
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#said = `${this.#said}${text}`.slice(-KEPT_TEXT)
      })
    }
    this.#ended = new Promise((resolve) => {
      child.once('close', (code) => {
        if (!this.#meant) this.ownEnds.push({ code, said: this.#said })
        this.#child = undefined
        resolve()
        if (!this.#meant && !this.#starting)
          this.start().catch((error: unknown) => this.#options.onLost(error))
      })
    })
    this.#child = child
  }

  freeze(): void {
    this.#signal('SIGSTOP')
  }

  thaw(): void {
    this.#signal('SIGCONT')
  }

  killNow(): void {
    this.#meant = true
    this.#signal('SIGKILL')
  }

  async end(how: 'kill' | 'stop'): Promise<void> {
    this.#meant = true
    this.#signal(how === 'kill' ? 'SIGKILL' : 'SIGTERM')
    await this.#ended
  }

  #signal(name: NodeJS.Signals): void {
    // False where it went in this very moment.
    this.#child?.kill(name)
  }
}
