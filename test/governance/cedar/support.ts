// What the tests of Cedar share: tools, policies and calls in a few words.
import assert from 'node:assert/strict'
import { type CallerIdentity, createCaller } from '../../../src/contract/caller.ts'
import type { CedarMatch } from '../../../src/governance/cedar/cedar.ts'
import { type CedarEngine, createCedarEngine } from '../../../src/governance/cedar/cedar-engine.ts'
import { type CedarFinding, checkCedar } from '../../../src/governance/cedar/check-cedar.ts'
import { compileCedar } from '../../../src/governance/cedar/compile-cedar.ts'
import type { Facts } from '../../../src/governance/rules.ts'
import { resolveTool } from '../../../src/resource/resolve-tool.ts'
import type {
  GovernanceSet,
  ResolvedPolicy,
  ResolvedRole,
} from '../../../src/resource/resolved-governance.ts'
import type { ResolvedTool } from '../../../src/resource/resolved-tool.ts'
import type { ToolSpec } from '../../../src/resource/tool.ts'
import type { Json, JsonObject } from '../../../src/util/json.ts'
import { LOCAL, manifest } from '../../resource/support.ts'

/** One for a whole test file: loading it takes a tenth of a second. */
export const engine = createCedarEngine()

export function tool(name: string, input?: JsonObject, spec: ToolSpec = {}): ResolvedTool {
  const schema = input === undefined ? {} : { input_schema: input }
  const given = { effect: { class: 'external-communication' }, ...schema, ...spec } as ToolSpec
  const { tool: made, errors } = resolveTool(manifest(given, { name }), LOCAL)
  assert.deepEqual(errors, [])
  assert.ok(made)
  return made
}

export function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required }
}

export function policy(cedar: string, more: Partial<ResolvedPolicy> = {}): ResolvedPolicy {
  return {
    namespace: 'default',
    name: 'rules',
    version: '1-abc',
    mode: 'enforce',
    targets: { applyMode: 'global', agents: [], systems: [], tasks: [] },
    targetTools: [],
    blockedTools: [],
    rules: [],
    cedar,
    transforms: [],
    budgets: [],
    approval: { quorum: 1, ttlMs: 600_000 },
    notEnforced: [],
    ...more,
  }
}

export function role(name: string, ...inherits: string[]): ResolvedRole {
  const named = { namespace: 'default', name, version: '1-abc', description: '' }
  return { ...named, permissions: [], inherits, clearance: 'internal' }
}

export function setOf(policies: readonly ResolvedPolicy[], ...roles: ResolvedRole[]): GovernanceSet {
  return { roles, permissions: [], policies }
}

export interface CallMade {
  readonly tool: ResolvedTool
  readonly operation?: string
  readonly input?: Json
  readonly caller?: Partial<CallerIdentity>
  readonly now?: number
  readonly spent?: ReadonlyMap<string, number>
  readonly agent?: string
  readonly taskId?: string
}

export function facts({ tool: called, operation = 'invoke', input, caller, ...more }: CallMade): Facts {
  const found = called.operations[operation]
  assert.ok(found, `no operation ${operation}`)
  const made = createCaller({ actor: 'ada', kind: 'agent', ...caller })
  return { caller: made, tool: called, operation: found, input, now: 0, also: [], ...more }
}

export function asked(set: GovernanceSet, call: CallMade, by: CedarEngine = engine): readonly CedarMatch[] {
  const compiled = compileCedar(set, by)
  assert.ok(compiled)
  return compiled.matches(facts(call))
}

/** `DECISION CODE RULE` of each, sorted. */
export function said(cedar: string | GovernanceSet, call: CallMade): readonly string[] {
  const set = typeof cedar === 'string' ? setOf([policy(cedar)]) : cedar
  return asked(set, call)
    .map(({ decision, code, rule }) => `${decision} ${code} ${rule}`)
    .sort()
}

export function findings(cedar: string, tools: readonly ResolvedTool[], ...roles: ResolvedRole[]) {
  return checkCedar(setOf([policy(cedar)], ...roles), tools, engine)
}

/** `SEVERITY LINE:COLUMN MESSAGE` of each. */
export function lines(found: readonly CedarFinding[]): readonly string[] {
  return found.map(({ severity, at, message }) => {
    return `${severity} ${at.line}:${at.column} ${message.replace(/^line \d+, column \d+ of the text: /, '')}`
  })
}
