// What the stages work with, handed in by the composition root.
import type { Catalog } from '../catalog/catalog.ts'
import type { Events } from '../event/event.ts'
import type { Flights } from '../ledger/flight.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ToolType } from '../resource/resolved-tool.ts'
import type { Transport } from '../transport/transport.ts'
import type { World } from '../util/world.ts'
import type { Admission } from './admission.ts'
import type { CallResult } from './stages.ts'

export interface Kit {
  readonly world: World
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly flights: Flights<CallResult>
  readonly events: Events
  readonly admission: Admission
  /** The transport of a type; undefined where this build has none (S33). */
  readonly transport: (type: ToolType) => Transport | undefined
}
