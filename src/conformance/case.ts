// A case: what is tried on a subject, and which requirements it decides. Tied to no test runner.
import type { Checks } from './check.ts'
import type { Probes } from './probe.ts'
import type { RequirementId } from './requirements.ts'
import type { Subject } from './subject.ts'
import type { OperationName } from './tools.ts'

export interface Case {
  readonly id: string
  readonly title: string
  /** Each of them is checked at least once, or the case itself is at fault. */
  readonly requirements: readonly RequirementId[]
  /** Operations that the tool must offer; without them the requirements are not tested, and never passed (S54). */
  readonly needs?: readonly OperationName[]
  /** What reached the tool must be seen; where it cannot be, the requirements are not tested either. */
  readonly looksInside?: true
  run(subject: Subject, check: Checks, probes: Probes): Promise<void>
}
