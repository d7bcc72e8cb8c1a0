// Tools as resources: list, read, create, replace, delete, each with optimistic concurrency.
import type { FastifyReply } from 'fastify'
import type { ApplyOutcome } from '../runtime-api.ts'
import type { ResourceRow } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { askedNamespace } from './auth.ts'
import { readBody } from './body.ts'
import type { CallerExchange, Edge, Route } from './edge.ts'
import { placeProblems, readToolManifest, textExpecting } from './manifest-body.ts'
import { json, MANIFEST_BODY, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'
import { resourceOfNative, resourceOfRow, sortResources } from './tool-resource.ts'

interface Shown {
  readonly name: string
  readonly version: string
  readonly resource: JsonObject
  /** Absent for a tool of the program itself. */
  readonly row?: ResourceRow
}

/** The resourceVersion that a write replaces. */
type Expect = (
  inBody: number | undefined,
  rows: () => Promise<readonly ResourceRow[]>,
) => number | Promise<number>

export function toolRoutes(edge: Edge): readonly Route[] {
  const { resources } = edge.runtime

  async function shown(namespace: string, name?: string): Promise<readonly Shown[]> {
    const rows = await resources.list({ namespace, kind: 'Tool', ...(name === undefined ? {} : { name }) })
    const natives = edge.runtime.tools(namespace).filter((tool) => tool.type === 'native')
    return sortResources<Shown>([
      ...rows.map((row) => ({ name: row.name, version: row.version, resource: resourceOfRow(row), row })),
      ...natives
        .filter((tool) => name === undefined || tool.name === name)
        .map((tool) => ({ name: tool.name, version: tool.version, resource: resourceOfNative(tool) })),
    ])
  }

  async function rowsOf(namespace: string, name: string, version?: string): Promise<readonly ResourceRow[]> {
    const rows = await resources.list({ namespace, kind: 'Tool', name })
    return version === undefined ? rows : rows.filter((row) => row.version === version)
  }

  async function write(exchange: CallerExchange, status: 200 | 201, expect: Expect): Promise<void> {
    const { request, reply, caller, params } = exchange
    readQuery(request.query, [])
    const body = readToolManifest(await readBody(request, 'manifest', edge.bodyLimit), params.name)
    if (!body.ok) return sendProblems(reply, [], body.problems)
    const { name, version, document } = body
    const namespace = askedNamespace(request) ?? body.namespace ?? caller.namespace
    const expected = await expect(body.resourceVersion, () => rowsOf(namespace, name, version))
    const text = textExpecting(document, expected)
    const outcome = await resources.apply([{ text, file: 'body' }], { namespace })
    const [found] = await rowsOf(namespace, name, version)
    if (outcome.ok && found !== undefined) {
      return sendTool(reply, status, { name, version, resource: resourceOfRow(found), row: found })
    }
    if ((found?.resourceVersion ?? 0) !== expected) throw conflict(expected, found)
    sendProblems(reply, outcome.diff, placeProblems(document, outcome.problems))
  }

  return [
    {
      method: 'GET',
      path: '/v1/tools',
      access: 'admin',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        sendJson(reply, 200, { tools: (await shown(caller.namespace)).map((tool) => tool.resource) })
      },
      doc: {
        operationId: 'listTools',
        summary: 'List tools',
        tags: ['resources'],
        responses: {
          200: { description: 'Every version of every tool.', ...json(ref('resource-list')) },
          ...REFUSALS,
        },
      },
    },
    {
      method: 'POST',
      path: '/v1/tools',
      access: 'admin',
      whileDraining: false,
      handle: (exchange) => write(exchange, 201, none),
      doc: {
        operationId: 'createTool',
        summary: 'Create a tool, or a new version of one',
        tags: ['resources'],
        requestBody: MANIFEST_BODY,
        responses: {
          201: { description: 'Created.', ...json(ref('resource')) },
          422: { description: 'Refused; `problems` says why.', ...json(ref('apply-result')) },
          ...REFUSALS,
        },
      },
    },
    {
      method: 'GET',
      path: '/v1/tools/{name}',
      access: 'admin',
      whileDraining: true,
      async handle(exchange) {
        const { caller, params } = exchange
        const { version } = readQuery(exchange.request.query, ['version'])
        const all = await shown(caller.namespace, params.name)
        const one = version === undefined ? all[0] : all.find((tool) => tool.version === version)
        if (one === undefined) throw toolUnknown(params.name, version, all)
        sendTool(exchange.reply, 200, one)
      },
      doc: {
        operationId: 'getTool',
        summary: 'Show a tool',
        tags: ['resources'],
        parameters: [
          parameter('path', 'name', 'The name of the tool.'),
          parameter('query', 'version', 'An exact version; the highest when absent.'),
        ],
        responses: { 200: { description: 'Its manifest.', ...json(ref('resource')) }, ...REFUSALS },
      },
    },
    {
      method: 'PUT',
      path: '/v1/tools/{name}',
      access: 'admin',
      whileDraining: false,
      handle: (exchange) =>
        write(exchange, 200, async (inBody, rows) => {
          const asked = readIfMatch(exchange.request.headers['if-match'])
          if (asked !== '*') return agree(asked, inBody)
          const [found] = await rows()
          if (found === undefined) throw toolUnknown(exchange.params.name, undefined, [])
          return found.resourceVersion
        }),
      doc: {
        operationId: 'replaceTool',
        summary: 'Replace a version of a tool',
        description: 'Needs the resourceVersion that was read, in If-Match or in metadata.resourceVersion.',
        tags: ['resources'],
        parameters: [
          parameter('path', 'name', 'The name of the tool.'),
          parameter('header', 'If-Match', 'The ETag that was read, or `*` for whatever is there.'),
        ],
        requestBody: MANIFEST_BODY,
        responses: {
          200: { description: 'Replaced.', ...json(ref('resource')) },
          422: { description: 'Refused; `problems` says why.', ...json(ref('apply-result')) },
          ...REFUSALS,
        },
      },
    },
    {
      method: 'DELETE',
      path: '/v1/tools/{name}',
      access: 'admin',
      whileDraining: false,
      async handle({ request, reply, caller, params }) {
        const name = params.name ?? ''
        const { version } = readQuery(request.query, ['version'])
        const asked = readIfMatch(request.headers['if-match'])
        const rows = await rowsOf(caller.namespace, name, version)
        if (typeof asked === 'number' && rows.length > 1) throw versionNeeded(rows)
        const result = await resources.delete({
          namespace: caller.namespace,
          kind: 'Tool',
          name,
          ...(version === undefined ? {} : { version }),
          ...(typeof asked === 'number' ? { expect: asked } : {}),
        })
        if (result === 'not-found') throw toolUnknown(name, version, [])
        if (result === 'conflict') throw conflict(asked, (await rowsOf(caller.namespace, name, version))[0])
        reply.code(204).send()
      },
      doc: {
        operationId: 'deleteTool',
        summary: 'Delete a tool, or one version of it',
        description: 'Calls under way go on with the version they are pinned to.',
        tags: ['resources'],
        parameters: [
          parameter('path', 'name', 'The name of the tool.'),
          parameter('query', 'version', 'An exact version; every version when absent.'),
          parameter('header', 'If-Match', 'The ETag that was read.'),
        ],
        responses: { 204: { description: 'Deleted.' }, ...REFUSALS },
      },
    },
  ]
}

