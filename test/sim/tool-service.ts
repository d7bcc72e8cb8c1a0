// The tools' side: what each does with a request that arrives, what it answers, and its own log of what it did.
// Its answers are honest: where it says that it did nothing, by S23's list or its own declaration, it did nothing.
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { History, Learned, Run, Send } from './history.ts'
import type { Random } from './random.ts'
import { RETENTION_MS, RETENTION_SLACK_MS, type SimTool } from './sim-tool.ts'
import { Holds } from './two-phase-service.ts'

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
  readonly #trouble: () => number
  readonly #onRun: (run: Run) => void
  readonly #holds = new Holds()
  /** Requests that are being worked on, by key. */
  readonly #working = new Map<string, number>()
  /** Up to which attempt of a key nothing is taken any more: it was said that none had happened (S22). */
  readonly #fenced = new Map<string, number>()
  readonly #remembered = new Map<string, Run>()
  /** PUT-like state: what a repeat writes again. */
  readonly #state = new Map<string, string>()

  constructor(history: History, trouble: () => number, onRun: (run: Run) => void) {
    this.#history = history
    this.#trouble = trouble
    this.#onRun = onRun
  }

  /** The request has arrived. Gives a reply where nothing is to be worked on. */
  arrive(send: Send): ToolReply | undefined {
    if (send.kind === 'status') return undefined
    if (send.kind === 'call' && send.attempt <= (this.#fenced.get(send.key) ?? 0)) {
      return plain(409, 'nothing-done')
    }
    this.#working.set(send.key, (this.#working.get(send.key) ?? 0) + 1)
    return undefined
  }

  /** The request has been worked on. */
  handle(send: Send, now: number, random: Random): ToolReply {
    if (send.kind === 'status') return this.#status(send, now, random)
    this.#working.set(send.key, (this.#working.get(send.key) ?? 1) - 1)
    if (send.kind === 'rollback') return this.#rollback(send, now, random)
    const { tool } = send
    if (send.kind === 'commit' && !this.#holds.canCommit(send.token, now)) {
      return plain(this.#holds.isGone(send.token) ? 404 : 422, 'nothing-done')
    }
    if (!random.chance(this.#trouble())) return this.#success(send, now)
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

  #success(send: Send, now: number): ToolReply {
    const run = this.#execute(send, now)
    if (!run.prepares) return success(run)
    const body = {
      tool_contract_version: 'v1',
      status: 'ok',
      output: run.output,
      commit_token: this.#holds.tokenOf(send.key),
    }
    return { status: 200, headers: JSON_TYPE, body: JSON.stringify(body), means: 'success' }
  }

  /** Whether it happened. Answers that say nothing must not be read as if they did. */
  #status(send: Send, now: number, random: Random): ToolReply {
    if (random.chance(this.#trouble())) {
      const kind = random.weighted({ error: 3, missing: 2, odd: 2 })
      if (kind === 'error') return plain(503, 'not-definite')
      return kind === 'missing' ? plain(404, 'not-definite') : json({ state: 'perhaps' })
    }
    const run = send.record.runs.find((one) => one.changed)
    if (run !== undefined) return json({ state: 'done', output: run.output })
    if ((this.#working.get(send.key) ?? 0) > 0) return json({ state: 'running' })
    if (send.tool.query === 'fencing') {
      this.#fenced.set(send.key, Math.max(send.attempt, this.#fenced.get(send.key) ?? 0))
    }
    this.#history.saidNotDone.push({ send, at: now })
    return json({ state: 'not_done' })
  }

  #rollback(send: Send, now: number, random: Random): ToolReply {
    if (random.chance(this.#trouble())) {
      if (random.chance(0.5)) this.#holds.rollBack(send.token, now)
      return plain(random.pick([500, 502, 503, 408]), 'not-definite')
    }
    const said = this.#holds.rollBack(send.token, now)
    if (said === 'committed') return plain(409, 'not-definite')
    return said === 'gone' ? plain(404, 'nothing-done') : json({ state: 'rolled_back' })
  }

  #execute(send: Send, now: number): Run {
    const prepares = send.tool.twoPhase === true && send.kind === 'call'
    const before = prepares ? this.#holds.prepared(send.key, now) : this.#recallable(send, now)
    const fresh = () => ({ run: this.#history.runs.length + 1, input: inputOf(send) })
    const run: Run = {
      send,
      at: now,
      prepares,
      changed: !prepares && this.#changes(send, before),
      output: before?.output ?? fresh(),
    }
    this.#history.runs.push(run)
    send.record.runs.push(run)
    if (prepares) this.#holds.prepare(send.key, run, now)
    if (send.kind === 'commit') this.#holds.commit(send.token)
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
  return tool.kind !== 'once' || tool.twoPhase === true
}

/** A commit is about what was prepared. */
function inputOf(send: Send): Json {
  const body = JSON.parse(send.body) as JsonObject
  return send.kind === 'commit' ? (body.input ?? null) : body
}

function json(body: JsonObject): ToolReply {
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(body), means: 'success' }
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
