// One request to the server and its JSON answer, or a ClientError that says what to do.
import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, request } from 'undici'
import { FAILURES, type FailureId } from '../contract/failures.ts'
import { isJsonObject, type JsonObject, type Violation } from '../util/json.ts'
import { ClientError } from './client-error.ts'

export interface Target {
  readonly url: URL
  readonly token: string
  readonly namespace: string | undefined
  readonly dispatcher: Dispatcher
}

export interface Ask {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the address of the server, without a leading slash. */
  readonly path: string
  /** A list is a parameter that is repeated. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** No answer for so long is an error; 0 waits for as long as the connection lives. */
  readonly timeoutMs: number
}

export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
}

/** An answer past this is not one of ours. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024

/** The answer, whatever its status. */
export async function exchange(target: Target, ask: Ask): Promise<Got> {
  return readAnswer(target, ask, await open(target, ask))
}

/** The body of an answer as it comes, for what may be too large to hold. A refusal is thrown, and so is a broken end. */
export async function* download(target: Target, ask: Ask): AsyncIterable<Uint8Array> {
  const response = await open(target, ask)
  if (response.statusCode >= 400) throw refusalOf(await readAnswer(target, ask, response))
  try {
    yield* response.body as AsyncIterable<Uint8Array>
  } catch (error) {
    throw transportError(target, ask, error)
  }
}

async function open(target: Target, ask: Ask): Promise<Dispatcher.ResponseData> {
  try {
    return await request(urlOf(target, ask), {
      dispatcher: target.dispatcher,
      method: ask.method,
      headersTimeout: ask.timeoutMs,
      bodyTimeout: ask.timeoutMs,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${target.token}`,
        ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(target.namespace === undefined ? {} : { 'writ-namespace': target.namespace }),
        ...ask.headers,
      },
      ...(ask.body === undefined ? {} : { body: ask.body }),
    })
  } catch (error) {
    throw transportError(target, ask, error)
  }
}

async function readAnswer(target: Target, ask: Ask, response: Dispatcher.ResponseData): Promise<Got> {
  const { statusCode: status, headers } = response
  const text = await readText(response.body).catch((error: unknown) => {
    throw transportError(target, ask, error)
  })
  return { status, headers, body: readObject(target, status, text) }
}

/** The answer of a request that either works or is refused. */
export async function ask(target: Target, what: Ask): Promise<Got> {
  const got = await exchange(target, what)
  if (got.status >= 400) throw refusalOf(got)
  return got
}

/** What the server says of a refusal: the v1 error of its envelope. */
export function refusalOf(got: Got): ClientError {
  const error = isJsonObject(got.body.error) ? got.body.error : {}
  const details = isJsonObject(error.details) ? error.details : {}
  const failure = textOf(details.failure)
  return new ClientError(textOf(error.message) ?? `the server answered with status ${got.status}`, {
    kind: 'refused',
    status: got.status,
    retryable: error.retryable === true,
    violations: violationsOf(details),
    details,
    ...(failure !== undefined && isFailureId(failure) ? { failure } : {}),
    ...(typeof details.fix === 'string' ? { fix: details.fix } : {}),
  })
}

export function isFailureId(id: string): id is FailureId {
  return Object.hasOwn(FAILURES, id)
}

export function violationsOf(details: JsonObject): readonly Violation[] {
  const list = Array.isArray(details.violations) ? details.violations : []
  return list.flatMap((item) => {
    const path = isJsonObject(item) ? textOf(item.path) : undefined
    const message = isJsonObject(item) ? textOf(item.message) : undefined
    return path === undefined || message === undefined ? [] : [{ path, message }]
  })
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A name must stay one part of the path, whatever is in it. */
export function segment(name: string): string {
  return encodeURIComponent(name).replace(/^\.{1,2}$/, (dots) => '%2E'.repeat(dots.length))
}

function urlOf(target: Target, { path, query = {} }: Ask): URL {
  const url = new URL(path, target.url)
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
    for (const one of values) url.searchParams.append(name, String(one))
  }
  return url
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > MAX_ANSWER_BYTES) throw new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function readObject(target: Target, status: number, text: string): JsonObject {
  if (text === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch {
    // Told below, with the address and the status: the parser's own words say less.
  }
  throw new ClientError(`${target.url.origin} answers with status ${status}, but not like a Writ server`, {
    kind: 'unexpected',
    status,
    fix: 'check that WRIT_URL names a Writ server and nothing in front of it',
  })
}

/** Faults before a connection was there: no byte of the request has left. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_TLS',
])

function transportError(target: Target, { method }: Ask, error: unknown): ClientError {
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  if (code !== undefined && (NOT_CONNECTED.has(code) || /CERT|^ERR_TLS|^ERR_SSL|SELF_SIGNED/.test(code))) {
    return new ClientError(`no Writ server at ${target.url.origin} (${code})`, {
      kind: 'unreachable',
      retryable: true,
      fix: "run 'writ up' or set WRIT_URL",
      cause: error,
    })
  }
  return new ClientError(
    `the connection to ${target.url.origin} broke before the answer came (${code ?? message})`,
    {
      kind: 'interrupted',
      retryable: method === 'GET',
      fix: 'look whether the server still runs, then ask again',
      cause: error,
    },
  )
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  // Several addresses were tried: they failed alike.
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
