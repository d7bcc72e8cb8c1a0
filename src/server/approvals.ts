// Approvals over HTTP: what waits for people, and what they decide (S45).
import Type from 'typebox'
import { APPROVAL_STATES, type Approval } from '../contract/approval.ts'
import { showApproval } from '../contract/shown-approval.ts'
import { isActor } from '../identity/caller-name.ts'
import type { ApprovalResult, ApprovalView } from '../runtime-api.ts'
import type { JsonObject, Violation } from '../util/json.ts'
import { isUuid } from '../util/uuid.ts'
import { decodeCursor, type Page, pageOf } from './cursor.ts'
import type { CallerExchange, Edge, Route, RouteDoc } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readCount, readList, readQuery } from './query.ts'
import { REASON, reasonViolations } from './reason.ts'
import { Refusal } from './refusal.ts'
import { sendFailure, sendJson } from './reply.ts'

const PAGE_DEFAULT = 50
const PAGE_MAX = 200

const ApproveSchema = Type.Object(
  { comment: Type.Optional(Type.String({ ...REASON, description: 'Kept with the decision.' })) },
  { additionalProperties: false },
)
const DenySchema = Type.Object({ reason: REASON }, { additionalProperties: false })
const DelegateSchema = Type.Object(
  { to: Type.String({ minLength: 1, maxLength: 256, description: 'The actor who decides instead.' }) },
  { additionalProperties: false },
)

export const APPROVAL_ID = parameter('path', 'id', 'The id of the approval.')
export const APPROVAL_QUERY: readonly JsonObject[] = [
  parameter('query', 'state', 'A state; may be repeated.', {
    type: 'array',
    items: { enum: APPROVAL_STATES },
  }),
  parameter('query', 'tool', 'Only approvals for this tool.'),
  parameter('query', 'requester', 'Only what this actor asked for.'),
  parameter('query', 'limit', 'Approvals on one page.', {
    type: 'integer',
    minimum: 1,
    maximum: PAGE_MAX,
    default: PAGE_DEFAULT,
  }),
  parameter('query', 'cursor', 'As `next_cursor` of the page before.'),
]

export function approvalRoutes(edge: Edge): readonly Route[] {
  const approve = jsonBody(edge, ApproveSchema, ({ comment }) =>
    comment === undefined ? [] : said('/comment', comment),
  )
  const deny = jsonBody(edge, DenySchema, ({ reason }) => reasonViolations(reason))
  const delegate = jsonBody(edge, DelegateSchema, ({ to }) =>
    isActor(to) ? [] : [{ path: '/to', message: 'is no name of an actor' }],
  )

  function decision(
    verb: string,
    decide: (exchange: CallerExchange, id: string) => Promise<ApprovalResult>,
    doc: Omit<RouteDoc, 'tags' | 'parameters' | 'responses'> & { readonly done: string },
  ): Route {
    const { done, ...rest } = doc
    return {
      method: 'POST',
      path: `/v1/approvals/{id}/${verb}`,
      access: 'caller',
      whileDraining: false,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const result = await decide(exchange, approvalIdOf(exchange.params.id))
        sendDecided(edge, exchange, result, encodeApproval)
      },
      doc: {
        ...rest,
        tags: ['approvals'],
        parameters: [APPROVAL_ID],
        responses: { 200: { description: done, ...json(ref('approval')) }, ...REFUSALS },
      },
    }
  }

  return [
    {
      method: 'GET',
      path: '/v1/approvals',
      access: 'caller',
      whileDraining: true,
      async handle(exchange) {
        const { rows, next_cursor } = await listApprovals(edge, exchange)
        sendJson(exchange.reply, 200, { approvals: rows.map(showApproval), next_cursor })
      },
      doc: {
        operationId: 'listApprovals',
        summary: 'List approvals, newest first',
        description: 'Those that the caller may decide or look at, and those that it asked for itself.',
        tags: ['approvals'],
        parameters: APPROVAL_QUERY,
        responses: { 200: { description: 'A page.', ...json(ref('approval-list')) }, ...REFUSALS },
      },
    },
    {
      method: 'GET',
      path: '/v1/approvals/{id}',
      access: 'caller',
      whileDraining: true,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const id = approvalIdOf(exchange.params.id)
        const approval = await edge.runtime.as(exchange.caller).getApproval(id)
        if (approval === undefined) throw approvalUnknown()
        sendJson(exchange.reply, 200, encodeApproval(approval))
      },
      doc: {
        operationId: 'getApproval',
        summary: 'Show an approval, with the masked input',
        description:
          'For a write, `diff` says what differs from the last call of its kind that was agreed to.',
        tags: ['approvals'],
        parameters: [APPROVAL_ID],
        responses: { 200: { description: 'The approval.', ...json(ref('approval')) }, ...REFUSALS },
      },
    },
    decision(
      'approve',
      async ({ request, caller }, id) => edge.runtime.as(caller).approve(id, await approve.read(request)),
      {
        operationId: 'approve',
        summary: 'Agree to the call that an approval is about',
        description:
          'To exactly what was shown. The call goes on by itself once all who are needed have agreed; until then the state stays `pending`.',
        requestBody: approve.doc,
        done: 'Counted.',
      },
    ),
    decision(
      'deny',
      async ({ request, caller }, id) => edge.runtime.as(caller).deny(id, await deny.read(request)),
      {
        operationId: 'deny',
        summary: 'Refuse the call that an approval is about',
        description: 'One refusal is enough.',
        requestBody: deny.doc,
        done: 'Denied.',
      },
    ),
    decision(
      'delegate',
      async ({ request, caller }, id) => edge.runtime.as(caller).delegate(id, await delegate.read(request)),
      {
        operationId: 'delegateApproval',
        summary: 'Let somebody else decide in place of the caller',
        requestBody: delegate.doc,
        done: 'Handed over.',
      },
    ),
    decision(
      'override',
      async ({ request, caller }, id) => edge.runtime.as(caller).overrideDenial(id, await deny.read(request)),
      {
        operationId: 'overrideDenial',
        summary: 'Let a denial no longer count for its key',
        description:
          'The denial stays on record, with a new record that is linked to it. The caller may ask again, and people are asked anew. Needs `approval:override`.',
        requestBody: deny.doc,
        done: 'The approval, as it was decided.',
      },
    ),
  ]
}

