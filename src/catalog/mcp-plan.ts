// What a list of tools of an MCP server makes of the tools that are kept for it. Decides; writes nothing.

import { isOfKind, readManifestValue } from '../resource/manifest.ts'
import { cleanText } from '../resource/mcp-text.ts'
import {
  definitionDigest,
  definitionJson,
  generatedName,
  generateTool,
  type McpDefinition,
  madeFrom,
  takeDefinition,
} from '../resource/mcp-tool.ts'
import { type ResolveOptions, resolveTool } from '../resource/resolve-tool.ts'
import type { ResolvedMcpServer } from '../resource/resolved-mcp-server.ts'
import type { ResourceRow } from '../store/store.ts'
import type { McpToolDefinition } from '../transport/mcp/session.ts'
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import { didYouMean } from '../util/did-you-mean.ts'
import type { JsonObject } from '../util/json.ts'

/** One server cannot fill the catalog, nor the row of its status. */
const MAX_TOOLS = 1_000
const MAX_REFUSED = 100
const MAX_WHY = 300
const MAX_SHOWN_NAME = 256

export interface PlannedTool {
  readonly name: string
  readonly body: JsonObject
  readonly digest: string
  /** The one that it replaces. */
  readonly before?: ResourceRow
  /** Its definition is another one than was taken on, as of now. */
  readonly quarantined?: { readonly pinned: string; readonly offered: string }
}

/** What one replica has found at a look: the digest of each tool, by its name here. */
export type McpLook = ReadonlyMap<string, string>

export interface McpPlan {
  /** Only what changes. */
  readonly changes: readonly PlannedTool[]
  readonly look: McpLook
  readonly discoveredTools: readonly string[]
  readonly generatedTools: readonly string[]
  readonly quarantinedTools: readonly string[]
  readonly refusedTools: readonly { readonly name: string; readonly why: string }[]
}

export interface McpPlanOptions {
  readonly server: ResolvedMcpServer
  readonly listed: readonly McpToolDefinition[]
  /** What this replica has found the last time, of the same declaration; absent where it has not looked yet. */
  readonly last: McpLook | undefined
  /** The tools that are kept for this server. */
  readonly rows: readonly ResourceRow[]
  /** Who else has a name: a text for messages. */
  readonly taken: (name: string) => string | undefined
  readonly resolve: ResolveOptions
}

/**
 * Replicas may find different lists, as while the program of a server is replaced on one machine after the other. A tool
 * that one of them finds changed is quarantined for all. Beyond that, what a replica has found before is no news: it does
 * not undo what another one has written since, or they would go on for ever.
 */
export function planMcpTools({ server, listed, last, rows, taken, resolve }: McpPlanOptions): McpPlan {
  const refused: { name: string; why: string }[] = []
  const refuse = (name: string, why: string) =>
    refused.push({ name: cleanText(name, MAX_SHOWN_NAME), why: cleanText(why, MAX_WHY) })
  const offered = offeredTools(server, listed, refuse)
  const changes: PlannedTool[] = []
  const generated: string[] = []
  const quarantined: string[] = []
  const kept = new Map(rows.map((row) => [row.name, row]))

  for (const [name, definition] of offered) {
    const row = kept.get(name)
    const before = row && madeFrom(row.body)
    const other = row === undefined ? taken(name) : undefined
    if (other !== undefined) {
      refuse(definition.name, `its name here would be ${name}, which ${other} has`)
      continue
    }
    const isNews = last?.get(name) !== definitionDigest(definition)
    const next = nextBody(server, name, definition, before, isNews, resolve)
    const { digest, problem } = judge(next.body, resolve)
    if (problem !== undefined) {
      refuse(definition.name, problem)
      if (row === undefined) continue
    }
    generated.push(name)
    if (next.offered !== undefined) quarantined.push(name)
    const fresh = before?.mcp.offered === undefined && next.offered !== undefined
    const from =
      fresh && before !== undefined ? { pinned: before.mcp.digest, offered: next.offered } : undefined
    add(changes, row, { name, body: next.body, digest, ...(from === undefined ? {} : { quarantined: from }) })
  }
  for (const row of rows) {
    const made = madeFrom(row.body)
    if (made === undefined || generated.includes(row.name)) continue
    // Found by another replica, whose program is another one: there it can be called.
    const elsewhere = made.mcp.gone !== true && last?.has(row.name) === false
    const pin = elsewhere ? made.mcp : { ...made.mcp, gone: true }
    const body = generateTool(server, row.name, made.definition, pin)
    if (elsewhere) generated.push(row.name)
    if (made.mcp.offered !== undefined) quarantined.push(row.name)
    add(changes, row, { name: row.name, body, digest: judge(body, resolve).digest })
  }
  const names = new Set(listed.map(({ name }) => name))
  for (const name of Object.keys(server.labels).filter((one) => !names.has(one))) {
    const close = didYouMean(name, names)
    const meant = close === undefined ? '' : `; did you mean ${close}?`
    refuse(name, `spec.tools has labels for it, and the server offers no such tool${meant}`)
  }
  return {
    changes,
    look: new Map([...offered].map(([name, definition]) => [name, definitionDigest(definition)])),
    discoveredTools: listed.slice(0, MAX_TOOLS).map(({ name }) => cleanText(name, MAX_SHOWN_NAME)),
    generatedTools: generated.sort(),
    quarantinedTools: quarantined.sort(),
    refusedTools: refused.slice(0, MAX_REFUSED),
  }
}

