// Reads a tool's reply in v1: seed 000's response, and the two spellings of it that older tools use.
import { isJsonObject, type JsonObject, type Violation } from '../../util/json.ts'
import { V1_STATUSES, V1ResponseSchema } from '../schema/v1.ts'
import type { ExpectedReply, ToolReply } from './dialect.ts'
import { lazySchema } from './lazy-schema.ts'
import {
  hasOnly,
  malformed,
  mixedViolations,
  type ReplyReader,
  readCommitToken,
  readDetails,
  readExtras,
  readMessage,
  saysHarmless,
} from './reading.ts'

/**
 * What must hold for a reply to be understood. It is wider than the response schema on purpose: `success` is read as
 * `ok`, `contract_version` as `tool_contract_version`, and an error needs no more than its code. To call a reply
 * malformed over a missing detail would turn a plain failure into an effect that nobody knows.
 */
const V1_REPLY = {
  type: 'object',
  required: ['status'],
  properties: {
    tool_contract_version: { type: 'string', pattern: '^[vV]1(\\.[0-9]{1,9})?$' },
    contract_version: { type: 'string', pattern: '^[vV]1(\\.[0-9]{1,9})?$' },
    request_id: { type: 'string' },
    status: { enum: ['ok', 'success', 'error', 'denied'] },
    error: {
      type: ['object', 'null'],
      required: ['code'],
      properties: {
        code: { type: 'string', minLength: 1, maxLength: 128 },
        reason: { type: 'string', maxLength: 256 },
        retryable: { type: 'boolean' },
        message: { type: 'string' },
      },
    },
    commit_token: { type: ['string', 'null'] },
  },
} satisfies JsonObject

const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(V1ResponseSchema.properties),
  'contract_version',
])

export function createV1ReplyReader(): ReplyReader {
  const schema = lazySchema(V1_REPLY)
  return {
    recognisesReply: () => true,
    decodeReply(body, expected) {
      const violations = [...schema.check(body), ...idViolations(body, expected)]
      const success = body.status === 'ok' || body.status === 'success'
      if (violations.length === 0) violations.push(...mixedViolations(success, body.error))
      return violations.length > 0 ? malformed(violations) : read(body, success)
    },
    looksLikeEnvelope(body, expected) {
      if (!hasOnly(body, KNOWN_FIELDS)) return false
      const echoed = body.request_id === expected.requestId
      if (body.status === 'success') return echoed
      if (!(V1_STATUSES as readonly unknown[]).includes(body.status)) return false
      return echoed || 'tool_contract_version' in body || 'contract_version' in body || hasCodeAndReason(body)
    },
  }
}

function idViolations(body: JsonObject, expected: ExpectedReply): readonly Violation[] {
  if (body.request_id === expected.requestId) return []
  if (body.request_id === undefined && expected.idOptional === true) return []
  return [{ path: '/request_id', message: 'must be the request id that was sent' }]
}

function hasCodeAndReason(body: JsonObject): boolean {
  return (
    isJsonObject(body.error) && typeof body.error.code === 'string' && typeof body.error.reason === 'string'
  )
}

function read(body: JsonObject, success: boolean): ToolReply {
  if (success || !isJsonObject(body.error)) {
    return { kind: 'success', output: body.output ?? null, ...readExtras(body), ...readCommitToken(body) }
  }
  const { code, reason, retryable, message, details } = body.error
  return {
    kind: 'failure',
    dialect: 'v1',
    status: String(body.status),
    code: String(code),
    ...(typeof reason === 'string' && reason !== '' ? { reason } : {}),
    message: readMessage(message, reason, code),
    ...(typeof retryable === 'boolean' ? { retryable } : {}),
    ...readDetails(details),
    harmless: saysHarmless(body.effect, isJsonObject(details) ? details.effect : undefined),
    ...readExtras(body),
  }
}
