// What governs one namespace, compiled: asked about every call, made anew when a resource changes. Pure.
import type { Caller } from '../contract/caller.ts'
import type { Decision, RuleMatch, Spend } from '../contract/decision.ts'
import type { DataClassification, ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import type { Json } from '../util/json.ts'

/** Everything that a decision may depend on. */
export interface Facts {
  /** As it was authenticated: what its roles grant by now is looked up with every question. */
  readonly caller: Caller
  /** The agent that the call is made for, where it is not the caller itself. */
  readonly agent?: string
  readonly taskId?: string
  readonly tool: ResolvedTool
  readonly operation: ResolvedOperation
  readonly input: Json | undefined
  /** Wall time. */
  readonly now: number
  /** What budgets have taken so far, in whole millionths by `Spend.budget`, where a policy reads it. */
  readonly spent?: ReadonlyMap<string, number>
  /** What is asked for besides: an undo that needs approval, an effect that repeats another. */
  readonly also: readonly RuleMatch[]
}

/** What a caller holds by now. */
export interface Held {
  /** Narrowed to the scopes of its token. */
  readonly permissions: readonly string[]
  /** Those of them that were granted by name: nothing else counts for what cannot be undone (S41). */
  readonly named: ReadonlySet<string>
  /** The local admin: it holds every permission there is. */
  readonly all?: true
  readonly clearance: DataClassification
  /** Roles that it names and that do not exist: such a caller is denied (W17). */
  readonly missingRoles: readonly string[]
}

export interface Rules {
  /** Another one whenever anything that governs the namespace changed. */
  readonly version: string
  held(caller: Caller): Held
  /** Budgets whose state the decision reads; they have to be in `facts.spent`. Most decisions read none. */
  reads(facts: Facts): readonly Spend[]
  decide(facts: Facts, options?: { readonly explain?: boolean }): Decision
  /** What would be sent: the input as the transforms leave it, which is the very one where none of them applies (S43). */
  narrowed(facts: Facts): Json | undefined
}