export async function listApprovals(
  edge: Edge,
  { request, caller }: CallerExchange,
): Promise<Page<Approval>> {
  const query = readQuery(request.query, ['tool', 'requester', 'limit', 'cursor'], ['state'])
  const states = readList(request.query, 'state', APPROVAL_STATES)
  const limit = readCount('limit', query.limit, PAGE_DEFAULT, PAGE_MAX)
  const before = query.cursor === undefined ? undefined : decodeCursor('approvals', query.cursor, isUuid)
  return pageOf(
    'approvals',
    { limit, ...(before === undefined ? {} : { before }) },
    (page) =>
      edge.runtime.as(caller).listApprovals({
        ...page,
        ...(states === undefined ? {} : { states }),
        ...(query.tool === undefined ? {} : { tool: query.tool }),
        ...(query.requester === undefined ? {} : { requester: query.requester }),
      }),
    ({ id }) => id,
  )
}

/** What came of a decision, in the shape of the route that was asked. */
export function sendDecided(
  edge: Edge,
  { request, reply }: CallerExchange,
  result: ApprovalResult,
  encode: (approval: ApprovalView) => JsonObject,
): void {
  if (result.kind === 'not-found') throw approvalUnknown()
  if (result.kind === 'refused') sendFailure(edge, request, reply, result.failure)
  else sendJson(reply, 200, encode(result.approval))
}

/** What can be no id names no approval, and is not asked for. */
export function approvalIdOf(id = ''): string {
  if (!isUuid(id)) throw approvalUnknown()
  return id
}

export function approvalUnknown(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'No such approval in this namespace that the caller may see.',
    fix: "Check the id and the namespace; GET /v1/approvals, or 'writ approvals --state all', lists them.",
    details: { violations: [{ path: '/path/id', message: 'is no approval that the caller may see' }] },
  })
}

/** As a reason, under another name. */
export function said(path: string, text: string): readonly Violation[] {
  return reasonViolations(text).map(({ message }) => ({ path, message }))
}

function encodeApproval(approval: ApprovalView): JsonObject {
  const { diff } = approval
  if (diff === undefined) return showApproval(approval)
  const { approvalId, callId, at, changes } = diff
  return {
    ...showApproval(approval),
    diff: {
      approval_id: approvalId,
      call_id: callId,
      at: new Date(at).toISOString(),
      changes: changes.map(({ op, path, from, to }) => ({
        op,
        path,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
      })),
    },
  }
}
