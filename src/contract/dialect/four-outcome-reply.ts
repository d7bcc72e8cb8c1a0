// Reads a tool's reply in four-outcome. Its schema is closed and checked to the letter, as 004 demands of a runtime.
import { isJsonObject, type JsonObject, type Violation } from '../../util/json.ts'
import { isUuid } from '../../util/uuid.ts'
import { FOUR_OUTCOME_STATUSES, FourOutcomeResponseSchema } from '../schema/four-outcome.ts'
import type { ExpectedReply, ToolReply } from './dialect.ts'
import { lazySchema } from './lazy-schema.ts'
import {
  malformed,
  mixedViolations,
  type ReplyReader,
  readCommitToken,
  readDetails,
  readExtras,
  readMessage,
  saysHarmless,
} from './reading.ts'

/** 004 names this status in its text and forbids it in its schema. It is read, and never written (S6). */
const PREPARED = 'success_prep'

const STATUSES: ReadonlySet<unknown> = new Set([...FOUR_OUTCOME_STATUSES, PREPARED])

export function createFourOutcomeReplyReader(): ReplyReader {
  const schema = lazySchema(FourOutcomeResponseSchema)
  return {
    recognisesReply: (body) => 'call_id' in body || (STATUSES.has(body.status) && body.status !== 'success'),
    decodeReply(body, expected) {
      const prepared = body.status === PREPARED
      const reply = prepared ? { ...body, status: 'success' } : body
      const violations = [...schema.check(reply), ...idViolations(body, expected)]
      if (violations.length === 0) violations.push(...meaningViolations(reply, prepared))
      return violations.length > 0 ? malformed(violations) : read(reply)
    },
    looksLikeEnvelope: (body) =>
      typeof body.call_id === 'string' &&
      STATUSES.has(body.status) &&
      isJsonObject(body.metrics) &&
      isJsonObject(body.provenance),
  }
}

/** The tool answers with the id that it was sent: the caller's where that is a UUID, else ours. */
function idViolations(body: JsonObject, expected: ExpectedReply): readonly Violation[] {
  const sent = isUuid(expected.requestId) ? expected.requestId : expected.callId
  const same = typeof body.call_id === 'string' && body.call_id.toLowerCase() === sent.toLowerCase()
  return same || body.call_id === undefined
    ? []
    : [{ path: '/call_id', message: 'must be the call id that was sent' }]
}

function meaningViolations(reply: JsonObject, prepared: boolean): readonly Violation[] {
  const mixed = mixedViolations(reply.status === 'success', reply.error)
  if (mixed.length > 0) return mixed
  if (prepared && readCommitToken(reply).commitToken === undefined) {
    return [{ path: '/commit_token', message: 'must be there when an effect was prepared' }]
  }
  if (!isJsonObject(reply.error)) return []
  const { code } = reply.error
  return typeof code === 'string' && code !== '' && code.length <= 128
    ? []
    : [{ path: '/error/code', message: 'must be a code of the error taxonomy' }]
}

function read(reply: JsonObject): ToolReply {
  if (!isJsonObject(reply.error)) {
    return {
      kind: 'success',
      output: reply.output ?? null,
      ...readExtras(reply, 'metrics'),
      ...readCommitToken(reply),
    }
  }
  const { code, message, details } = reply.error
  const { provenance } = reply
  return {
    kind: 'failure',
    dialect: 'four-outcome',
    status: String(reply.status),
    code: String(code),
    message: readMessage(message, code),
    retryable: reply.status === 'retryable_error',
    ...readDetails(details),
    harmless: saysHarmless(
      isJsonObject(provenance) ? provenance.effect : undefined,
      isJsonObject(details) ? details.effect : undefined,
    ),
    ...readExtras(reply, 'metrics'),
  }
}
