// A runtime that is wrong in one way, and what it is made with: a real subject with one of its answers, records or
// controls changed on the way to the cases.
import type { BackendName } from '../../../src/conformance/backend/registry.ts'
import type { RequirementId } from '../../../src/conformance/requirements.ts'
import type { CallerChoice, StartedCall, Subject, SubjectEvent } from '../../../src/conformance/subject.ts'
import type { CallEndedEvent } from '../../../src/event/event.ts'
import { isJsonObject, type JsonObject } from '../../../src/util/json.ts'

export interface Mutant {
  readonly what: string
  readonly breaks: readonly RequirementId[]
  /** Of the subject that is changed. @default 'native' */
  readonly backend?: BackendName
  mutate(subject: Subject): Partial<Subject>
  /** A life that remembers nothing is right again: what is wrong is in what the first one remembers. */
  readonly firstLifeOnly?: true
}

export function createMutant(mutant: Mutant, subject: Subject): Subject {
  return {
    ...subject,
    reborn: async () => {
      const other = await subject.reborn()
      return mutant.firstLifeOnly ? other : createMutant(mutant, other)
    },
    ...mutant.mutate(subject),
  }
}

type Change = (answer: JsonObject, request: JsonObject, as: CallerChoice | undefined) => JsonObject

export const answers =
  (change: Change) =>
  (subject: Subject): Partial<Subject> => ({
    start(request, as): StartedCall {
      const call = subject.start(request, as)
      return { ...call, answer: async () => change(await call.answer(), request, as) }
    },
  })

export const requests =
  (change: (request: JsonObject, subject: Subject) => JsonObject) =>
  (subject: Subject): Partial<Subject> => ({
    start: (request, as) => subject.start(change(request, subject), as),
  })

export const events =
  (change: (one: SubjectEvent) => readonly SubjectEvent[]) =>
  (subject: Subject): Partial<Subject> => ({ events: () => subject.events().flatMap(change) })

export const ended = (change: (event: CallEndedEvent) => CallEndedEvent) =>
  events((one) => [one.name === 'call:ended' ? { name: one.name, event: change(one.event) } : one])

export const toolOf = (request: JsonObject) => (isJsonObject(request.tool) ? request.tool.name : undefined)
export const errorOf = (answer: JsonObject) => (isJsonObject(answer.error) ? answer.error : {})
export const detailsOf = (answer: JsonObject) => {
  const { details } = errorOf(answer)
  return isJsonObject(details) ? details : {}
}
export const withError = (answer: JsonObject, error: JsonObject): JsonObject => ({
  ...answer,
  error: { ...errorOf(answer), ...error },
})
export const succeeded = ({ error: _, ...answer }: JsonObject): JsonObject => ({
  ...answer,
  status: 'ok',
  output: {},
})

/** A leak: one more line, made of what came in. */
export const leaks =
  (pick: (request: JsonObject) => unknown) =>
  (subject: Subject): Partial<Subject> => {
    const lines: string[] = []
    return {
      start(request, as) {
        lines.push(JSON.stringify(pick(request)) ?? '')
        return subject.start(request, as)
      },
      said: async () => `${await subject.said()}\n${lines.join('\n')}`,
    }
  }
