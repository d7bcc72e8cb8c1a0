// What a run found, by requirement and by group.

import type { Case } from './case.ts'
import type { CheckLog } from './check.ts'
import type { Probes } from './probe.ts'
import { GROUPS, REQUIREMENTS, type RequirementId, UNCOVERED } from './requirements.ts'
import type { Subject } from './subject.ts'

/** From best to worst; a group is what its worst requirement is. */
export const STATUSES = ['passed', 'limited', 'not-tested', 'failed'] as const
export type Status = (typeof STATUSES)[number]

/** How one case went. */
export interface CaseRun {
  readonly case: Case
  /** Absent when it did not run: `skipped` says why. */
  readonly checks?: CheckLog
  readonly skipped?: string
  /** It ended before its last check. */
  readonly broke?: string
  readonly durationMs: number
}

export interface RequirementReport {
  readonly id: RequirementId
  readonly group: string
  readonly text: string
  readonly source: string
  readonly status: Status
  /** Why it is not passed. */
  readonly reasons: readonly string[]
  readonly checks: number
  readonly cases: readonly string[]
  readonly durationMs: number
}

export interface GroupReport {
  readonly id: string
  readonly title: string
  readonly status: Status
  readonly passed: number
  readonly total: number
}

export interface Report {
  readonly subject: string
  /** When it began, in epoch milliseconds. */
  readonly startedAt: number
  readonly durationMs: number
  /** Every requirement passed. One that is limited is not met, so it does not count. */
  readonly ready: boolean
  readonly counts: Readonly<Record<Status, number>>
  readonly operations: Probes
  readonly groups: readonly GroupReport[]
  readonly requirements: readonly RequirementReport[]
}

export function makeReport(
  subject: Subject,
  runs: readonly CaseRun[],
  facts: Pick<Report, 'startedAt' | 'durationMs' | 'operations'>,
): Report {
  const requirements = REQUIREMENTS.map((requirement): RequirementReport => {
    const own = runs.filter((run) => run.case.requirements.includes(requirement.id))
    return {
      ...requirement,
      ...verdict(requirement.id, own, subject),
      checks: own.reduce((sum, run) => sum + (run.checks?.count(requirement.id) ?? 0), 0),
      cases: own.map((run) => run.case.id),
      durationMs: Math.round(own.reduce((sum, run) => sum + run.durationMs, 0)),
    }
  })
  const counts = Object.fromEntries(
    STATUSES.map((status) => [status, requirements.filter((one) => one.status === status).length]),
  ) as Record<Status, number>
  return {
    subject: subject.name,
    ...facts,
    ready: counts.passed === requirements.length,
    counts,
    groups: GROUPS.map(({ id, title }) => {
      const own = requirements.filter((one) => one.group === id)
      return {
        id,
        title,
        status: worst(own.map(({ status }) => status)),
        passed: own.filter(({ status }) => status === 'passed').length,
        total: own.length,
      }
    }),
    requirements,
  }
}

/** Failed wins over not tested, and that over limited: what was only tested in part is never passed (S54). */
function verdict(
  id: RequirementId,
  runs: readonly CaseRun[],
  subject: Subject,
): Pick<RequirementReport, 'status' | 'reasons'> {
  const failures = runs.flatMap((run) => failuresOf(run, id))
  if (failures.length > 0) return { status: 'failed', reasons: failures }
  const untested = runs.length === 0 ? [UNCOVERED[id] ?? 'no case'] : runs.flatMap((run) => run.skipped ?? [])
  if (untested.length > 0) return { status: 'not-tested', reasons: [...new Set(untested)] }
  const limitation = subject.limitations[id]
  return limitation === undefined
    ? { status: 'passed', reasons: [] }
    : { status: 'limited', reasons: [limitation] }
}

function failuresOf(run: CaseRun, id: RequirementId): readonly string[] {
  if (run.checks === undefined) return []
  const failures = run.checks.failures(id)
  const nothing = failures.length === 0 && run.checks.count(id) === 0 ? ['nothing was checked'] : []
  const all = [...failures, ...(run.broke === undefined ? nothing : [run.broke])]
  return all.map((failure) => `${run.case.id}: ${failure}`)
}

function worst(statuses: readonly Status[]): Status {
  return STATUSES[Math.max(0, ...statuses.map((status) => STATUSES.indexOf(status)))] ?? 'failed'
}
