// Effects about which something is left to do or to find out, for people who look after them.
import { type EntryState, NEEDS_A_LOOK } from '../contract/entry.ts'
import { failureRow } from '../contract/failures.ts'
import { fixOf } from '../contract/projection.ts'
import type { OpenEntry } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import { isUuid } from '../util/uuid.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import type { Edge, Route } from './edge.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readCount, readList, readQuery } from './query.ts'
import { sendJson } from './reply.ts'

/** Every state that is not the end of an entry. */
const OPEN_ENTRY_STATES = [
  'awaiting-approval',
  'intended',
  'sent',
  'unknown',
  'reconciling',
  'prepared',
  'committing',
  'commit-unknown',
  'rolling-back',
  'compensating',
  'compensation-failed',
] as const satisfies readonly EntryState[]

const PAGE_DEFAULT = 50
const PAGE_MAX = 200

export function entryRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/entries',
      access: 'caller',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        const query = readQuery(request.query, ['limit', 'cursor'], ['state'])
        const states = readList(request.query, 'state', OPEN_ENTRY_STATES) ?? NEEDS_A_LOOK
        const limit = readCount('limit', query.limit, PAGE_DEFAULT, PAGE_MAX)
        const before = query.cursor === undefined ? undefined : decodeCursor('entries', query.cursor, isUuid)
        const { rows, next_cursor } = await pageOf(
          'entries',
          { limit, ...(before === undefined ? {} : { before }) },
          (page) => edge.runtime.as(caller).listOpen({ ...page, states }),
          ({ entryId }) => entryId,
        )
        sendJson(reply, 200, { entries: rows.map(encodeEntry), next_cursor })
      },
      doc: {
        operationId: 'listEntries',
        summary: 'List effects that are open, newest first',
        description: `Without \`state\`: ${NEEDS_A_LOOK.join(', ')}. Other callers than the admin see their own.`,
        tags: ['calls'],
        parameters: [
          parameter('query', 'state', 'A state; may be repeated.', {
            type: 'array',
            items: { enum: OPEN_ENTRY_STATES },
            default: NEEDS_A_LOOK,
          }),
          parameter('query', 'limit', 'Entries on one page.', {
            type: 'integer',
            minimum: 1,
            maximum: PAGE_MAX,
            default: PAGE_DEFAULT,
          }),
          parameter('query', 'cursor', 'As `next_cursor` of the page before.'),
        ],
        responses: { 200: { description: 'A page.', ...json(ref('entry-list')) }, ...REFUSALS },
      },
    },
  ]
}

function encodeEntry(entry: OpenEntry): JsonObject {
  const { failure, since, next } = entry
  return {
    entry_id: entry.entryId,
    call_id: entry.callId,
    request_id: entry.requestId,
    actor: entry.actor,
    tool: { name: entry.tool, version: entry.version, operation: entry.operation },
    state: entry.state,
    attempts: entry.attempts,
    created_at: timeOf(entry.createdAt),
    ...(since === undefined ? {} : { since: timeOf(since) }),
    ...(failure === undefined
      ? {}
      : {
          error: {
            failure: failure.id,
            dotted_code: failureRow(failure.id).dotted,
            message: failure.message,
            fix: fixOf(failure, entry.state === 'compensation-failed' ? 'done' : 'unknown'),
            retryable: failure.retryable,
          },
        }),
    ...(next === undefined ? {} : { next: { kind: next.kind, at: timeOf(next.at) } }),
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
