// Approvals as ToolApproval resources, for programs that were written for that shape. Only the runtime makes them.
import Type from 'typebox'
import type { Approval, ApprovalState } from '../contract/approval.ts'
import { showApproval } from '../contract/shown-approval.ts'
import { API_VERSION } from '../resource/document.ts'
import type { ApprovalResult } from '../runtime-api.ts'
import { formatDuration } from '../util/duration.ts'
import type { JsonObject, Violation } from '../util/json.ts'
import {
  APPROVAL_QUERY,
  approvalIdOf,
  approvalUnknown,
  listApprovals,
  said,
  sendDecided,
} from './approvals.ts'
import type { CallerExchange, Edge, Route } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { REASON } from './reason.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'

const NAME = parameter('path', 'name', 'The name of the approval, which is its id.')

const DecisionSchema = Type.Object(
  {
    comment: Type.Optional(Type.String({ ...REASON, description: 'Kept with the decision.' })),
    reason: Type.Optional(Type.String({ ...REASON, description: 'The same.' })),
    decided_by: Type.Optional(
      Type.String({ description: 'The caller itself; anybody else is refused. Leave it out.' }),
    ),
  },
  { additionalProperties: false },
)

export function toolApprovalRoutes(edge: Edge): readonly Route[] {
  const body = jsonBody(edge, DecisionSchema, ({ comment, reason }) => [
    ...(comment === undefined ? [] : said('/comment', comment)),
    ...(reason === undefined ? [] : said('/reason', reason)),
    ...(comment !== undefined && reason !== undefined
      ? [{ path: '/reason', message: 'says what comment says as well: give one of them' }]
      : []),
  ])

  async function read({ request, caller }: CallerExchange): Promise<string | undefined> {
    readQuery(request.query, [])
    const { comment, reason, decided_by } = await body.read(request)
    // Who decides is who asks: a name in a body is a claim, and none that is believed.
    if (decided_by !== undefined && decided_by !== caller.actor) {
      throw invalid({ path: '/decided_by', message: `is not who asks, ${caller.actor}: leave it out` })
    }
    return comment ?? reason
  }

  function decision(
    verb: 'approve' | 'deny',
    decide: (exchange: CallerExchange, id: string, text: string | undefined) => Promise<ApprovalResult>,
  ): Route {
    return {
      method: 'POST',
      path: `/v1/tool-approvals/{name}/${verb}`,
      access: 'caller',
      whileDraining: false,
      async handle(exchange) {
        const id = approvalIdOf(exchange.params.name)
        const text = await read(exchange)
        sendDecided(edge, exchange, await decide(exchange, id, text), encodeToolApproval)
      },
      doc: {
        operationId: `${verb}ToolApproval`,
        summary: `As POST /v1/approvals/{id}/${verb}`,
        description:
          verb === 'deny' ? 'Needs `reason` or `comment`: the caller is told.' : 'May have a `comment`.',
        tags: ['approvals'],
        parameters: [NAME],
        requestBody: body.doc,
        responses: { 200: { description: 'Counted.', ...json(ref('tool-approval')) }, ...REFUSALS },
      },
    }
  }

  return [
    {
      method: 'GET',
      path: '/v1/tool-approvals',
      access: 'caller',
      whileDraining: true,
      async handle(exchange) {
        const { rows, next_cursor } = await listApprovals(edge, exchange)
        sendJson(exchange.reply, 200, { tool_approvals: rows.map(encodeToolApproval), next_cursor })
      },
      doc: {
        operationId: 'listToolApprovals',
        summary: 'List approvals as ToolApproval resources, newest first',
        tags: ['approvals'],
        parameters: APPROVAL_QUERY,
        responses: { 200: { description: 'A page.', ...json(ref('tool-approval-list')) }, ...REFUSALS },
      },
    },
    {
      method: 'GET',
      path: '/v1/tool-approvals/{name}',
      access: 'caller',
      whileDraining: true,
      async handle({ request, reply, caller, params }) {
        readQuery(request.query, [])
        const approval = await edge.runtime.as(caller).getApproval(approvalIdOf(params.name))
        if (approval === undefined) throw approvalUnknown()
        sendJson(reply, 200, encodeToolApproval(approval))
      },
      doc: {
        operationId: 'getToolApproval',
        summary: 'Show an approval as a ToolApproval resource',
        tags: ['approvals'],
        parameters: [NAME],
        responses: { 200: { description: 'The resource.', ...json(ref('tool-approval')) }, ...REFUSALS },
      },
    },
    decision('approve', ({ caller }, id, comment) =>
      edge.runtime.as(caller).approve(id, comment === undefined ? {} : { comment }),
    ),
    decision('deny', ({ caller }, id, reason) => {
      if (reason === undefined) throw invalid({ path: '/reason', message: 'is missing: say why' })
      return edge.runtime.as(caller).deny(id, { reason })
    }),
  ]
}

function invalid(violation: Violation): Refusal {
  const { path, message } = violation
  return new Refusal({
    failure: 'envelope-invalid',
    message: `The body is not a valid request: ${path} ${message}.`,
    details: { violations: [{ path, message }] },
  })
}

/** That shape has four phases: what can no longer be decided and was not denied has expired. */
const PHASES: Readonly<Record<ApprovalState, string>> = Object.freeze({
  pending: 'Pending',
  approved: 'Approved',
  used: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  stale: 'Expired',
  canceled: 'Expired',
})

/** From the mildest on; the shape has room for one. */
const CLASSES = ['read', 'write', 'delete', 'admin']

export function encodeToolApproval(approval: Approval): JsonObject {
  const { binding, taskId, agent, createdAt, expiresAt, decisions, state } = approval
  const { input } = showApproval(approval)
  const wanted = state === 'denied' ? 'denied' : 'approved'
  const last = state === 'pending' ? undefined : decisions.findLast(({ decision }) => decision === wanted)
  const worst = approval.operationClasses.toSorted((a, b) => CLASSES.indexOf(b) - CLASSES.indexOf(a))[0]
  return {
    apiVersion: API_VERSION,
    kind: 'ToolApproval',
    metadata: {
      name: approval.id,
      namespace: approval.namespace,
      resourceVersion: approval.revision,
      createdAt: new Date(createdAt).toISOString(),
    },
    spec: {
      // Calls that belong to no task stand for themselves.
      task_ref: taskId ?? approval.callId,
      tool: binding.tool,
      ...(worst === undefined ? {} : { operation_class: worst }),
      agent: agent ?? approval.requester,
      ...(input === undefined ? {} : { input }),
      reason: approval.reasons.join('; '),
      ttl: formatDuration(Math.max(0, expiresAt - createdAt)),
    },
    status: {
      phase: PHASES[state],
      ...(last === undefined
        ? {}
        : {
            decision: last.decision,
            decided_by: last.by,
            decided_at: new Date(last.at).toISOString(),
            ...(last.comment === undefined ? {} : { comment: last.comment }),
          }),
      expires_at: new Date(expiresAt).toISOString(),
    },
  }
}
