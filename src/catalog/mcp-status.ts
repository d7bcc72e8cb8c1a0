// What is known of an MCP server: a row beside its own, which every sync replaces and no two can replace at once.
import { UNVERSIONED } from '../resource/kind.ts'
import type { ResourceChange, ResourceRow } from '../store/store.ts'
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'

export const MCP_STATUS_KIND = 'McpServerStatus'

export const MCP_PHASES = ['Pending', 'Connecting', 'Ready', 'Error'] as const
export type McpPhase = (typeof MCP_PHASES)[number]

export interface McpServerStatus {
  readonly phase: McpPhase
  /** The server's own names of all that it offers. */
  readonly discoveredTools: readonly string[]
  /** Names of the tools that can be called, or could be. */
  readonly generatedTools: readonly string[]
  /** Tools that wait for somebody to accept what their server has made of them. */
  readonly quarantinedTools: readonly string[]
  /** Tools that were not taken, and why; also those that have labels and are not offered. */
  readonly refusedTools: readonly { readonly name: string; readonly why: string }[]
  /** Wall time. */
  readonly lastSyncedAt?: number
  readonly lastError?: string
  /** Of the McpServer that was synced last. */
  readonly observedGeneration: number
}

export const UNSEEN: McpServerStatus = Object.freeze({
  phase: 'Pending',
  discoveredTools: [],
  generatedTools: [],
  quarantinedTools: [],
  refusedTools: [],
  observedGeneration: 0,
})

export function readStatus(body: JsonObject | undefined): McpServerStatus {
  if (body === undefined) return UNSEEN
  const { phase, lastSyncedAt, lastError, observedGeneration, refusedTools } = body
  return {
    phase: MCP_PHASES.find((one) => one === phase) ?? 'Pending',
    discoveredTools: names(body.discoveredTools),
    generatedTools: names(body.generatedTools),
    quarantinedTools: names(body.quarantinedTools),
    refusedTools: (Array.isArray(refusedTools) ? refusedTools : [])
      .filter(isJsonObject)
      .map(({ name, why }) => ({ name: String(name), why: String(why) })),
    ...(typeof lastSyncedAt === 'string' ? { lastSyncedAt: Date.parse(lastSyncedAt) } : {}),
    ...(typeof lastError === 'string' ? { lastError } : {}),
    observedGeneration: typeof observedGeneration === 'number' ? observedGeneration : 0,
  }
}

function names(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

export function statusBody(status: McpServerStatus): JsonObject {
  const { lastSyncedAt, lastError } = status
  return {
    phase: status.phase,
    discoveredTools: [...status.discoveredTools],
    generatedTools: [...status.generatedTools],
    quarantinedTools: [...status.quarantinedTools],
    refusedTools: status.refusedTools.map(({ name, why }) => ({ name, why })),
    ...(lastSyncedAt === undefined ? {} : { lastSyncedAt: new Date(lastSyncedAt).toISOString() }),
    ...(lastError === undefined ? {} : { lastError }),
    observedGeneration: status.observedGeneration,
  }
}

export type StatusChange = ResourceChange & { readonly kind: typeof MCP_STATUS_KIND }

/** `expect` as a store takes it: absent means whatever is there. */
export function statusChange(server: string, status: McpServerStatus, expect?: number): StatusChange {
  const body = statusBody(status)
  const put = { digest: sha256Hex(canonicalJson(body)), body }
  const change = { kind: MCP_STATUS_KIND, name: server, version: UNVERSIONED, put } as const
  return expect === undefined ? change : { ...change, expect }
}

/**
 * An McpServer that was just applied is still to be synced. Its status is replaced together with it, so that whoever is
 * syncing the one before cannot write any more.
 */
export function pendingStatus(server: string, before: ResourceRow | undefined): StatusChange {
  const { lastError: _error, ...known } = readStatus(before?.body)
  return statusChange(server, { ...known, phase: 'Pending' })
}
