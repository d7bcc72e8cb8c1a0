// A backend of this build: a tool peer of its own, and how tools in front of it are declared.
import type { NativeToolDefinition } from '../../define-tool.ts'
import type { JsonObject } from '../../util/json.ts'
import type { World } from '../../util/world.ts'
import type { RequirementId } from '../requirements.ts'
import type { IsolationFacts, Subject, ToolSend } from '../subject.ts'
import type { Declaration } from '../tools.ts'

/** A tool as a runtime takes it: code of this program, or a manifest. */
export type Offer =
  | { readonly kind: 'native'; readonly definition: NativeToolDefinition }
  | { readonly kind: 'manifest'; readonly manifest: JsonObject }

export interface ToolPeer {
  offer(tool: Declaration): Offer
  /** Undefined for a tool that cannot be looked into. */
  sends(mark: string): readonly ToolSend[] | undefined
  close(): Promise<void>
}

export interface PeerOptions {
  readonly world: Pick<World, 'clock' | 'after'>
}

/** What is documented of a backend, and what cases ask of it. */
export interface BackendFacts
  extends Pick<Subject, 'name' | 'limitations' | 'isolation' | 'hasEndpoint' | 'givesStatus'> {
  /** What a user should know beside the limitations; requirements are met all the same. */
  readonly notes: readonly string[]
}

export interface Backend extends BackendFacts {
  openPeer(options: PeerOptions): Promise<ToolPeer>
}

/** What no backend of this build can do. */
export const COMMON_LIMITATIONS: Readonly<Partial<Record<RequirementId, string>>> = Object.freeze({
  'C4.1':
    'This build has no secret store: a tool that declares auth is refused with secret_resolution_failed, and nothing is sent. A reference into another namespace is refused when it is declared.',
  'C4.4':
    'This build presents no credentials: each of the four profiles is read and checked when it is declared, and the calls are refused with secret_resolution_failed.',
  'C6.1':
    'This build bounds no memory, processor or processes: a tool that declares such a limit is refused with runtime_policy_invalid or isolation_unavailable. Payload sizes and network allowlists hold.',
})

/** Tools that run elsewhere have no boundary here. */
export const REMOTE_ISOLATION: IsolationFacts = Object.freeze({
  provided: Object.freeze(['none'] as const),
  boundary:
    'The code of the tool runs in a process of its own, reached over HTTP; what stands around that process is the business of whoever runs it. A declared isolation other than none is refused with isolation_unavailable.',
})

export function manifestOf(tool: Declaration, type: string, endpoint: string): JsonObject {
  const { operation, effect, spec } = tool
  // Through text: a spec is typed, a manifest is JSON.
  return JSON.parse(
    JSON.stringify({
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name: tool.name },
      spec: { ...spec, type, endpoint, operations: { [operation]: { effect } } },
    }),
  )
}
