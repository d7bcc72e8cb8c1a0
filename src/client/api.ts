// The shapes of the API beside calls, as a client reads them.
import type { ExplainedDecision, Governing } from '../contract/explanation.ts'
import type { CallResource } from '../contract/schema/call-resource.ts'
import type { Json, JsonObject } from '../util/json.ts'

export interface CallPage {
  readonly calls: readonly CallResource[]
  /** Goes into the next `listCalls`; null on the last page. */
  readonly next_cursor: string | null
}

/** A declared resource as the server keeps it. A tool of the server's own program has no dates and versions of its own. */
export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly resourceVersion?: number
    readonly generation?: number
    readonly createdAt?: string
    readonly updatedAt?: string
  }
  readonly spec: JsonObject
  readonly status: {
    /** What calls are pinned to. */
    readonly digest: string
    /** More, of kinds that something is found out about. */
    readonly [name: string]: Json | undefined
  }
}

/** What is wrong with a manifest, where, and how to mend it. */
export interface ManifestProblem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly path: string
  /** Where inside the text at `path`, such as Cedar. */
  readonly inside?: { readonly line: number; readonly column: number }
  readonly message: string
  readonly fix?: string
  readonly severity: 'error' | 'warning'
}

/** One resource, and what apply does to it. */
export interface ResourceDiff {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly action: 'create' | 'update' | 'unchanged'
  readonly changes: readonly {
    readonly op: 'add' | 'remove' | 'change'
    readonly path: string
    readonly from?: Json
    readonly to?: Json
  }[]
}

export interface ApplyReply {
  /** False: nothing was written. */
  readonly ok: boolean
  readonly dry_run: boolean
  readonly diff: readonly ResourceDiff[]
  readonly problems: readonly ManifestProblem[]
  readonly resources: readonly Resource[]
}

export interface ExplainReply {
  readonly decision: ExplainedDecision
  /** What decided; absent where the call would end before any rule is asked. */
  readonly governing?: Governing
  /** What would have to change for the call to be sent at once, one sentence each. */
  readonly changes: readonly string[]
  /** What would be sent, as policy leaves it. */
  readonly sends?: Json
  readonly stages: readonly {
    readonly stage: string
    readonly verdict: 'ok' | 'end' | 'suspend' | 'not-reached'
    readonly reason: string
    readonly details: JsonObject
  }[]
  /** What the caller would be told, as `error` in v1; absent where the call would run. */
  readonly error?: {
    readonly code: string
    readonly reason: string
    readonly retryable: boolean
    readonly message: string
    readonly details: JsonObject
  }
}

export interface HealthReply {
  readonly ready: boolean
  readonly reasons: readonly string[]
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>
  /** The server's wall time, where it told it. */
  readonly at?: number
}
