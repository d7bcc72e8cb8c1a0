// What tables say about a resource.
import type { Resource } from '../client/api.ts'
import type { KindName } from '../resource/kinds.ts'
import { isJsonObject, type Json } from '../util/json.ts'
import { type Column, renderAge } from './print.ts'

export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A manifest without a version counts as 0.0.0 (S49). */
export function versionOf({ spec }: Resource): string {
  return textOf(spec.version) ?? '0.0.0'
}

const DESCRIPTION: Column<Resource> = {
  title: 'DESCRIPTION',
  value: ({ spec }) => textOf(spec.description) ?? '',
}

const COLUMNS: Readonly<Partial<Record<KindName, readonly Column<Resource>[]>>> = {
  Tool: [
    { title: 'VERSION', value: versionOf },
    { title: 'TYPE', value: ({ spec }) => textOf(spec.type) ?? 'http' },
    { title: 'RISK', value: ({ spec }) => textOf(spec.risk_level) ?? 'low' },
  ],
  AgentRole: [
    { title: 'PERMISSIONS', value: ({ spec }) => String(lengthOf(spec.permissions)) },
    { title: 'INHERITS', value: ({ spec }) => listOf(spec.inherits) },
    { title: 'CLEARANCE', value: ({ spec }) => textOf(spec.clearance) ?? 'internal' },
  ],
  ToolPermission: [
    { title: 'TOOL', value: ({ spec, metadata }) => textOf(spec.tool_ref) ?? metadata.name },
    { title: 'APPLIES', value: ({ spec }) => textOf(spec.apply_mode) ?? 'global' },
    { title: 'RULES', value: ({ spec }) => String(lengthOf(spec.operation_rules)) },
  ],
  AgentPolicy: [
    { title: 'MODE', value: ({ spec }) => textOf(spec.mode) ?? 'enforce' },
    { title: 'APPLIES', value: ({ spec }) => textOf(spec.apply_mode) ?? 'scoped' },
    { title: 'RULES', value: ({ spec }) => String(lengthOf(spec.rules)) },
    { title: 'BUDGETS', value: ({ spec }) => String(lengthOf(spec.budgets)) },
    { title: 'CEDAR', value: ({ spec }) => (spec.cedar === undefined ? 'no' : 'yes') },
  ],
  Secret: [
    { title: 'KEYS', value: ({ spec }) => (isJsonObject(spec.data) ? listOf(Object.keys(spec.data)) : '-') },
    { title: 'SHARED WITH', value: ({ spec }) => listOf(spec.share_with) },
  ],
  McpServer: [
    { title: 'TRANSPORT', value: ({ spec }) => textOf(spec.transport) ?? '-' },
    { title: 'PHASE', value: ({ status }) => textOf(status.phase) ?? '-' },
    { title: 'TOOLS', value: ({ status }) => String(lengthOf(status.generatedTools)) },
    { title: 'QUARANTINED', value: ({ status }) => String(lengthOf(status.quarantinedTools)) },
  ],
}

export function columnsOf(kind: KindName, now: number): readonly Column<Resource>[] {
  const age: Column<Resource> = {
    title: 'AGE',
    value: ({ metadata }) =>
      metadata.createdAt === undefined ? '-' : renderAge(now - Date.parse(metadata.createdAt)),
  }
  const described = kind === 'Tool' || kind === 'AgentRole' ? [DESCRIPTION] : []
  return [
    { title: 'NAME', value: ({ metadata }) => metadata.name },
    ...(COLUMNS[kind] ?? []),
    age,
    ...described,
  ]
}

function lengthOf(value: Json | undefined): number {
  return Array.isArray(value) ? value.length : 0
}

function listOf(value: Json | undefined): string {
  return Array.isArray(value) && value.length > 0 ? value.map(String).join(', ') : '-'
}
