// Resources of every kind: list, read, create, replace, delete, each with optimistic concurrency.
import type { FastifyReply } from 'fastify'
import type { AnyKind } from '../resource/kinds.ts'
import type { ApplyOutcome } from '../runtime-api.ts'
import type { ResourceRow } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { askedNamespace, requireNamespace } from './auth.ts'
import { readBody } from './body.ts'
import type { CallerExchange, Edge, Route } from './edge.ts'
import { placeProblems, readManifest, textExpecting } from './manifest-body.ts'
import { refuseOwnRoles } from './own-role.ts'
import { readQuery } from './query.ts'
import { sendJson } from './reply.ts'
import { resourceDocs } from './resource-docs.ts'
import {
  agree,
  conflict,
  readIfMatch,
  replacesNone,
  resourceUnknown,
  stillNeeded,
  versionNeeded,
} from './resource-precondition.ts'
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

export function resourceRoutes(edge: Edge, kind: AnyKind): readonly Route[] {
  const { resources } = edge.runtime
  const path = `/v1/${kind.plural}`
  const docs = resourceDocs(kind)
  const versionQuery = kind.versioned ? (['version'] as const) : ([] as const)

  /** With what is known of an MCP server beside what was declared. */
  function resourceOf(row: ResourceRow): JsonObject {
    const resource = resourceOfRow(row)
    if (row.kind !== 'McpServer') return resource
    return {
      ...resource,
      status: { ...edge.runtime.mcp.status(row.namespace, row.name), digest: row.digest },
    }
  }

  async function shown(namespace: string, name?: string): Promise<readonly Shown[]> {
    const rows = await resources.list({ namespace, kind: kind.name, ...(name === undefined ? {} : { name }) })
    const natives =
      kind.name === 'Tool' ? edge.runtime.tools(namespace).filter((tool) => tool.type === 'native') : []
    return sortResources<Shown>([
      ...rows.map((row) => ({ name: row.name, version: row.version, resource: resourceOf(row), row })),
      ...natives
        .filter((tool) => name === undefined || tool.name === name)
        .map((tool) => ({ name: tool.name, version: tool.version, resource: resourceOfNative(tool) })),
    ])
  }

  async function rowsOf(namespace: string, name: string, version?: string): Promise<readonly ResourceRow[]> {
    const rows = await resources.list({ namespace, kind: kind.name, name })
    return version === undefined ? rows : rows.filter((row) => row.version === version)
  }

  async function write(exchange: CallerExchange, status: 200 | 201, expect: Expect): Promise<void> {
    const { request, reply, caller, params } = exchange
    readQuery(request.query, [])
    const body = readManifest(await readBody(request, 'manifest', edge.bodyLimit), kind, params.name)
    if (!body.ok) return sendProblems(reply, [], body.problems)
    const { name, version, document } = body
    requireNamespace(caller, body.namespace)
    await refuseOwnRoles(edge, caller, [{ kind: kind.name, name }])
    const namespace = askedNamespace(request) ?? body.namespace ?? caller.namespace
    const expected = await expect(body.resourceVersion, () => rowsOf(namespace, name, version))
    const text = textExpecting(document, expected)
    const outcome = await resources.apply([{ text, file: 'body' }], { namespace })
    const [found] = await rowsOf(namespace, name, version)
    if (outcome.ok && found !== undefined) {
      return send(reply, status, { name, version, resource: resourceOf(found), row: found })
    }
    if ((found?.resourceVersion ?? 0) !== expected) throw conflict(kind, expected, found)
    sendProblems(reply, outcome.diff, placeProblems(document, outcome.problems))
  }

  function send(reply: FastifyReply, status: number, { name, version, row, resource }: Shown): void {
    if (row !== undefined) reply.header('etag', `"${row.resourceVersion}"`)
    const query = kind.versioned ? `?version=${encodeURIComponent(version)}` : ''
    if (status === 201) reply.header('location', `${path}/${name}${query}`)
    sendJson(reply, status, resource)
  }

  return [
    {
      method: 'GET',
      path,
      access: 'resource:read',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const all = (await shown(caller.namespace)).map((one) => one.resource)
        sendJson(reply, 200, { [listName(kind)]: all })
      },
      doc: docs.list,
    },
    {
      method: 'POST',
      path,
      access: kind.permission,
      whileDraining: false,
      handle: (exchange) => write(exchange, 201, (inBody) => replacesNone(kind, inBody)),
      doc: docs.create,
    },
    {
      method: 'GET',
      path: `${path}/{name}`,
      access: 'resource:read',
      whileDraining: true,
      async handle({ request, reply, caller, params }) {
        const { version } = readQuery<'version'>(request.query, versionQuery)
        const all = await shown(caller.namespace, params.name)
        const one = version === undefined ? all[0] : all.find((each) => each.version === version)
        const versions = all.map((each) => each.version)
        if (one === undefined) throw resourceUnknown(kind, params.name, version, versions)
        send(reply, 200, one)
      },
      doc: docs.get,
    },
    {
      method: 'PUT',
      path: `${path}/{name}`,
      access: kind.permission,
      whileDraining: false,
      handle: (exchange) =>
        write(exchange, 200, async (inBody, rows) => {
          const asked = readIfMatch(exchange.request.headers['if-match'])
          if (asked !== '*') return agree(kind, asked, inBody)
          const [found] = await rows()
          if (found === undefined) throw resourceUnknown(kind, exchange.params.name, undefined, [])
          return found.resourceVersion
        }),
      doc: docs.replace,
    },
    {
      method: 'DELETE',
      path: `${path}/{name}`,
      access: kind.permission,
      whileDraining: false,
      async handle({ request, reply, caller, params }) {
        const name = params.name ?? ''
        const { version } = readQuery<'version'>(request.query, versionQuery)
        const asked = readIfMatch(request.headers['if-match'])
        const rows = await rowsOf(caller.namespace, name, version)
        if (typeof asked === 'number' && rows.length > 1) throw versionNeeded(rows)
        const result = await resources.delete({
          namespace: caller.namespace,
          kind: kind.name,
          name,
          ...(version === undefined ? {} : { version }),
          ...(typeof asked === 'number' ? { expect: asked } : {}),
        })
        if (result === 'not-found') throw resourceUnknown(kind, name, version, [])
        if (result === 'conflict')
          throw conflict(kind, asked, (await rowsOf(caller.namespace, name, version))[0])
        if (result !== 'deleted') throw stillNeeded(result.refused, result.fix)
        reply.code(204).send()
      },
      doc: docs.delete,
    },
  ]
}

/** The only member of a list: tools, agent_roles. */
function listName({ plural }: AnyKind): string {
  return plural.replaceAll('-', '_')
}

function sendProblems(
  reply: FastifyReply,
  diff: ApplyOutcome['diff'],
  problems: ApplyOutcome['problems'],
): void {
  sendJson(reply, 422, { ok: false, dry_run: false, diff, problems, resources: [] })
}
