// The check that several groups share: a call that was refused never reached its tool.
import type { Checks } from '../check.ts'
import type { RequirementId } from '../requirements.ts'
import type { Subject } from '../subject.ts'

/** Passes over tools that cannot be looked into. `mark` is in the input of the call. */
export function checkNotSent(
  subject: Subject,
  check: Checks,
  requirement: RequirementId,
  what: string,
  mark: string,
): void {
  const sends = subject.sends(mark)
  if (sends !== undefined) check.equal(requirement, `${what}: sends that reached the tool`, sends.length, 0)
}
