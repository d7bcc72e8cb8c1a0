// The kinds of resources that manifests declare. A new one is a file and a line here.
import type { JsonObject } from '../util/json.ts'
import { AGENT_POLICY, type PolicyManifest } from './agent-policy.ts'
import { AGENT_ROLE, type RoleManifest } from './agent-role.ts'
import type { Kind, KindResolveOptions, Resolution } from './kind.ts'
import { MCP_SERVER, type McpServerManifest } from './mcp-server.ts'
import type { ResolvedPolicy, ResolvedRole, ResolvedToolPermission } from './resolved-governance.ts'
import type { ResolvedMcpServer } from './resolved-mcp-server.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import { type ResolvedSecret, SECRET, type SecretManifest } from './secret.ts'
import type { ToolManifest } from './tool.ts'
import { TOOL } from './tool-kind.ts'
import { type PermissionManifest, TOOL_PERMISSION } from './tool-permission.ts'

export type Manifest =
  | ToolManifest
  | RoleManifest
  | PermissionManifest
  | PolicyManifest
  | SecretManifest
  | McpServerManifest
export type KindName = Manifest['kind']

/** A resource that was resolved, with its kind. */
export type Declared =
  | { readonly kind: 'Tool'; readonly resolved: ResolvedTool }
  | { readonly kind: 'AgentRole'; readonly resolved: ResolvedRole }
  | { readonly kind: 'ToolPermission'; readonly resolved: ResolvedToolPermission }
  | { readonly kind: 'AgentPolicy'; readonly resolved: ResolvedPolicy }
  | { readonly kind: 'Secret'; readonly resolved: ResolvedSecret }
  | { readonly kind: 'McpServer'; readonly resolved: ResolvedMcpServer }

/** As kinds of one type: whoever resolves has a manifest of the same kind in hand. */
export type AnyKind = Kind<KindName, Manifest, Declared['resolved']>

export const KINDS: readonly AnyKind[] = Object.freeze([
  TOOL,
  AGENT_ROLE,
  TOOL_PERMISSION,
  AGENT_POLICY,
  SECRET,
  MCP_SERVER,
])

/** Rows that the runtime writes itself beside them, never from a manifest: what to do instead of writing one. */
export const KEPT_KINDS: ReadonlyMap<string, string> = new Map([
  [
    'ToolApproval',
    'remove it: the runtime makes one when a call has to be approved. A ToolPermission with verdict approval_required, or an AgentPolicy, asks for approvals; `writ approve` and `writ deny` decide',
  ],
  ['ApprovalGrant', 'remove it: `writ grant create` gives one'],
  ['McpServerStatus', 'remove it: the runtime keeps one for each McpServer'],
  ['Stop', 'remove it: `writ freeze` and `writ token revoke` stop something'],
])

/** Upper and lower case do not matter. */
export function kindNamed(name: string): AnyKind | undefined {
  return KINDS.find((kind) => kind.name.toLowerCase() === name.toLowerCase())
}

/** What may be seen of what is kept as a resource of this kind. */
export function shownBody(kind: string, body: JsonObject): JsonObject {
  return KINDS.find((one) => one.name === kind)?.shown?.(body) ?? body
}

export function resolveManifest(
  manifest: Manifest,
  options: KindResolveOptions,
): Resolution<object> & { readonly declared?: Declared } {
  const kind = KINDS.find((one) => one.name === manifest.kind)
  if (kind === undefined) throw new TypeError(`no kind ${manifest.kind}`)
  const resolution = kind.resolve(manifest, options)
  if (resolution.resolved === undefined) return resolution
  return { ...resolution, declared: { kind: kind.name, resolved: resolution.resolved } as Declared }
}
