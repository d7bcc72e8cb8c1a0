// What the stages work with, handed in by the composition root.

import type { Catalog } from '../catalog/catalog.ts'
import type { Approval } from '../contract/approval.ts'
import type { ApprovalEvent } from '../contract/approval-event.ts'
import type { Entry } from '../contract/entry.ts'
import type { Events } from '../event/event.ts'
import type { Authority } from '../governance/authority.ts'
import type { Flights } from '../ledger/flight.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ResolvedTool, ToolType } from '../resource/resolved-tool.ts'
import type { TimerChange } from '../store/store.ts'
import type { Transport } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'
import type { Admission, Slot } from './admission.ts'
import type { Orphans } from './orphans.ts'
import type { Refusals } from './refusals.ts'
import type { CallResult } from './stages.ts'

/** Follows work that tools have taken on, until its end. Holds no more than its name meanwhile. */
export interface AcceptedWork {
  /** `slot` is left when the work has ended: until then it counts as running. */
  follow(entry: Entry, pollInMs: number, slot?: Slot): void
  /** False where this process does not follow it. */
  cancel(entryId: string): boolean
}

export interface Kit {
  readonly world: World
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly flights: Flights<CallResult>
  readonly events: Events
  readonly admission: Admission
  readonly refusals: Refusals
  readonly orphans: Orphans
  /** What governs calls by now: what was taken from a caller since, or stopped, is not granted any more (S36). */
  readonly authority: Authority
  /** Who has to hear of an approval: to be written with it, or neither is. */
  readonly notify: (approval: Approval, event: ApprovalEvent) => readonly TimerChange[]
  /** Origins that whoever asks may be called back at; absent: none. */
  readonly callbackOrigins?: ReadonlySet<string>
  /** Absent: work that a tool takes on is waited for in the attempt. */
  readonly accepted?: AcceptedWork
  /** Aborted when the runtime no longer waits for what nobody asked for. */
  readonly stopping: Abort
  /** A wall clock that never goes back while this process lives: for how long ago something was, not for when. */
  readonly steadyNow: () => number
  /** There where other processes declare tools as well: makes live what they have; true when something changed. */
  readonly refresh?: () => Promise<boolean>
  /** Of the secrets that a tool is sent with; undefined where they cannot be read. Absent: nobody has any. */
  readonly credentialVersion?: (tool: ResolvedTool, abort: Abort) => Promise<string | undefined>
  /** What the tool will be shown for the work of this key, sealed. Undefined where nothing can be sealed. */
  readonly shownNote?: (
    tool: ResolvedTool,
    of: { readonly namespace: string; readonly key: string },
    scopes: readonly string[] | undefined,
    abort: Abort,
  ) => Promise<string | undefined>
  /** The transport of a type; undefined where this build has none (S33). */
  readonly transport: (type: ToolType) => Transport | undefined
}
