// What somebody is shown, and takes on, of a tool that its MCP server has changed.
import { UNVERSIONED } from '../resource/kind.ts'
import { definitionJson, generateTool, type McpPin, madeFrom, readDefinition } from '../resource/mcp-tool.ts'
import type { ResolveOptions } from '../resource/resolve-tool.ts'
import type { ResourceRow } from '../store/store.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import { diffJson, type JsonChange } from '../util/json-diff.ts'
import type { World } from '../util/world.ts'
import { judge } from './mcp-plan.ts'
import { MCP_STATUS_KIND, readStatus, statusChange } from './mcp-status.ts'
import type { LiveResources } from './resource-door.ts'

/** The definition of a tool that was made from an MCP server. */
export interface ToolDefinition {
  readonly tool: string
  readonly server: string
  readonly state: 'pinned' | 'quarantined' | 'gone'
  readonly pin: number
  /** Of the definition that was taken on. */
  readonly digest: string
  readonly definition: JsonObject
  /** What the server says by now, where that is something else or was in between. */
  readonly offered?: {
    readonly digest: string
    readonly definition: JsonObject
    readonly changes: readonly JsonChange[]
    /** Why it cannot be taken on. */
    readonly problem?: string
  }
}

export type AcceptOutcome =
  | { readonly kind: 'accepted'; readonly definition: ToolDefinition }
  | { readonly kind: 'not-found' | 'not-quarantined' }
  /** Something else is offered by now than was seen. */
  | { readonly kind: 'changed'; readonly offered: string }
  | { readonly kind: 'unusable'; readonly why: string }

export interface McpDoor {
  /** undefined where there is no such tool, or it was not made from an MCP server. */
  definition(namespace: string, tool: string): ToolDefinition | undefined
  /** Takes on the offered definition of this very digest. */
  accept(namespace: string, tool: string, digest: string, by: string): Promise<AcceptOutcome>
  /** What is known of a server, as it is shown. */
  status(namespace: string, server: string): JsonObject | undefined
}

export interface McpDoorOptions {
  readonly world: Pick<World, 'clock'>
  readonly resources: Pick<LiveResources, 'servers' | 'liveRows' | 'keepTools' | 'refresh'>
  readonly resolve: ResolveOptions
}

/** Others may write the same rows: so often it is tried again. */
const TRIES = 5

export function createMcpDoor({ world, resources, resolve }: McpDoorOptions): McpDoor {
  const rowOf = (namespace: string, tool: string) =>
    resources.liveRows('Tool', namespace).find((row) => row.name === tool)

  async function acceptOnce(
    namespace: string,
    tool: string,
    digest: string,
    by: string,
  ): Promise<AcceptOutcome | 'conflict'> {
    const row = rowOf(namespace, tool)
    const made = row && madeFrom(row.body)
    const live = made && resources.servers.get({ namespace, name: made.server })
    if (row === undefined || made === undefined || live === undefined) return { kind: 'not-found' }
    const offered = offeredOf(made.mcp)
    if (offered === undefined) return { kind: 'not-quarantined' }
    if (offered.digest !== digest) return { kind: 'changed', offered: offered.digest }
    const { server } = live
    if (server === undefined) return { kind: 'unusable', why: live.why ?? '' }
    const pin = { pin: made.mcp.pin + 1, ...(made.mcp.gone === true ? { gone: true } : {}) }
    const body = generateTool(server, tool, readDefinition(offered.definition), pin)
    const judged = judge(body, resolve)
    if (judged.problem !== undefined) return { kind: 'unusable', why: judged.problem }
    const status = resources.liveRows(MCP_STATUS_KIND, namespace).find((one) => one.name === made.server)
    const { quarantinedTools, ...known } = readStatus(status?.body)
    const left = { ...known, quarantinedTools: quarantinedTools.filter((name) => name !== tool) }
    const put = { digest: judged.digest, body }
    const change = { kind: 'Tool', name: tool, version: UNVERSIONED, put, expect: row.resourceVersion }
    const at = world.clock.now()
    const evidence = { tool, server: made.server, from: made.mcp.digest, to: digest, by }
    const applied = await resources.keepTools(
      namespace,
      [change, statusChange(made.server, left, status?.resourceVersion ?? 0)],
      [{ namespace, callId: '', type: 'definition.accepted', at, body: evidence }],
    )
    if (applied.kind === 'conflict') return 'conflict'
    const now = applied.rows.find((one) => one.kind === 'Tool')
    const definition = now && shown(now)
    return definition === undefined ? { kind: 'not-found' } : { kind: 'accepted', definition }
  }

  return {
    definition(namespace, tool) {
      const row = rowOf(namespace, tool)
      return row && shown(row)
    },
    async accept(namespace, tool, digest, by) {
      for (let count = 1; ; count++) {
        const outcome = await acceptOnce(namespace, tool, digest, by)
        if (outcome !== 'conflict') return outcome
        await resources.refresh()
        if (count === TRIES) return { kind: 'changed', offered: digest }
      }
    },
    status: (namespace, server) =>
      resources.liveRows(MCP_STATUS_KIND, namespace).find((row) => row.name === server)?.body,
  }
}

interface Offered {
  readonly digest: string
  readonly definition: JsonObject
  readonly problem?: string
}

function offeredOf({ offered }: McpPin): Offered | undefined {
  if (offered === undefined) return undefined
  const { digest, definition, problem } = offered
  return {
    digest: String(digest),
    definition: isJsonObject(definition) ? definition : {},
    ...(typeof problem === 'string' ? { problem } : {}),
  }
}

function shown(row: ResourceRow): ToolDefinition | undefined {
  const made = madeFrom(row.body)
  if (made === undefined) return undefined
  const { server, mcp } = made
  const definition = definitionJson(made.definition)
  const offered = offeredOf(mcp)
  return {
    tool: row.name,
    server,
    state: offered !== undefined ? 'quarantined' : mcp.gone === true ? 'gone' : 'pinned',
    pin: mcp.pin,
    digest: mcp.digest,
    definition,
    ...(offered === undefined
      ? {}
      : { offered: { ...offered, changes: diffJson(definition, offered.definition) } }),
  }
}
