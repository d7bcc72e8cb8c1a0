// What pins a tool: one digest over everything that it means, whatever order, notation or language of description it came in.
import type { EffectRule } from '../contract/effect.ts'
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import type { EffectDeclaration } from './effect-schema.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import type { ToolSpec } from './tool.ts'

/** Declared, part of the meaning, and not (wholly) in the resolved tool. */
const DECLARED = [
  'cli',
  'wasm',
  'mcp_server_ref',
  'mcp_tool_name',
  'webhook',
  'grpc',
  'http',
  'grants',
  'errors',
  'observability',
  'deprecation',
  'slo',
  'health',
] as const

/**
 * S49: without description, labels and status; with the artifact. Name and namespace say who it is, not what. Who approves
 * and the waiver govern the tool and are no part of what it is: with them in it, another approver would be another build,
 * and effects under way, pinned to the old one, would go on under the old rule.
 */
export function toolDigest(
  tool: Omit<ResolvedTool, 'digest' | 'unenforced'>,
  spec: ToolSpec,
  artifact: string | undefined,
): string {
  const { namespace: _namespace, name: _name, description: _description, ...named } = tool
  // What a declared block resolves to is in `declared` already.
  const { approval: _approval, approvalWaiver: _waiver, webhook: _webhook, operations, ...governed } = named
  // `reach` is said by the profile.
  const {
    reach: _reach,
    http: _http,
    grpc: _grpc,
    cli: _cli,
    mcp: _mcp,
    withheld: _withheld,
    ...resolved
  } = governed
  const meaning = {
    ...resolved,
    operations: Object.fromEntries(
      Object.entries(operations).map(([key, { description: _text, effect, ...operation }]) => [
        key,
        {
          ...operation,
          effect: withoutScope(effect),
          named: namedOf(spec.operations?.[key]?.effect ?? spec.effect),
        },
      ]),
    ),
    declared: Object.fromEntries(DECLARED.map((field) => [field, spec[field]])),
    // That it reaches private addresses; why is for people.
    inside: spec.egress?.private === undefined ? undefined : true,
    artifact,
    // Going back to an earlier definition does not bring back what was approved under it.
    pin: spec.mcp?.pin,
    quarantined: spec.mcp?.offered === undefined ? undefined : true,
  }
  return `sha256:${sha256Hex(canonicalJson(withoutUndefined(meaning)))}`
}

/** Of keys; it is among what the effect names, as it was declared. */
function withoutScope({ keyed, ...effect }: EffectRule) {
  if (keyed === undefined) return effect
  const { scope: _scope, ...rest } = keyed
  return { ...effect, keyed: rest }
}

/** What an effect names beside its rule. */
function namedOf(effect: EffectDeclaration | undefined) {
  if (effect === undefined) return undefined
  const { status_query, compensation, two_phase, idempotency } = effect
  const scope = typeof idempotency === 'object' ? idempotency.keyed.scope : undefined
  return { status_query, compensation, two_phase, scope }
}

function withoutUndefined(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
