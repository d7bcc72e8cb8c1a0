// A tool with every default applied: what the rest of the runtime works with. Frozen, and pinned by its digest.
import type { DialectName, Jitter } from '../contract/call.ts'
import type { EffectRule } from '../contract/effect.ts'
import type { FailureId } from '../contract/failures.ts'
import type { Reach } from '../util/address-class.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { ResolvedCli } from './resolved-cli.ts'
import type { ApprovalRule } from './resolved-governance.ts'

/** The seven types of seed 002, and `native`, which only `defineTool` makes (S55). */
export const TOOL_TYPES = ['http', 'external', 'grpc', 'webhook-callback', 'mcp', 'cli', 'wasm'] as const
export type ToolType = (typeof TOOL_TYPES)[number] | 'native'

export const RISK_LEVELS = ['low', 'medium', 'high', 'critical'] as const
export type RiskLevel = (typeof RISK_LEVELS)[number]

export const OPERATION_CLASSES = ['read', 'write', 'delete', 'admin'] as const
export type OperationClass = (typeof OPERATION_CLASSES)[number]

/** From the weakest boundary to the strongest; a request may only ask for a stronger one (S2). */
export const ISOLATION_MODES = ['none', 'wasm', 'sandboxed', 'container', 'kubernetes'] as const
export type IsolationMode = (typeof ISOLATION_MODES)[number]

export const DATA_CLASSIFICATIONS = ['public', 'internal', 'confidential', 'restricted'] as const
export type DataClassification = (typeof DATA_CLASSIFICATIONS)[number]

export const AUTH_PROFILES = ['bearer', 'api_key_header', 'basic', 'oauth2_client_credentials'] as const
export type AuthProfile = (typeof AUTH_PROFILES)[number]

export const COMPARISONS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'not_in',
  'in_domain',
  'not_in_domain',
  'exists',
] as const
export type Comparison = (typeof COMPARISONS)[number]

/** A literal comparison on the input that makes a call wait for approval. */
export interface ApprovalTrigger {
  /** JSON pointer into the input. */
  readonly field: string
  readonly op: Comparison
  readonly value?: Json
  readonly reason?: string
}

export interface RetryPolicy {
  readonly maxAttempts: number
  readonly backoffMs: number
  readonly maxBackoffMs: number
  readonly jitter: Jitter
}

export interface ResolvedOperation {
  readonly name: string
  readonly description: string
  readonly inputSchema?: JsonObject
  readonly outputSchema?: JsonObject
  readonly classes: readonly OperationClass[]
  readonly effect: EffectRule
  /** Bounds one attempt. */
  readonly timeoutMs: number
  /** Bounds the whole execution, where declared. */
  readonly timeoutMaxMs?: number
  readonly retry: RetryPolicy
  readonly approvalTriggers: readonly ApprovalTrigger[]
  /** Errors that the tool declares to mean that nothing happened (S23). */
  readonly harmlessErrors: readonly string[]
  /** For type http: where it goes in place of the endpoint. `{key}` and `{token}` are filled in (S27). */
  readonly request?: { readonly method: string; readonly url: string }
  /** Made from a named operation: nobody can call it. */
  readonly internal?: true
}

export interface ResolvedTool {
  readonly namespace: string
  readonly name: string
  readonly version: string
  /** `sha256:…` over the canonical resolved spec (S49). */
  readonly digest: string
  readonly type: ToolType
  readonly description: string
  readonly owner: string
  readonly endpoint?: string
  /** The dialect the tool is spoken to in (S7). */
  readonly contract: DialectName
  readonly capabilities: readonly string[]
  readonly riskLevel: RiskLevel
  readonly permissionClass?: string
  readonly dataClassification: DataClassification
  readonly isolation: IsolationMode
  readonly auth?: {
    readonly profile: AuthProfile
    readonly secretRef: string
    readonly headerName?: string
    readonly tokenURL?: string
    readonly scopes: readonly string[]
  }
  /** Empty: the origin of the endpoint alone. */
  readonly netAllowlist: readonly string[]
  /** How far in its addresses may lie; judged on what is dialled. */
  readonly reach: Reach
  /** For type http, where declared. */
  readonly http?: {
    readonly method: string
    readonly contentType: string
    readonly maxRedirects: number
  }
  /** For type webhook-callback, where declared: how often the end is asked for. */
  readonly webhook?: { readonly pollMs: number }
  /** Without TLS, by choice. */
  readonly grpc?: { readonly plaintext: true }
  /** For type cli: the program, and how it is started. */
  readonly cli?: ResolvedCli
  /** For type mcp: the server, and its own name for the tool. */
  readonly mcp?: { readonly server: string; readonly tool: string }
  /** No call is made, whoever asks: its server changed it, or no longer has it. */
  readonly withheld?: { readonly code: 'quarantined' | 'gone'; readonly why: string; readonly fix: string }
  readonly limits: {
    readonly memoryMb?: number
    readonly concurrency?: number
    /** At most `max` calls in any `perMs`. */
    readonly rate?: { readonly max: number; readonly perMs: number }
    readonly inputBytes: number
    readonly outputBytes: number
  }
  /** Reads, too, wait for the disk (S34). */
  readonly auditStrict: boolean
  /** JSON pointers copied into evidence (S40). */
  readonly auditFields: readonly string[]
  readonly deprecation?: {
    readonly deprecatedAt?: number
    readonly removedAt?: number
    readonly replacement?: string
  }
  readonly operations: Readonly<Record<string, ResolvedOperation>>
  /** Who decides about what the approval triggers of its operations ask for. */
  readonly approval: ApprovalRule
  /** Why a tool whose effect cannot be undone runs without any approval rule. */
  readonly approvalWaiver?: string
  /** Declared controls that this build cannot enforce: the call is refused, never run without them (S33). */
  readonly unenforced: readonly {
    readonly path: string
    readonly why: string
    /** What apply advises. */
    readonly fix: string
    /** The row that a call ends in; `control-unavailable` where none is named (S33). */
    readonly failure?: FailureId
  }[]
}
