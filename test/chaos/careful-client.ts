// A client that does what a careful one does: one key for each intended effect, and after every lost connection and every
// answer that is not the end it asks again with the same key. It keeps everything that it was ever told.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, request } from 'undici'
import { type CallReply, readCallReply } from '../../src/client/call-reply.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { Random } from '../sim/random.ts'
import { TOOL_KINDS, type ToolKind } from './tool-kind.ts'

/** One answer to one call, as it was told. */
export interface Told {
  readonly callId: string
  readonly state: CallReply['state']
  readonly final: boolean
  readonly effect: CallReply['effect']
  readonly output?: Json
  readonly failure?: string
  readonly retryable: boolean
  readonly replayed: boolean
  readonly attempt: number
  readonly commitToken?: string
  /** When it was asked for and when it was told, by one clock. */
  readonly askedAt: number
  readonly toldAt: number
}

/** One effect that somebody means to have, and all that was told about it. */
export interface Intent {
  readonly id: string
  readonly tool: ToolKind
  /** What becomes of it once it is prepared, for two-phase tools. */
  readonly plan: 'commit' | 'rollback' | 'leave'
  readonly told: Told[]
  /** What a person has settled it as. */
  settledAs?: 'done' | 'not-done'
}

export interface Servers {
  readonly urls: readonly string[]
  readonly token: string
  readonly agent: Agent
}

export interface ClientCounts {
  asked: number
  lost: number
  /** What commits, rollbacks and settlements were answered with. */
  readonly actions: Record<string, number>
}

/** How long a client listens before it takes the connection for lost. */
const LISTEN_MS = 5_000
const SHOW_TRIES = 20
const SHOW_AGAIN_MS = 250

/** An outcome that asking again must not change: anything else may be asked again. */
export function isDecided(told: Told | undefined): boolean {
  return told?.final === true && (told.state === 'succeeded' || !told.retryable)
}

export function lastTold(intent: Intent): Told | undefined {
  return intent.told.at(-1)
}

export class CarefulClient {
  readonly intents: Intent[] = []
  readonly counts: ClientCounts = { asked: 0, lost: 0, actions: {} }
  /** Answers that no request of a client should get. */
  readonly faults: string[] = []
  readonly #servers: Servers
  readonly #random: Random

  constructor(servers: Servers, random: Random) {
    this.#servers = servers
    this.#random = random
  }

  /** Makes calls until it is told to stop: `workers` at a time, each about one intent after the other. */
  async load(workers: number, stopped: () => boolean): Promise<void> {
    let next = 0
    const work = async () => {
      while (!stopped()) await this.#pursue(this.#intend(next++), stopped)
    }
    await Promise.all(Array.from({ length: workers }, work))
  }

