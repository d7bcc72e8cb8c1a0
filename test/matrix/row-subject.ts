// A transport in the matrix of rows: the tools that fail over it in each way, and what they have in common.
import assert from 'node:assert/strict'
import type { Constraints } from '../../src/contract/call.ts'
import type { Resolve } from '../../src/egress/dial.ts'
import { createNetwork } from '../../src/egress/network.ts'
import type { RuntimeOptions } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { World } from '../../src/util/world.ts'
import { listenHttp, type Peer } from '../transport/tool-peer.ts'
import type { Kind } from './row-table.ts'
import { saidJson, speak, type Voice } from './row-voice.ts'

export interface RowSubject {
  readonly options?: Pick<RuntimeOptions, 'cliAllow' | 'toolCallbacks'>
  /** The tools of a way. */
  documents(way: string, kind: Kind): readonly JsonObject[]
  /** What has to happen once all of them are there, before anything is called. */
  spoil?(runtime: Runtime): Promise<void>
  toolOf(way: string, kind: Kind): string
  inputOf?(way: string, requestId: string): Json
  /** What the caller asks for beside the input. */
  constraintsOf?(way: string): Constraints | undefined
  close(): Promise<void>
}

/** Ways in which nothing ends by itself. */
export const BRIEF: ReadonlySet<string> = new Set(['no answer', 'handshake without end', 'work without end'])
/** Enough to get there, on a machine that is not busy with the others. */
const BRIEF_TIME = '2500ms'
/** Longer than a busy machine takes for anything. */
const AMPLE = '50s'

export const HANGS = 'no answer'
/** Ways in which the tool must be at it when something happens to the call. */
export const STOPPED: ReadonlySet<string> = new Set(['canceled', 'the runtime ends'])

/** How the tool itself behaves. */
export function behaviourOf(way: string): string {
  return STOPPED.has(way) ? HANGS : way
}

export function nameOf(way: string, kind: Kind): string {
  return `${way.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${kind}`
}

export function document(kind: string, name: string, spec: JsonObject, namespace = 'default'): JsonObject {
  return { apiVersion: 'writ.dev/v1', kind, metadata: { name, namespace }, spec }
}

export function runtimeOf(way: string, isolation?: string): JsonObject {
  const mode = way === 'isolation container' ? 'container' : isolation
  return {
    timeout: BRIEF.has(way) ? BRIEF_TIME : AMPLE,
    retry: { max_attempts: 1 },
    ...(mode === undefined ? {} : { isolation_mode: mode }),
  }
}

export const OUTPUT_SCHEMA: JsonObject = { type: 'object', properties: { n: { type: 'integer' } } }
export const OUTPUT_BYTES = 65_536

/** What every tool of the matrix declares. */
export function specOf(way: string, kind: Kind): JsonObject {
  return {
    ...(kind === 'read' ? { effect: { class: 'read-only' } } : {}),
    ...(way === 'output breaks its schema' ? { output_schema: OUTPUT_SCHEMA } : {}),
    runtime: runtimeOf(way),
    limits: { output_bytes: OUTPUT_BYTES },
  }
}

/** A service that gives tokens, or does not. */
export async function listenTokens(voice: Voice): Promise<Peer> {
  return listenHttp(({ path, headers, body }, response) => {
    const said = [...voice.words('tokens', headers), body]
    if (path === '/refuse') {
      const refusal = { error: 'invalid_client', error_description: said.join(' ') }
      speak(voice, response, voice.echoes ? { ...refusal, ...saidJson(said) } : refusal, said, 401)
    } else {
      const grant = { access_token: voice.grant(), token_type: 'bearer', expires_in: 3_600 }
      speak(voice, response, grant, said)
    }
  })
}

/** What the tools of a subject have in common. */
export interface RowKit {
  readonly tokens: Peer
  readonly voice: Voice
}

