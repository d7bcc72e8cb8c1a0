// Reads a tool's reply in the short envelope of seed 002.
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { LEGACY_STATUSES, LegacyResponseSchema } from '../schema/legacy.ts'
import type { ToolReply } from './dialect.ts'
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

const LEGACY_REPLY = {
  type: 'object',
  required: ['request_id', 'status'],
  properties: {
    request_id: { type: 'string' },
    status: { enum: [...LEGACY_STATUSES] },
    error: {
      type: ['object', 'null'],
      required: ['tool_code'],
      properties: {
        tool_code: { type: 'string', minLength: 1, maxLength: 128 },
        tool_reason: { type: 'string' },
        retryable: { type: 'boolean' },
      },
    },
    commit_token: { type: ['string', 'null'] },
  },
} satisfies JsonObject

const KNOWN_FIELDS: ReadonlySet<string> = new Set(Object.keys(LegacyResponseSchema.properties))

export function createLegacyReplyReader(): ReplyReader {
  const schema = lazySchema(LEGACY_REPLY)
  return {
    recognisesReply(body) {
      if ('result' in body || (isJsonObject(body.error) && 'tool_code' in body.error)) return true
      return body.status === 'success' && !('output' in body)
    },
    decodeReply(body, expected) {
      const violations = [...schema.check(body)]
      if (body.request_id !== undefined && body.request_id !== expected.requestId) {
        violations.push({ path: '/request_id', message: 'must be the request id that was sent' })
      }
      const success = body.status === 'success'
      if (violations.length === 0) violations.push(...mixedViolations(success, body.error))
      return violations.length > 0 ? malformed(violations) : read(body, success)
    },
    looksLikeEnvelope: (body, expected) =>
      hasOnly(body, KNOWN_FIELDS) &&
      body.request_id === expected.requestId &&
      (LEGACY_STATUSES as readonly unknown[]).includes(body.status),
  }
}

function read(body: JsonObject, success: boolean): ToolReply {
  if (success || !isJsonObject(body.error)) {
    return { kind: 'success', output: body.result ?? null, ...readExtras(body), ...readCommitToken(body) }
  }
  const { tool_code: code, tool_reason: reason, retryable, details } = body.error
  return {
    kind: 'failure',
    dialect: 'legacy',
    status: 'error',
    code: String(code),
    message: readMessage(reason, code),
    ...(typeof retryable === 'boolean' ? { retryable } : {}),
    ...readDetails(details),
    harmless: saysHarmless(body.effect, isJsonObject(details) ? details.effect : undefined),
    ...readExtras(body),
  }
}
