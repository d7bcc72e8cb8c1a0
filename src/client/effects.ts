// What a client can do about effects after the call: commit, roll back, settle, undo; and sagas.
import type { EntryState } from '../contract/entry.ts'
import type { SagaState } from '../contract/saga.ts'
import type { CallResource } from '../contract/schema/call-resource.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { type Ask, ask, type Got, segment, type Target } from './exchange.ts'

/** What was asked for is done, or goes on. */
export interface ActionReply {
  readonly goesOn: boolean
  readonly call: CallResource
}

export interface Verdict {
  /** `undone`: for an effect that could not be undone, and was by hand. */
  readonly as: 'done' | 'not-done' | 'undone'
  /** Kept in evidence. */
  readonly reason: string
  /** What the call would have returned; only for `done`. */
  readonly output?: Json
}

/** An effect about which something is left to do or to find out. */
export interface OpenEffect {
  readonly entry_id: string
  readonly call_id: string
  readonly request_id: string
  readonly actor: string
  readonly tool: { readonly name: string; readonly version: string; readonly operation: string }
  readonly state: EntryState
  readonly attempts: number
  readonly created_at: string
  /** Since when it is in question. */
  readonly since?: string
  readonly error?: {
    readonly failure: string
    readonly dotted_code: string
    readonly message: string
    readonly fix: string
    /** The same key again is safe, and settles it. */
    readonly retryable?: boolean
  }
  /** What happens by itself; absent where a person has to settle it. */
  readonly next?: { readonly kind: string; readonly at: string }
}

export interface EffectPage {
  readonly entries: readonly OpenEffect[]
  readonly next_cursor: string | null
}

export interface SagaSummary {
  readonly id: string
  readonly namespace: string
  readonly actor: string
  readonly state: SagaState
  readonly reason?: string
  readonly created_at: string
  readonly ended_at?: string
}

export interface SagaResource extends SagaSummary {
  readonly members: readonly {
    readonly entry_id: string
    readonly call_id: string
    readonly tool: { readonly name: string; readonly operation: string }
    readonly state: EntryState
    readonly compensation_call_id?: string
  }[]
}

export interface SagaPage {
  readonly sagas: readonly SagaSummary[]
  readonly next_cursor: string | null
}

export interface VerifyReply {
  readonly verdict: 'verified' | 'refuted'
  readonly tool: string
  readonly version: string
  readonly digest: string
  readonly declared: string
  readonly detail: string
  readonly call_id: string
}

interface PageOptions {
  readonly limit?: number
  readonly cursor?: string
}

export interface EffectClient {
  /** Makes a prepared effect happen. */
  commitCall(id: string, token: string): Promise<ActionReply>
  /** Gives a prepared effect up. */
  rollbackCall(id: string): Promise<ActionReply>
  /** Says whether an unknown effect happened, or that one was undone by hand. */
  settleCall(id: string, verdict: Verdict): Promise<ActionReply>
  /** Undoes an effect that happened. */
  compensateCall(id: string): Promise<ActionReply>
  /** Effects in these states; without any, those that are in question. */
  listEntries(options?: PageOptions & { readonly states?: readonly EntryState[] }): Promise<EffectPage>
  openSaga(id?: string): Promise<SagaResource>
  listSagas(options?: PageOptions & { readonly state?: SagaState }): Promise<SagaPage>
  getSaga(id: string): Promise<SagaResource>
  completeSaga(id: string): Promise<SagaResource>
  /** `reason` is kept in evidence. */
  abortSaga(id: string, reason?: string): Promise<SagaResource>
  /** Sends one key twice and compares what comes back. `accept` says that one real effect is meant. */
  verifyTool(
    name: string,
    options?: {
      readonly version?: string
      readonly operation?: string
      readonly input?: Json
      readonly accept?: boolean
    },
  ): Promise<VerifyReply>
}

/** What sends something to a tool takes as long as the tool does: the server bounds it. */
const UNBOUNDED = 0

export function effectClient(target: Target, timeoutMs: number): EffectClient {
  const get = (path: string, query: Ask['query'] = {}): Promise<Got> =>
    ask(target, { method: 'GET', path, query, timeoutMs })

  function post(path: string, body?: JsonObject, wait = timeoutMs): Promise<Got> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    return ask(target, { method: 'POST', path, timeoutMs: wait, ...sent })
  }

  async function act(id: string, verb: string, body?: JsonObject): Promise<ActionReply> {
    const got = await post(`v1/calls/${segment(id)}/${verb}`, body, UNBOUNDED)
    return { goesOn: got.status === 202, call: got.body as unknown as CallResource }
  }

  const saga = async (got: Promise<Got>): Promise<SagaResource> => (await got).body as unknown as SagaResource

  return {
    commitCall: (id, token) => act(id, 'commit', { commit_token: token }),
    rollbackCall: (id) => act(id, 'rollback'),
    settleCall: (id, { as, reason, output }) =>
      act(id, 'settle', { as, reason, ...(output === undefined ? {} : { output }) }),
    compensateCall: (id) => act(id, 'compensate'),

    async listEntries({ states, limit, cursor } = {}) {
      return (await get('v1/entries', { state: states, limit, cursor })).body as unknown as EffectPage
    },

    openSaga: (id) => saga(post('v1/sagas', id === undefined ? {} : { id })),
    getSaga: (id) => saga(get(`v1/sagas/${segment(id)}`)),
    completeSaga: (id) => saga(post(`v1/sagas/${segment(id)}/complete`)),
    abortSaga: (id, reason) =>
      saga(post(`v1/sagas/${segment(id)}/abort`, reason === undefined ? {} : { reason }, UNBOUNDED)),
    async listSagas({ state, limit, cursor } = {}) {
      return (await get('v1/sagas', { state, limit, cursor })).body as unknown as SagaPage
    },

    async verifyTool(name, { version, operation, input, accept = false } = {}) {
      const body = {
        ...(version === undefined ? {} : { version }),
        ...(operation === undefined ? {} : { operation }),
        ...(input === undefined ? {} : { input }),
        accept,
      }
      return (await post(`v1/tools/${segment(name)}/verify`, body, UNBOUNDED)).body as unknown as VerifyReply
    },
  }
}
