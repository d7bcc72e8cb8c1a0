// Access tokens of OAuth 2 by client credentials (RFC 6749, section 4.4): asked for once, kept until shortly before they end.
import { createEgress, type EgressReply } from '../egress/egress.ts'
import { EgressFailed } from '../egress/egress-failed.ts'
import type { Reach } from '../util/address-class.ts'
import { isJsonObject, type Json } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import type { World } from '../util/world.ts'
import type { NotPresented } from './credential.ts'
import { headerFlaw } from './header-value.ts'

export interface TokenRequest {
  readonly tokenURL: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** Which secret it is, and which version of it. */
  readonly secret: string
  /** How far in the endpoint may lie. A token that was had with one reach is not given to those with another. */
  readonly reach: Reach
}

export type TokenResult =
  | { readonly ok: true; readonly token: string }
  /** `why` is for the operator: it names the endpoint. */
  | { readonly ok: false; readonly refusal: NotPresented; readonly why: string }

export interface AccessTokens {
  /** The kept one, or a new one; whoever asks while one is on its way gets that one. */
  get(request: TokenRequest): Promise<TokenResult>
  /** It was not taken: it is kept no longer. A newer one stays. */
  evict(request: TokenRequest, token: string): void
}

interface Kept {
  readonly token: string
  /** Monotonic. */
  readonly until: number
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 64 * 1024
/** So that a token does not end on its way to the tool. */
const EARLY_MS = 30_000
/** Where the server does not say how long a token lives. */
const DEFAULT_LIFE_S = 300
/** A server that promises more is asked again all the same: a revoked client must not go on for long. */
const LONGEST_LIFE_S = 3_600
const MOST_KEPT = 1_000

/** How the client shows itself: HTTP basic is what every server has to take, the body what some take only. */
type ClientAuth = 'basic' | 'body'

export function createAccessTokens(world: Pick<World, 'clock' | 'after' | 'network'>): AccessTokens {
  const kept = new Map<string, Kept>()
  const asking = new Map<string, Promise<TokenResult>>()
  const takesBody = new Set<string>()

  async function exchange(request: TokenRequest, key: string): Promise<TokenResult> {
    const first: ClientAuth = takesBody.has(request.tokenURL) ? 'body' : 'basic'
    let said = await ask(request, first, world)
    if (said.kind === 'refused' && said.error === 'invalid_client' && first === 'basic') {
      said = await ask(request, 'body', world)
      if (said.kind === 'token') keepBounded(takesBody, request.tokenURL)
    }
    if (said.kind === 'refused') {
      const where = URL.parse(request.tokenURL)?.origin ?? 'no address'
      return { ok: false, refusal: said.refusal, why: `${where}: ${said.refusal.message}` }
    }
    const life = lifeOf(said.expiresIn) * 1000 - EARLY_MS
    if (life > 0) {
      kept.delete(key)
      kept.set(key, { token: said.token, until: world.clock.monotonic() + life })
      dropOldest(kept)
    }
    return { ok: true, token: said.token }
  }

  return {
    get(request) {
      const key = keyOf(request)
      const found = kept.get(key)
      if (found !== undefined && world.clock.monotonic() < found.until)
        return Promise.resolve({ ok: true, token: found.token })
      kept.delete(key)
      const running = asking.get(key)
      if (running !== undefined) return running
      const run = exchange(request, key).finally(() => asking.delete(key))
      asking.set(key, run)
      return run
    },

    evict(request, token) {
      const key = keyOf(request)
      if (kept.get(key)?.token === token) kept.delete(key)
    },
  }
}

function keyOf({ tokenURL, clientId, scopes, secret, reach }: TokenRequest): string {
  return JSON.stringify([tokenURL, clientId, scopes.toSorted(), secret, reach])
}

function keepBounded(set: Set<string>, value: string): void {
  set.add(value)
  for (const oldest of set) {
    if (set.size <= MOST_KEPT) return
    set.delete(oldest)
  }
}

function dropOldest(kept: Map<string, Kept>): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) return
    kept.delete(oldest)
  }
}

/** In seconds. What is no number is as if it were not said; what has ended already is used once and not kept. */
function lifeOf(said: Json | undefined): number {
  const seconds = typeof said === 'string' && /^\d{1,12}$/.test(said) ? Number(said) : said
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return DEFAULT_LIFE_S
  return Math.min(Math.max(seconds, 0), LONGEST_LIFE_S)
}

type Said =
  | { readonly kind: 'token'; readonly token: string; readonly expiresIn: Json | undefined }
  | { readonly kind: 'refused'; readonly refusal: NotPresented; readonly error?: string }

async function ask(
  request: TokenRequest,
  auth: ClientAuth,
  world: Pick<World, 'after' | 'network'>,
): Promise<Said> {
  const { clientId, clientSecret, scopes, tokenURL, reach } = request
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scopes.length > 0) body.set('scope', scopes.join(' '))
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  if (auth === 'basic') {
    const credential = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
    headers.authorization = `Basic ${Buffer.from(credential).toString('base64')}`
  } else {
    body.set('client_id', clientId)
    body.set('client_secret', clientSecret)
  }
  try {
    const reply = await createEgress({ world, reach }).send({
      url: tokenURL,
      method: 'POST',
      headers,
      body: body.toString(),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    })
    return read(reply)
  } catch (error) {
    if (!(error instanceof EgressFailed)) throw error
    if (error.reason === 'refused') return denied(error.why)
    const transient = error.reason === 'timeout' || error.reason === 'unreachable'
    return refused(`the token endpoint could not be asked: ${error.why}`, transient)
  }
}

/** Section 2.3.1: both are encoded as form fields before they are put together. */
function formEncoded(text: string): string {
  return new URLSearchParams({ a: text }).toString().slice(2)
}

/**
 * What the endpoint wrote is never repeated, its error code aside: it may hold what it was sent. Where it is goes to the
 * operator alone.
 */
function read({ status, body }: EgressReply): Said {
  const where = 'the token endpoint'
  const parsed = parseStrictJson(body)
  const said = parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined
  if (status !== 200) {
    const code = said?.error
    const error = typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : undefined
    const because = error === undefined ? '' : `, ${error}`
    const transient = status >= 500 || status === 429 || status === 408
    return refused(`${where} answered HTTP ${status}${because}`, transient, { http_status: status }, error)
  }
  if (said === undefined) return refused(`${where} answered with something that is no JSON object`)
  const { access_token: token, token_type: type, expires_in: expiresIn } = said
  if (typeof token !== 'string' || token === '') return refused(`${where} answered without an access_token`)
  if (type !== undefined && (typeof type !== 'string' || type.toLowerCase() !== 'bearer'))
    return refused(`${where} gave a token of another type than Bearer`)
  const flaw = headerFlaw(token)
  if (flaw !== undefined) return refused(`${where} gave a token that ${flaw}`)
  return { kind: 'token', token, expiresIn }
}

/** The same guard as for the tool itself, so the same row. */
function denied(why: string): Said {
  const message = `the token endpoint is out of reach for the tool: ${why}`
  const details = { path: 'spec.auth.tokenURL' }
  return { kind: 'refused', refusal: { failure: 'egress-denied', message, details, transient: false } }
}

function refused(
  message: string,
  transient = false,
  details?: NotPresented['details'],
  error?: string,
): Said {
  const refusal: NotPresented = {
    failure: 'token-exchange-failed',
    message,
    transient,
    ...(details === undefined ? {} : { details }),
  }
  return { kind: 'refused', refusal, ...(error === undefined ? {} : { error }) }
}
