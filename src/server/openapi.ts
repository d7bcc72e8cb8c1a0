// The OpenAPI 3.1 document, made from the routes that are registered and the schemas that are checked against.
import { CONTRACT_REVISION } from '../contract/version.ts'
import type { JsonObject } from '../util/json.ts'
import type { Route } from './edge.ts'
import { componentSchemas } from './openapi-parts.ts'
import { sendJson } from './reply.ts'

/** `routes` are all of them, this one included. */
export function openapiRoute(routes: () => readonly Route[]): Route {
  let document: JsonObject | undefined
  return {
    method: 'GET',
    path: '/openapi.json',
    access: 'anyone',
    whileDraining: true,
    async handle({ reply }) {
      document ??= openapiDocument(routes())
      sendJson(reply, 200, document)
    },
    doc: {
      operationId: 'openapi',
      summary: 'This document',
      tags: ['operation'],
      responses: {
        200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
  }
}

export function openapiDocument(routes: readonly Route[]): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Writ',
      description:
        'A governed tool runtime for AI agents: every call validated, authorised, sent at most once, and proven.',
      version: CONTRACT_REVISION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'calls', description: 'Calling tools.' },
      { name: 'sagas', description: 'Calls that stand or fall together.' },
      { name: 'resources', description: 'What tools there are.' },
      { name: 'identity', description: 'Who calls, and the tokens that say so.' },
      { name: 'approvals', description: 'What people have to decide.' },
      { name: 'audit', description: 'What was decided and done, to be verified elsewhere.' },
      { name: 'operation', description: 'Running the server.' },
    ],
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operationOf(route: Route): JsonObject {
  const { doc, access } = route
  const parameters = [
    ...(doc.parameters ?? []),
    ...(access === 'anyone' || access === 'local' ? [] : NAMESPACE),
  ]
  return {
    operationId: doc.operationId,
    summary: doc.summary,
    ...(doc.description === undefined ? {} : { description: doc.description }),
    tags: doc.tags,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(doc.requestBody === undefined ? {} : { requestBody: doc.requestBody }),
    responses: doc.responses,
    // An empty requirement beside the token: from the machine itself none is needed.
    security: access === 'anyone' ? [] : access === 'local' ? [{}, { token: [] }] : [{ token: [] }],
  }
}

const NAMESPACE: readonly JsonObject[] = [
  {
    name: 'namespace',
    in: 'query',
    description: 'The namespace to work in; that of the token when absent.',
    required: false,
    schema: { type: 'string', pattern: '^[a-z0-9][a-z0-9._-]{0,127}$' },
  },
  {
    name: 'Writ-Namespace',
    in: 'header',
    description: 'The same as a header.',
    required: false,
    schema: { type: 'string' },
  },
]