  #intend(number: number): Intent {
    const random = this.#random.fork('intent', number)
    const intent: Intent = {
      id: `i-${number}`,
      tool: random.pick(TOOL_KINDS),
      plan: random.weighted({ commit: 7, rollback: 2, leave: 1 }),
      told: [],
    }
    this.intents.push(intent)
    return intent
  }

  async #pursue(intent: Intent, stopped: () => boolean): Promise<void> {
    const random = this.#random.fork('pursue', intent.id)
    for (let answers = 0; answers < 6 && !stopped(); ) {
      // Some ask twice at once, as a model or a proxy does.
      const asks = random.chance(0.1) ? [this.ask(intent), this.ask(intent)] : [this.ask(intent)]
      if (!(await Promise.all(asks)).includes(true)) {
        await sleep(random.int(100, 500))
        continue
      }
      answers++
      const last = lastTold(intent)
      if (isDecided(last) && !random.chance(0.1)) return
      if (last?.state === 'prepared' && intent.plan !== 'leave') await this.act(intent, intent.plan)
      else if (intent.tool === 'two-phase' && last?.state === 'prepared') return
      await sleep(random.int(20, 200))
    }
  }

  /** Asks once. False when the connection was lost: nobody knows what became of the request. */
  async ask(intent: Intent): Promise<boolean> {
    const body = {
      request_id: `${intent.id}-${this.counts.asked}`,
      idempotency_key: intent.id,
      tool: { name: intent.tool },
      input: { intent: intent.id },
    }
    const askedAt = performance.now()
    const got = await this.#exchange('/v1/calls', body, { prefer: 'wait=4' })
    if (got === undefined) return false
    if (got.headers['writ-call-id'] === undefined) {
      // Refused before it was a call: the server is going, or its store is away.
      if (got.status !== 503)
        this.faults.push(`${intent.tool} ${intent.id}: HTTP ${got.status} ${JSON.stringify(got.body.error)}`)
      return false
    }
    intent.told.push(toldBy(readCallReply(body, got), askedAt))
    return true
  }

  /** Commits or rolls back what was prepared. What comes of it is seen by asking again. */
  async act(intent: Intent, action: 'commit' | 'rollback'): Promise<void> {
    const prepared = intent.told.findLast((told) => told.state === 'prepared')
    if (prepared === undefined) throw new Error(`${intent.id} was never prepared`)
    const body = action === 'commit' ? { commit_token: prepared.commitToken ?? '' } : {}
    const got = await this.#exchange(`/v1/calls/${prepared.callId}/${action}`, body)
    if (got !== undefined) this.#count(`${action} ${outcomeOf(got)}`)
  }

  /** A person says what they have seen in the tool's own file. */
  async settle(intent: Intent, as: 'done' | 'not-done'): Promise<void> {
    const body = { as, reason: 'read in the file of the tool' }
    const got = await this.#exchange(`/v1/calls/${lastTold(intent)?.callId}/settle`, body)
    if (got === undefined) return
    this.#count(`settle ${outcomeOf(got)}`)
    if (got.status === 200) intent.settledAs = as
  }

  #count(what: string): void {
    this.counts.actions[what] = (this.counts.actions[what] ?? 0) + 1
  }

  /** The call as a server shows it; undefined where it knows none. One that was fenced comes back in a moment. */
  async show(callId: string): Promise<CallReply | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const got = await this.#send('GET', `/v1/calls/${callId}`, undefined, {})
        if (got.status !== 503) return got.status === 404 ? undefined : readCallReply({}, got)
      } catch (error) {
        if (tries >= SHOW_TRIES) throw error
      }
      if (tries >= SHOW_TRIES) throw new Error(`no server shows call ${callId}`)
      await sleep(SHOW_AGAIN_MS)
    }
  }

  async #exchange(path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}) {
    this.counts.asked++
    try {
      return await this.#send('POST', path, body, headers)
    } catch {
      // Refused, reset, or nothing in time: all the same to somebody who does not know what became of it.
      this.counts.lost++
      return undefined
    }
  }

  async #send(
    method: 'POST' | 'GET',
    path: string,
    body: JsonObject | undefined,
    headers: Readonly<Record<string, string>>,
  ) {
    const { urls, token, agent } = this.#servers
    const reply = await request(`${this.#random.pick(urls)}${path}`, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(LISTEN_MS),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: (await reply.body.json()) as JsonObject,
    }
  }
}

function toldBy(reply: CallReply, askedAt: number): Told {
  const { callId = '', state, final, effect, output, failure, replayed, attempt, body } = reply
  const token = body.commit_token
  return {
    callId,
    state,
    final,
    effect,
    ...(output === undefined ? {} : { output }),
    ...(failure === undefined ? {} : { failure: failure.id }),
    retryable: failure?.retryable === true,
    replayed,
    attempt,
    ...(typeof token === 'string' ? { commitToken: token } : {}),
    askedAt,
    toldAt: performance.now(),
  }
}

/** The state of the call, or the row of the failure table that was answered. */
function outcomeOf({ body }: { readonly body: JsonObject }): string {
  const details = (body.error as JsonObject | undefined)?.details as JsonObject | undefined
  return String(body.state ?? details?.failure ?? 'unreadable')
}
