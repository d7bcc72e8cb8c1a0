// The tools' side: what each does with a request that arrives, what it answers, and its own log of what it did.
// Its answers are honest: where it says that it did nothing, by S23's list or its own declaration, it did nothing.
import type { JsonObject } from '../../src/util/json.ts'
import type { History, Learned, Run, Send } from './history.ts'
import type { Random } from './random.ts'
import { RETENTION_MS, RETENTION_SLACK_MS, type SimTool } from './sim-tool.ts'

export interface ToolReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What somebody who reads all of it knows. */
  readonly means: Learned
  readonly retryAfterMs?: number
}

const JSON_TYPE = { 'content-type': 'application/json' } as const
/** Statuses that say nothing about what was done, unless the tool declares them. */
const UNCLEAR = [500, 502, 503, 408, 409, 404, 422]

export class ToolService {
  readonly #history: History
  readonly #trouble: number
  readonly #onRun: (run: Run) => void
  readonly #remembered = new Map<string, Run>()
  /** PUT-like state: what a repeat writes again. */
  readonly #state = new Map<string, string>()

  constructor(history: History, trouble: number, onRun: (run: Run) => void) {
    this.#history = history
    this.#trouble = trouble
    this.#onRun = onRun
  }

  /** The request has arrived. */
  handle(send: Send, now: number, random: Random): ToolReply {
    const { tool } = send
    if (!random.chance(this.#trouble)) return success(this.#execute(send, now))
    const kind = random.weighted({
      refuse: 3,
      throttle: 4,
      unclear: 4,
      harmless: tool.harmlessCode === undefined ? 0 : 4,
      complaint: 1,
      garbled: 1,
      broken: tool.checked === undefined ? 0 : 2,
    })
    switch (kind) {
      case 'refuse':
        return plain(random.pick(tool.refusedOn.filter((status) => status !== 429)), 'nothing-done')
      case 'throttle': {
        const seconds = random.int(0, 4)
        return {
          ...plain(429, 'nothing-done', { 'retry-after': String(seconds) }),
          retryAfterMs: seconds * 1000,
        }
      }
      case 'unclear': {
        if (random.chance(0.5)) this.#execute(send, now)
        return plain(
          random.pick(UNCLEAR.filter((status) => !tool.refusedOn.includes(status))),
          'not-definite',
        )
      }
      case 'harmless':
        return envelope(tool.harmlessCode ?? '', 'nothing-done', random.chance(0.5))
      case 'complaint':
        if (random.chance(0.5)) this.#execute(send, now)
        return envelope('weird', 'not-definite', random.chance(0.5))
      case 'garbled':
        this.#execute(send, now)
        return { status: 200, headers: JSON_TYPE, body: '{"run": 1, "inp', means: 'not-definite' }
      case 'broken':
        this.#execute(send, now)
        return { status: 200, headers: JSON_TYPE, body: '{"run": "one"}', means: 'not-definite' }
    }
  }

  #execute(send: Send, now: number): Run {
    const before = this.#recallable(send, now)
    const output = before?.output ?? { run: this.#history.runs.length + 1, input: JSON.parse(send.body) }
    const run: Run = { send, at: now, changed: this.#changes(send, before), output }
    this.#history.runs.push(run)
    send.call.record.runs.push(run)
    if (send.tool.kind === 'keyed' && run.changed) this.#remembered.set(send.key, run)
    this.#onRun(run)
    return run
  }

  #changes(send: Send, before: Run | undefined): boolean {
    if (send.tool.kind === 'read') return false
    if (send.tool.kind === 'keyed') return before === undefined
    if (send.tool.kind === 'once') return true
    const changed = this.#state.get(send.key) !== send.body
    this.#state.set(send.key, send.body)
    return changed
  }

  #recallable(send: Send, now: number): Run | undefined {
    const run = send.tool.kind === 'keyed' ? this.#remembered.get(send.key) : undefined
    return run !== undefined && now < run.at + RETENTION_MS + RETENTION_SLACK_MS ? run : undefined
  }
}

/** Whether a second send does no harm, for as long as the tool has declared. */
export function isHarmless(tool: SimTool): boolean {
  return tool.kind !== 'once'
}

function success(run: Run): ToolReply {
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(run.output), means: 'success' }
}

function plain(status: number, means: Learned, headers: Record<string, string> = {}): ToolReply {
  return { status, headers: { 'content-type': 'text/plain', ...headers }, body: `status ${status}`, means }
}

function envelope(code: string, means: Learned, retryable: boolean): ToolReply {
  const body: JsonObject = {
    tool_contract_version: 'v1',
    status: 'error',
    error: { code, reason: `tool_${code}`, retryable, message: `the tool says ${code}` },
  }
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(body), means }
}
