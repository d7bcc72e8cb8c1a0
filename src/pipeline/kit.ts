// What the stages work with, handed in by the composition root.

import type { Catalog } from '../catalog/catalog.ts'
import type { Approval } from '../contract/approval.ts'
import type { ApprovalEvent } from '../contract/approval-event.ts'
import type { Events } from '../event/event.ts'
import type { Authority } from '../governance/authority.ts'
import type { Flights } from '../ledger/flight.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ToolType } from '../resource/resolved-tool.ts'
import type { TimerChange } from '../store/store.ts'
import type { Transport } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'
import type { Admission } from './admission.ts'
import type { Refusals } from './refusals.ts'
import type { CallResult } from './stages.ts'

export interface Kit {
  readonly world: World
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly flights: Flights<CallResult>
  readonly events: Events
  readonly admission: Admission
  readonly refusals: Refusals
  /** What governs calls by now: what was taken from a caller since, or stopped, is not granted any more (S36). */
  readonly authority: Authority
  /** Who has to hear of an approval: to be written with it, or neither is. */
  readonly notify: (approval: Approval, event: ApprovalEvent) => readonly TimerChange[]
  /** Origins that whoever asks may be called back at; absent: none. */
  readonly callbackOrigins?: ReadonlySet<string>
  /** Aborted when the runtime no longer waits for what nobody asked for. */
  readonly stopping: Abort
  /** A wall clock that never goes back while this process lives: for how long ago something was, not for when. */
  readonly steadyNow: () => number
  /** There where other processes declare tools as well: makes live what they have; true when something changed. */
  readonly refresh?: () => Promise<boolean>
  /** The transport of a type; undefined where this build has none (S33). */
  readonly transport: (type: ToolType) => Transport | undefined
}