/** By their names here. Two that would have one name are both refused: nobody could tell which one is meant. */
function offeredTools(
  { name: server, include }: ResolvedMcpServer,
  listed: readonly McpToolDefinition[],
  refuse: (name: string, why: string) => void,
): ReadonlyMap<string, McpDefinition> {
  const wanted = listed.filter(({ name }) => include === undefined || include.includes(name))
  const byName = Map.groupBy(wanted, ({ name }) => generatedName(server, name))
  const offered = new Map<string, McpDefinition>()
  for (const [name, all] of byName) {
    const [first] = all
    if (name === undefined || first === undefined) {
      for (const one of all) refuse(one.name, 'no name of a tool can be made of its name')
    } else if (all.length > 1) {
      for (const one of all) refuse(one.name, `${all.length} tools of the server would be named ${name}`)
    } else if (offered.size >= MAX_TOOLS) {
      refuse(first.name, `no more than ${MAX_TOOLS} tools of one server are taken`)
    } else {
      const definition = takeDefinition(first)
      if (typeof definition === 'string') refuse(first.name, definition)
      else offered.set(name, definition)
    }
  }
  return offered
}

interface NextBody {
  readonly body: JsonObject
  /** The digest that waits to be accepted. */
  readonly offered?: string
}

function nextBody(
  server: ResolvedMcpServer,
  name: string,
  definition: McpDefinition,
  before: ReturnType<typeof madeFrom>,
  isNews: boolean,
  resolve: ResolveOptions,
): NextBody {
  if (before === undefined) return { body: generateTool(server, name, definition, { pin: 1 }) }
  const digest = definitionDigest(definition)
  const { pin } = before.mcp
  // Once it has changed, it waits: also where the server has gone back since.
  if (before.mcp.offered === undefined && digest === before.mcp.digest)
    return { body: generateTool(server, name, before.definition, { pin }) }
  if (before.mcp.offered !== undefined && !isNews) {
    const waiting = { pin, offered: before.mcp.offered }
    const body = generateTool(server, name, before.definition, waiting)
    return { body, offered: String(before.mcp.offered.digest) }
  }
  const { problem } = judge(generateTool(server, name, definition, { pin: pin + 1 }), resolve)
  const offered = {
    digest,
    definition: definitionJson(definition),
    ...(problem === undefined ? {} : { problem: cleanText(problem, MAX_WHY) }),
  }
  return { body: generateTool(server, name, before.definition, { pin, offered }), offered: digest }
}

/** The digest of a tool, and why it cannot be used, where it cannot. */
export function judge(
  body: JsonObject,
  resolve: ResolveOptions,
): { readonly digest: string; readonly problem?: string } {
  const { documents, problems } = readManifestValue(body, 'tool')
  const [document] = documents
  const { tool, errors } = isOfKind(document, 'Tool')
    ? resolveTool(document.manifest, { ...resolve, generated: true })
    : { tool: undefined, errors: [] }
  if (tool !== undefined) return { digest: tool.digest }
  const said = [...problems, ...errors].map(({ path, message }) => {
    const at = typeof path === 'string' ? path : path.join('.')
    return `${at}: ${message}`
  })
  return { digest: `sha256:${sha256Hex('broken', canonicalJson(body))}`, problem: said.join('; ') }
}

function add(changes: PlannedTool[], before: ResourceRow | undefined, next: PlannedTool): void {
  if (before === undefined) changes.push(next)
  else if (before.digest !== next.digest || canonicalJson(before.body) !== canonicalJson(next.body))
    changes.push({ ...next, before })
}
