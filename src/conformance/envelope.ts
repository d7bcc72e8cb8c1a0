// Requests that cases send, and what they read of the answers. An answer is foreign: nothing of it is taken for granted.
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import type { CallerChoice, Subject } from './subject.ts'
import { TOOLS, type ToolName } from './tools.ts'

export interface RequestOptions {
  readonly input?: Json
  readonly key?: string
  readonly requestId?: string
  readonly runtime?: JsonObject
  readonly auth?: JsonObject
  readonly trace?: JsonObject
  readonly namespace?: string
  /** Claims about the tool, beside its name and operation. */
  readonly tool?: JsonObject
  /** @default 'v1'; null leaves it out */
  readonly version?: string | null
}

export function requestFor(subject: Subject, tool: ToolName, options: RequestOptions = {}): JsonObject {
  const { name, operation } = TOOLS[tool]
  const { version = 'v1', input, key, runtime, auth, trace, namespace } = options
  return {
    ...(version === null ? {} : { tool_contract_version: version }),
    request_id: options.requestId ?? `conformance-${subject.mint()}`,
    ...(namespace === undefined ? {} : { namespace }),
    tool: { ...options.tool, name, operation },
    ...(input === undefined ? {} : { input }),
    ...(key === undefined ? {} : { idempotency_key: key }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(auth === undefined ? {} : { auth }),
    ...(trace === undefined ? {} : { trace }),
  }
}

/** A v1 envelope with every field where it may be looked for. */
export interface Envelope {
  readonly body: JsonObject
  readonly status: Json | undefined
  readonly output: Json | undefined
  readonly error: JsonObject
  readonly details: JsonObject
  readonly usage: JsonObject
}

export function readEnvelope(body: JsonObject): Envelope {
  const error = objectOf(body.error)
  return {
    body,
    status: body.status,
    output: body.output,
    error,
    details: objectOf(error.details),
    usage: objectOf(body.usage),
  }
}

export async function send(subject: Subject, request: JsonObject, as?: CallerChoice): Promise<Envelope> {
  return readEnvelope(await subject.start(request, as).answer())
}

/** What must be the same each time a failure happens. */
export function mappingOf({ status, error, details, body, usage }: Envelope): JsonObject {
  return {
    status: status ?? null,
    code: error.code ?? null,
    reason: error.reason ?? null,
    retryable: error.retryable ?? null,
    failure: details.failure ?? null,
    effect: body.effect ?? null,
    final: body.final ?? null,
    attempt: usage.attempt ?? null,
  }
}

/** The part of a failure that the contract fixes. */
export function codesOf({ status, error }: Envelope): JsonObject {
  return {
    status: status ?? null,
    code: error.code ?? null,
    reason: error.reason ?? null,
    retryable: error.retryable ?? null,
  }
}

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