function sendProblems(
  reply: FastifyReply,
  diff: ApplyOutcome['diff'],
  problems: ApplyOutcome['problems'],
): void {
  sendJson(reply, 422, { ok: false, dry_run: false, diff, problems, resources: [] })
}

function sendTool(reply: FastifyReply, status: number, tool: Shown): void {
  if (tool.row !== undefined) reply.header('etag', `"${tool.row.resourceVersion}"`)
  if (status === 201)
    reply.header('location', `/v1/tools/${tool.name}?version=${encodeURIComponent(tool.version)}`)
  sendJson(reply, status, tool.resource)
}

function readIfMatch(header: string | undefined): number | '*' | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (text === '*') return '*'
  const digits = /^(?:"([0-9]{1,15})"|([0-9]{1,15}))$/.exec(text)
  if (digits !== null) return Number(digits[1] ?? digits[2])
  throw preconditionInvalid(
    'If-Match is not an ETag of this resource.',
    'Send the ETag as it was read, such as "12".',
    422,
  )
}

/** A new resource replaces none. */
function none(inBody: number | undefined): 0 {
  if (inBody === undefined || inBody === 0) return 0
  throw preconditionInvalid(
    'metadata.resourceVersion belongs to a tool that is already there.',
    'Leave it out to create a tool; replace one with PUT.',
    422,
  )
}

function agree(header: number | undefined, inBody: number | undefined): number {
  if (header !== undefined && inBody !== undefined && header !== inBody) {
    throw preconditionInvalid('If-Match and metadata.resourceVersion differ.', 'Send one of the two.', 422)
  }
  const expected = header ?? inBody
  if (expected !== undefined) return expected
  throw preconditionInvalid(
    'A change must name the resourceVersion it was made from.',
    'Read the tool, then send its ETag as If-Match, or keep metadata.resourceVersion. POST /v1/tools creates one.',
    428,
  )
}

function preconditionInvalid(message: string, fix: string, status: number): Refusal {
  const violations = [{ path: '/headers/if-match', message }]
  return new Refusal({ failure: 'envelope-invalid', status, message, fix, details: { violations } })
}

function conflict(expected: number | '*' | undefined, found: ResourceRow | undefined): Refusal {
  const what = found === undefined ? 'is not there' : `has resourceVersion ${found.resourceVersion}`
  return new Refusal({
    failure: 'envelope-invalid',
    status: 409,
    message: `The tool ${what}; the change was made from ${expected === 0 ? 'none' : expected}.`,
    fix: 'Read it again, make the change anew, and send it with the resourceVersion that was read.',
    details: {
      violations: [{ path: '/metadata/resourceVersion', message: 'is not the one that is there' }],
      expected: expected ?? null,
      found: found?.resourceVersion ?? null,
    },
  })
}

function versionNeeded(rows: readonly ResourceRow[]): Refusal {
  const versions = rows.map((row) => row.version)
  return new Refusal({
    failure: 'envelope-invalid',
    message: 'The tool has several versions, and If-Match belongs to one.',
    fix: 'Name it with ?version=.',
    details: {
      violations: [{ path: '/query/version', message: `must be one of ${versions.join(', ')}` }],
      versions,
    },
  })
}

function toolUnknown(
  name: string | undefined,
  version: string | undefined,
  there: readonly Shown[],
): Refusal {
  if (version === undefined || there.length === 0) {
    return new Refusal({ failure: 'tool-unknown', message: `No tool '${name ?? ''}' in this namespace.` })
  }
  return new Refusal({
    failure: 'version-unmatched',
    message: `The tool '${name ?? ''}' has no version ${version}.`,
    fix: 'Use one of details.versions.',
    details: { versions: there.map((tool) => tool.version) },
  })
}
