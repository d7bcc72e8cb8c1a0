// Trying out whether a tool does what its declaration says about repeats.
import Type from 'typebox'
import { defined } from '../contract/dialect/decoding.ts'
import { anyJson } from '../contract/schema/common.ts'
import { StoreUnavailable } from '../runtime.ts'
import type { Edge, Route } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendFailure, sendJson } from './reply.ts'

const VerifySchema = Type.Object(
  {
    version: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'A semver range; the highest when absent.' }),
    ),
    operation: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    input: Type.Optional(anyJson('What to send, twice, with one key.')),
    accept: Type.Optional(
      Type.Boolean({
        description: 'One real effect is meant. Without it only a tool without effects is tried.',
      }),
    ),
  },
  { additionalProperties: false },
)

export function verifyRoutes(edge: Edge): readonly Route[] {
  const body = jsonBody(edge, VerifySchema)
  return [
    {
      method: 'POST',
      path: '/v1/tools/{name}/verify',
      access: 'caller',
      whileDraining: false,
      async handle({ request, reply, caller, params }) {
        readQuery(request.query, [])
        const { version, operation, input, accept = false } = await body.read(request)
        const verdict = await edge.runtime
          .as(caller)
          .verifyTool(params.name ?? '', { accept, ...defined({ version, operation, input }) })
          .catch(refuseAfterCall)
        if (verdict.kind === 'refused') return sendFailure(edge, request, reply, verdict.failure)
        sendJson(reply, 200, {
          verdict: verdict.kind,
          tool: verdict.tool,
          version: verdict.version,
          digest: verdict.digest,
          declared: verdict.declared,
          detail: verdict.detail,
          call_id: verdict.callId,
        })
      },
      doc: {
        operationId: 'verifyTool',
        summary: 'Try whether a tool keeps what it declares about repeats',
        description:
          'Sends one key twice and compares what comes back. The caller needs to be allowed to call it.',
        tags: ['resources'],
        parameters: [parameter('path', 'name', 'The name of the tool.')],
        requestBody: body.doc,
        responses: { 200: { description: 'What was found.', ...json(ref('tool-verdict')) }, ...REFUSALS },
      },
    },
  ]
}

/** The call that comes first tells of its own failures: a store that is away only now has seen the tool called. */
function refuseAfterCall(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error
  throw new Refusal({
    failure: 'outcome-not-recorded',
    message: 'The tool was called; whether it keeps what it declares could not be found out.',
  })
}
