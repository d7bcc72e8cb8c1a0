// What the tool of the chaos run does with each request, and what goes wrong on the way, by seed.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../sim/random.ts'
import type { EffectLog, LogLine } from './effect-log.ts'
import { HOLD_MS } from './tool-kind.ts'

/** What the tool knows about one key; all but `held` is read back from its file. */
interface Memory {
  arrivals: number
  effect?: LogLine
  prepared?: LogLine
  rolledBack?: LogLine
  /** Sends up to this one fail: somebody was told that they did nothing. */
  fencedUpTo: number
  /** Requests that have arrived and are not decided. */
  held: number
}

/** One request to have an effect. */
interface Act {
  readonly tool: string
  readonly key: string
  readonly intent: string
  readonly attempt: number
}

/** What goes wrong with one request. */
const FAULTS = {
  none: 70,
  'late-before': 7,
  'late-after': 5,
  'cut-before': 5,
  'cut-after': 6,
  'error-before': 2,
  'error-after': 4,
  refuse: 1,
} as const
const ASK_FAULTS = { none: 85, 'cut-before': 6, 'error-before': 5, refuse: 4 } as const
type Fault = keyof typeof FAULTS

export type Body = Readonly<Record<string, unknown>>
export type Answer = { readonly status: number; readonly body: Body }

export class ChaosTool {
  readonly #log: EffectLog
  readonly #random: Random
  readonly #memories = new Map<string, Memory>()
  /** By the token that was given for it. */
  readonly #prepared = new Map<string, LogLine>()
  calm = false

  constructor(log: EffectLog, random: Random) {
    this.#log = log
    this.#random = random
    for (const line of log.lines) this.#remember(line)
  }

  #memory(tool: string, key: string): Memory {
    const at = `${tool} ${key}`
    let memory = this.#memories.get(at)
    if (memory === undefined) {
      memory = { arrivals: 0, fencedUpTo: 0, held: 0 }
      this.#memories.set(at, memory)
    }
    return memory
  }

  #remember(line: LogLine): void {
    const memory = this.#memory(line.tool, line.key)
    if (line.kind === 'arrived') memory.arrivals++
    else if (line.kind === 'effect') memory.effect ??= line
    else if (line.kind === 'fenced') memory.fencedUpTo = Math.max(memory.fencedUpTo, line.attempt)
    else if (line.kind === 'rolled-back') memory.rolledBack ??= line
    else {
      memory.prepared ??= line
      this.#prepared.set(`t-${line.serial}`, line)
    }
  }

  #write(kind: LogLine['kind'], { tool, key, intent, attempt }: Act): LogLine {
    const line = this.#log.append({ kind, tool, key, intent, attempt })
    this.#remember(line)
    return line
  }

  /** The seed decides by what was asked and how often, not by when. */
  fault<F extends Fault>(
    weights: Readonly<Record<F, number>>,
    ...about: readonly (string | number)[]
  ): Fault {
    return this.calm ? 'none' : this.#random.fork(...about).weighted(weights)
  }

  /** The answer, or undefined for a connection that is cut. */
  async run(act: Act, effect: (memory: Memory) => Answer): Promise<Answer | undefined> {
    const memory = this.#memory(act.tool, act.key)
    this.#write('arrived', act)
    const fault = this.fault(FAULTS, act.tool, act.intent, memory.arrivals)
    const hold = this.#random.fork('hold', act.intent, memory.arrivals).int(50, HOLD_MS)
    memory.held++
    try {
      if (fault === 'late-before') await sleep(hold)
      if (fault === 'cut-before') return undefined
      if (fault === 'error-before') return { status: 500, body: { error: 'nothing was done' } }
      if (fault === 'refuse') return { status: 422, body: { error: 'refused' } }
      if (act.attempt <= memory.fencedUpTo) return { status: 422, body: { error: 'fenced' } }
      const answer = effect(memory)
      if (fault === 'late-after') await sleep(hold)
      if (fault === 'cut-after') return undefined
      if (fault === 'error-after') return { status: 500, body: { error: 'after the effect' } }
      return answer
    } finally {
      memory.held--
    }
  }

  act(act: Act): Promise<Answer | undefined> {
    return this.run(act, (memory) => {
      if (act.tool === 'read') return { status: 200, body: { intent: act.intent } }
      if (act.tool === 'two-phase') {
        const line = memory.prepared ?? this.#write('prepared', act)
        const body = {
          tool_contract_version: 'v1',
          status: 'ok',
          output: { preview: act.intent },
          commit_token: `t-${line.serial}`,
        }
        return { status: 200, body }
      }
      const line =
        act.tool === 'keyed' ? (memory.effect ?? this.#write('effect', act)) : this.#write('effect', act)
      return { status: 200, body: outputOf(line) }
    })
  }

  /** A second commit is a second effect here: the tool does not protect anybody. */
  commit(token: string, attempt: number): Promise<Answer | undefined> | Answer {
    const line = this.#prepared.get(token)
    if (line === undefined) return { status: 404, body: { error: 'no such token' } }
    return this.run({ ...line, attempt: attempt + 1_000 }, (memory) => {
      if (memory.rolledBack !== undefined) return { status: 422, body: { error: 'rolled back' } }
      return { status: 200, body: outputOf(this.#write('effect', line)) }
    })
  }

  rollback(token: string): Answer | undefined {
    const line = this.#prepared.get(token)
    if (line === undefined) return { status: 404, body: { error: 'no such token' } }
    const memory = this.#memory(line.tool, line.key)
    if (memory.effect !== undefined) return { status: 409, body: { error: 'already committed' } }
    memory.rolledBack ??= this.#write('rolled-back', line)
    return { status: 200, body: { rolled_back: true } }
  }

  status(tool: string, key: string, attempt: number): Body {
    const memory = this.#memory(tool, key)
    if (memory.effect !== undefined) return { state: 'done', output: outputOf(memory.effect) }
    if (memory.held > 0) return { state: 'running' }
    if (tool === 'fencing') this.#write('fenced', { tool, key, intent: '', attempt })
    return { state: 'not_done' }
  }

  statusFault(key: string, asked: number): Fault {
    return this.fault(ASK_FAULTS, 'status', key, asked)
  }
}

function outputOf(line: LogLine): Body {
  return { effect: line.serial, intent: line.intent }
}
