// What a dry run of a call came to, for whoever asked why (S17).
import type { Answer } from '../contract/answer.ts'
import {
  authorizeDetails,
  changesNeeded,
  type ExplainedDecision,
  type Governing,
  governingOf,
} from '../contract/explanation.ts'
import type { Failure } from '../contract/failure.ts'
import type { Json } from '../util/json.ts'
import { type Granted, type Received, STAGES, type StageReport, sentInput } from './stages.ts'

interface Explained {
  readonly decision: ExplainedDecision
  readonly stages: readonly StageReport[]
  readonly governing?: Governing
  readonly changes: readonly string[]
  readonly sends?: Json
  readonly failure?: Failure
}

export function explanationOf(received: Received, { failure, state }: Answer): Explained {
  const reports = received.reports ?? []
  const governing = governingOf(authorizeDetails(reports))
  const waits = reports.some((report) => report.verdict === 'suspend')
  const decision = failure === undefined ? runs(received, waits) : state === 'denied' ? 'deny' : 'error'
  const sends = failure === undefined ? sentInput(received as Granted).input : undefined
  return {
    decision,
    stages: notReached(reports),
    changes: changesNeeded(decision, governing, failure?.details),
    ...(governing === undefined ? {} : { governing }),
    ...(sends === undefined ? {} : { sends }),
    ...(failure === undefined ? {} : { failure }),
  }
}

/** Nothing stands in the way but, where it waits, people. Somebody may have agreed to calls like it beforehand. */
function runs({ decision }: Received & Partial<Granted>, waits: boolean): ExplainedDecision {
  if (waits) return decision?.kind === 'escalate' ? 'escalate' : 'require-approval'
  return decision !== undefined && decision.narrowings.length > 0 ? 'transform' : 'allow'
}

export function notReached(reports: readonly StageReport[]): StageReport[] {
  const rest = STAGES.slice(reports.length).map(
    (stage): StageReport => ({ stage, verdict: 'not-reached', reason: '', details: {} }),
  )
  return [...reports, ...rest]
}