/** The credential that a way is about, as `spec.auth`; else the one of all tools. */
export function authOf(way: string, kind: Kind, { tokens, voice }: RowKit): JsonObject {
  const profile = 'oauth2_client_credentials'
  switch (way) {
    case 'secret is not there':
      return { auth: { profile: 'bearer', secretRef: 'nowhere' } }
    case 'secret of another namespace':
      return { auth: { profile: 'bearer', secretRef: 'blue/key' } }
    case 'token is refused':
      return { auth: { profile, secretRef: 'client', tokenURL: `${tokens.origin}/refuse` } }
    case 'fresh token is refused, too':
      return { auth: { profile, secretRef: 'client', tokenURL: `${tokens.origin}/grant` } }
    default:
      return voice.auth(kind)
  }
}

/** The same for programs. */
export function envOf(way: string, { voice }: Pick<RowKit, 'voice'>): readonly JsonObject[] {
  if (way === 'secret is not there') return [...voice.env, { name: 'KEY', secretRef: 'nowhere' }]
  if (way === 'secret of another namespace') return [...voice.env, { name: 'KEY', secretRef: 'blue/key' }]
  return voice.env
}

export const CLIENT_SECRET = 'a-secret-of-the-matrix'
export const BLUE_SECRET = 'a-secret-of-blue'

/** The secrets that those are about. */
export async function applySecrets(runtime: Runtime, voice: Voice): Promise<void> {
  const client = { client_id: 'the-matrix', client_secret: CLIENT_SECRET }
  await apply(runtime, [document('Secret', 'client', { stringData: client }), ...voice.documents])
  await apply(runtime, [document('Secret', 'key', { stringData: { value: BLUE_SECRET } }, 'blue')])
}

export async function apply(runtime: Runtime, documents: readonly JsonObject[]): Promise<void> {
  const text = documents.map((one) => JSON.stringify(one)).join('\n---\n')
  const { problems } = await runtime.resources.apply([{ text, file: 'matrix' }])
  const wrong = problems.filter(({ severity }) => severity === 'error')
  assert.deepEqual(wrong, [])
}

/** What a tool says in an envelope, of either dialect; undefined for a way that is not told in one. */
export function envelopeOf(way: string, requestId: string, said: readonly string[]): JsonObject | undefined {
  const message = said.join(' ')
  const named = NAMED[way]
  if (named !== undefined) {
    const { code = 'execution_failed', ...known } = named
    const details = { ...known, ...saidJson(said) }
    const retryable = known.failure !== 'partial-effect'
    const error = { code, reason: 'tool_backend_failure', retryable, message, details }
    const head = { tool_contract_version: 'v1', request_id: requestId, status: 'error' }
    return { ...head, error, warnings: [...said], side_effects: [saidJson(said)] }
  }
  if (way !== 'says that it is unhealthy') return undefined
  return {
    call_id: requestId,
    status: 'retryable_error',
    error: { code: 'S-TOOL-005', message, details: saidJson(said) },
    metrics: { duration_ms: 1 },
    provenance: { tool_id: 'matrix', tool_version: '1.0.0' },
  }
}

const NAMED: Readonly<Record<string, { readonly failure?: string; readonly code?: string }>> = {
  'says that a part happened': { failure: 'partial-effect' },
  'says that it crashed': { failure: 'tool-crashed' },
  'says that it hit a limit': { failure: 'resource-limit' },
  'says that the token ended': { code: 'auth_expired' },
}

/** The status of HTTP that a way is, if it is one. */
export const STATUSES: Readonly<Record<string, number>> = {
  unauthorized: 401,
  'fresh token is refused, too': 401,
  forbidden: 403,
  rejected: 422,
  conflict: 409,
  throttled: 429,
  fault: 500,
}

/** A name that stands for a private address. */
export const INSIDE = 'inside.example.com'

/** Time, chance and network of this machine, but for that name. */
export function createRowWorld(): World {
  const resolve: Resolve = (_name, _options, callback) =>
    callback(null, [{ address: '10.255.255.1', family: 4 }])
  return createSystemWorld({ network: createNetwork({ resolve }) })
}
