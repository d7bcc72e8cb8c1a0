// A typed client of the HTTP API.
import { Agent, type Dispatcher } from 'undici'
import type { CallState } from '../contract/answer.ts'
import type { CallResource } from '../contract/schema/call-resource.ts'
import type { JsonObject } from '../util/json.ts'
import type { ApplyReply, CallPage, ExplainReply, HealthReply } from './api.ts'
import { type ApprovalClient, approvalClient } from './approvals.ts'
import { type AuditClient, auditClient } from './audit.ts'
import { type CallReply, isAnswerTo, readCallReply } from './call-reply.ts'
import { ClientError } from './client-error.ts'
import { type EffectClient, effectClient } from './effects.ts'
import { ask, exchange, refusalOf, segment, type Target } from './exchange.ts'
import { type FreezeClient, freezeClient } from './freezes.ts'
import { type McpClient, mcpClient } from './mcp.ts'
import { type ResourceClient, resourceClient } from './resources.ts'
import { type SecretClient, secretClient } from './secrets.ts'
import { type TokenClient, tokenClient } from './tokens.ts'

export interface ClientOptions {
  /** Where the server listens, such as http://127.0.0.1:7411. */
  readonly url: string
  readonly token: string
  /** The namespace to work in. @default that of the token */
  readonly namespace?: string
  /** The way to the server. One that is given is not closed by `close`. @default an agent of its own */
  readonly dispatcher?: Dispatcher
  /** How long everything but a call may take. @default 30 s */
  readonly timeoutMs?: number
}

export interface CallRequestOptions {
  /** Listen so long at most, in whole seconds; then the call is shown as it is. */
  readonly waitMs?: number
  /** Do not listen: the answer is the accepted call. */
  readonly async?: boolean
  /** The delivery key, for a body that has none. */
  readonly idempotencyKey?: string
}

export interface CallListOptions {
  readonly state?: CallState
  readonly tool?: string
  readonly requestId?: string
  readonly actor?: string
  readonly limit?: number
  readonly cursor?: string
}

export interface ApplyOptions {
  readonly dryRun?: boolean
}

export interface Client
  extends EffectClient,
    AuditClient,
    ApprovalClient,
    FreezeClient,
    TokenClient,
    SecretClient,
    McpClient,
    ResourceClient {
  /** Calls a tool. `body` is a request in any dialect. A call that failed is a reply, not an error. */
  call(body: JsonObject, options?: CallRequestOptions): Promise<CallReply>
  /** With `waitMs` an open call is waited for, in whole seconds, up to 300. */
  getCall(id: string, options?: { readonly waitMs?: number }): Promise<CallResource>
  listCalls(options?: CallListOptions): Promise<CallPage>
  /** `canceling` is false when the call had already ended, or is open and does not run. */
  cancelCall(id: string): Promise<{ readonly canceling: boolean; readonly call: CallResource }>
  /** Manifests as YAML or JSON text; all or nothing. What is wrong with them is a reply, not an error. */
  apply(manifests: string | Uint8Array, options?: ApplyOptions): Promise<ApplyReply>
  /** What every stage would answer to this call. */
  explain(body: JsonObject): Promise<ExplainReply>
  /** Whether the server takes calls, and why not. */
  health(): Promise<HealthReply>
  close(): Promise<void>
}

const DEFAULT_TIMEOUT_MS = 30_000
/** What a server may take beyond the wait that it was asked for. */
const WAIT_SLACK_MS = 30_000

export function createClient(options: ClientOptions): Client {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS
  const own = options.dispatcher === undefined ? new Agent({ connectTimeout: 10_000 }) : undefined
  const target: Target = {
    url: readUrl(options.url),
    token: options.token,
    namespace: options.namespace,
    dispatcher: options.dispatcher ?? (own as Agent),
  }

  return {
    ...effectClient(target, timeoutMs),
    ...resourceClient(target, timeoutMs),
    ...auditClient(target, timeoutMs),
    ...tokenClient(target, timeoutMs),
    ...secretClient(target, timeoutMs),
    ...mcpClient(target, timeoutMs),
    ...approvalClient(target, timeoutMs),
    ...freezeClient(target, timeoutMs),

    async call(body, { waitMs, async: respondAsync = false, idempotencyKey } = {}) {
      const wait = waitMs === undefined ? undefined : Math.ceil(waitMs / 1000)
      const prefer = [
        ...(respondAsync ? ['respond-async'] : []),
        ...(wait === undefined ? [] : [`wait=${wait}`]),
      ]
      const got = await exchange(target, {
        method: 'POST',
        path: 'v1/calls',
        body: JSON.stringify(body),
        headers: {
          ...(prefer.length > 0 ? { prefer: prefer.join(', ') } : {}),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        // The server answers inside the deadline of the call, which only it knows.
        timeoutMs: wait === undefined ? 0 : wait * 1000 + WAIT_SLACK_MS,
      })
      // Refused before it was a call, such as without a valid token.
      if (got.status >= 400 && !isAnswerTo(body, got)) throw refusalOf(got)
      return readCallReply(body, got)
    },

    async getCall(id, { waitMs } = {}) {
      const wait = waitMs === undefined ? undefined : Math.ceil(waitMs / 1000)
      return as<CallResource>(
        await ask(target, {
          method: 'GET',
          path: `v1/calls/${segment(id)}`,
          query: { wait },
          timeoutMs: timeoutMs + (wait ?? 0) * 1000,
        }),
      )
    },

    async listCalls({ state, tool, requestId, actor, limit, cursor } = {}) {
      const query = { state, tool, request_id: requestId, actor, limit, cursor }
      return as<CallPage>(await ask(target, { method: 'GET', path: 'v1/calls', query, timeoutMs }))
    },

    async cancelCall(id) {
      const got = await ask(target, { method: 'POST', path: `v1/calls/${segment(id)}/cancel`, timeoutMs })
      return { canceling: got.status === 202, call: as<CallResource>(got) }
    },

    async apply(manifests, { dryRun } = {}) {
      const got = await exchange(target, {
        method: 'POST',
        path: 'v1/apply',
        query: { dry_run: dryRun },
        body: manifests,
        headers: { 'content-type': 'application/yaml' },
        timeoutMs,
      })
      if (!Array.isArray(got.body.problems)) throw refusalOf(got)
      return as<ApplyReply>(got)
    },

    async explain(body) {
      const got = await ask(target, {
        method: 'POST',
        path: 'v1/explain',
        body: JSON.stringify(body),
        timeoutMs,
      })
      return as<ExplainReply>(got)
    },

    async health() {
      const got = await exchange(target, { method: 'GET', path: 'readyz', timeoutMs })
      if (typeof got.body.ready !== 'boolean') throw refusalOf(got)
      const at = Date.parse(String(got.headers.date))
      return { ...as<HealthReply>(got), ...(Number.isNaN(at) ? {} : { at }) }
    },

    async close() {
      await own?.close()
    },
  }
}

function readUrl(text: string): URL {
  const url = URL.parse(text.endsWith('/') ? text : `${text}/`)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new ClientError(`'${text}' is not the address of a server`, {
      kind: 'unreachable',
      fix: 'write it like http://127.0.0.1:7411',
    })
  }
  return url
}

/** The server's own schemas promise these shapes; a client that checked them again would break on added fields. */
function as<T>(got: { readonly body: JsonObject }): T {
  return got.body as unknown as T
}
