// What an MCP server has made of its tools: shown, and taken on by somebody who has seen it.
import Type from 'typebox'
import type { ToolDefinition } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import type { Edge, Route } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'

const AcceptSchema = Type.Object(
  {
    digest: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Of the offered definition, as it was shown: nothing newer is accepted.',
    }),
  },
  { additionalProperties: false },
)

const NAME = parameter('path', 'name', 'The name of the tool.')
const ANSWER = { 200: { description: 'The definition.', ...json(ref('tool-definition')) }, ...REFUSALS }

export function mcpRoutes(edge: Edge): readonly Route[] {
  const { mcp } = edge.runtime
  const body = jsonBody(edge, AcceptSchema)
  return [
    {
      method: 'GET',
      path: '/v1/tools/{name}/definition',
      access: 'resource:read',
      whileDraining: true,
      async handle({ request, reply, caller, params }) {
        readQuery(request.query, [])
        const name = params.name ?? ''
        const definition = mcp.definition(caller.namespace, name)
        if (definition === undefined) throw notMade(name)
        sendJson(reply, 200, encode(definition))
      },
      doc: {
        operationId: 'getToolDefinition',
        summary: 'Show what was taken on of a tool of an MCP server, and what its server says by now',
        tags: ['resources'],
        parameters: [NAME],
        responses: ANSWER,
      },
    },
    {
      method: 'POST',
      path: '/v1/tools/{name}/accept',
      access: 'mcp:write',
      whileDraining: false,
      async handle({ request, reply, caller, params }) {
        readQuery(request.query, [])
        const { digest } = await body.read(request)
        const name = params.name ?? ''
        const outcome = await mcp.accept(caller.namespace, name, digest, caller.actor)
        switch (outcome.kind) {
          case 'accepted':
            return sendJson(reply, 200, encode(outcome.definition))
          case 'not-found':
            throw notMade(name)
          case 'not-quarantined':
            throw refused(`The tool '${name}' is not quarantined.`, 'There is nothing to accept.', {})
          case 'changed': {
            const fix = `Look at GET /v1/tools/${name}/definition again, and accept what it shows.`
            const message = `The server offers another definition of '${name}' by now than the one that was seen.`
            throw refused(message, fix, { offered: outcome.offered })
          }
          default: {
            const message = `What the server offers as '${name}' cannot be taken on: ${outcome.why}.`
            throw refused(message, 'Have it mended on the server, or change the labels there.', {})
          }
        }
      },
      doc: {
        operationId: 'acceptToolDefinition',
        summary: 'Take on what an MCP server has made of a tool',
        description: 'Approvals and grants of the tool before do not hold for it.',
        tags: ['resources'],
        parameters: [NAME],
        requestBody: body.doc,
        responses: ANSWER,
      },
    },
  ]
}

function encode(definition: ToolDefinition): JsonObject {
  return JSON.parse(JSON.stringify(definition)) as JsonObject
}

function notMade(name: string): Refusal {
  const message = `No tool '${name}' of an MCP server in this namespace.`
  return new Refusal({
    failure: 'tool-unknown',
    message,
    fix: 'Use the name of one that GET /v1/tools lists.',
  })
}

function refused(message: string, fix: string, details: JsonObject): Refusal {
  const violations = [{ path: '/digest', message: 'cannot be accepted' }]
  return new Refusal({
    failure: 'envelope-invalid',
    status: 409,
    message,
    fix,
    details: { violations, ...details },
  })
}
