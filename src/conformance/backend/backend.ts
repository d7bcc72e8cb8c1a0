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

/** Tools that are made from what a server lists. They are declared on that server, which names them. */
export interface ServedTools {
  /** What a tool is called by, once it is made. */
  called(tool: Declaration): { readonly name: string; readonly operation: string }
  /** How the servers of these tools are declared until all are listed, and which are declared anew from then on. */
  servers(tools: readonly Declaration[]): {
    readonly untilListed: readonly JsonObject[]
    readonly onceListed: readonly JsonObject[]
  }
}

export interface ToolPeer {
  offer(tool: Declaration): Offer
  /** Instead of offers, where tools cannot be declared one by one. */
  readonly served?: ServedTools
  /** Commands that its tools run. */
  readonly cliAllow?: readonly string[]
  /** Undefined for a tool that cannot be looked into. */
  sends(mark: string): readonly ToolSend[] | undefined
  close(): Promise<void>
}

export interface PeerOptions {
  readonly world: Pick<World, 'clock' | 'after'>
}

/** What is documented of a backend, and what cases ask of it. */
export interface BackendFacts
  extends Pick<
    Subject,
    'name' | 'limitations' | 'isolation' | 'hasEndpoint' | 'givesStatus' | 'presents' | 'defaultHeader'
  > {
  /** What a user should know beside the limitations; requirements are met all the same. */
  readonly notes: readonly string[]
}

export interface Backend extends BackendFacts {
  openPeer(options: PeerOptions): Promise<ToolPeer>
}

/** What no backend of this build can do. */
export const COMMON_LIMITATIONS: Readonly<Partial<Record<RequirementId, string>>> = Object.freeze({
  'C6.1':
    'This build bounds no memory, processor or processes: a tool that declares such a limit is refused with runtime_policy_invalid or isolation_unavailable. Payload sizes and network allowlists hold.',
})

/** Tools that run elsewhere have no boundary here. */
export const REMOTE_ISOLATION: IsolationFacts = Object.freeze({
  provided: Object.freeze(['none', 'sandboxed'] as const),
  boundary:
    'The code of the tool runs in a process of its own, reached over the network; what stands around that process is the business of whoever runs it. Isolation sandboxed holds the traffic to the endpoint of the tool: no other origin, no redirect, TLS (or this machine, in profile local). Any other isolation is refused with isolation_unavailable.',
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
