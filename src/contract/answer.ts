// What a caller is told: an outcome, or a named open state.
import type { Json, JsonObject } from '../util/json.ts'
import type { Trace } from './call.ts'
import type { EffectState } from './effect.ts'
import type { Failure } from './failure.ts'

/** Final: these never change. */
export const OUTCOMES = ['succeeded', 'failed', 'denied', 'invalid', 'canceled', 'timed-out'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Not final: something is still to be done or found out. */
export const OPEN_STATES = ['running', 'awaiting-approval', 'prepared', 'unknown', 'reconciling'] as const
export type OpenState = (typeof OPEN_STATES)[number]

export type CallState = Outcome | OpenState

export function isOutcome(state: CallState): state is Outcome {
  return (OUTCOMES as readonly string[]).includes(state)
}

/** What a tool says that its last send has cost. */
export interface ToolUsage {
  readonly cpuMs?: number
  readonly memoryPeakMb?: number
}

export interface Usage extends ToolUsage {
  readonly durationMs: number
  /** The number of the last send, 0 if none (S24). */
  readonly attempt: number
}

export interface Answer {
  readonly callId: string
  readonly requestId: string
  readonly state: CallState
  readonly final: boolean
  readonly effect: EffectState
  readonly output?: Json
  /** Set for everything that is not `succeeded`, `running` or `prepared`. */
  readonly failure?: Failure
  readonly usage: Usage
  readonly trace: Trace
  /** `version` and `digest` are absent where nothing was resolved. */
  readonly tool: {
    readonly name: string
    readonly operation: string
    readonly version?: string
    readonly digest?: string
  }
  /** Came from the ledger or from another call's run, not from a send for this call. */
  readonly replayed: boolean
  readonly warnings: readonly string[]
  readonly sideEffects: readonly JsonObject[]
  readonly commitToken?: string
  /** Wall time after which a prepared effect can no longer be committed. */
  readonly commitBy?: number
  readonly saga?: string
}
