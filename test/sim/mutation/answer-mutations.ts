// The rules of what an answer of a tool means.
import { type Mutation, one } from './mutation.ts'

const EXCHANGE = 'src/transport/http-exchange.ts'
const STATUS = 'src/transport/http-status.ts'

export const ANSWER_MUTATIONS: readonly Mutation[] = [
  one(
    'unclear-statuses-are-not-definite',
    'S23',
    STATUS,
    `return operation.effect.refusedOn.includes(status)`,
    `return operation.effect.refusedOn.includes(status) || status >= 400`,
  ),
  one(
    'refusals-are-definite',
    'S23',
    STATUS,
    `return operation.effect.refusedOn.includes(status)`,
    `return operation.effect.refusedOn.includes(status) && status === 429`,
  ),
  one(
    'cut-refusals-are-not-definite',
    'S23',
    STATUS,
    `definite: flaw === undefined && isDefiniteStatus(status, operation),`,
    `definite: isDefiniteStatus(status, operation),`,
  ),
  one(
    'only-declared-errors-are-harmless',
    'S23',
    'src/transport/envelope-reply.ts',
    `(said.harmless || operation.harmlessErrors.includes(said.code))`,
    `(said.harmless || operation.harmlessErrors.length >= 0)`,
  ),
  one(
    'declared-errors-are-harmless',
    'S23',
    'src/transport/envelope-reply.ts',
    `(said.harmless || operation.harmlessErrors.includes(said.code))`,
    `said.harmless`,
  ),
  one(
    'broken-output-is-unknown',
    'S23',
    'src/pipeline/verify.ts',
    `effect: readOnly ? 'none' : undone,`,
    `effect: readOnly ? 'none' : 'not-done',`,
  ),
  one(
    'sent-boundary',
    'S22',
    EXCHANGE,
    `this.#end({ kind: 'broken', sent: this.#started, code })`,
    `this.#end({ kind: 'broken', sent: false, code })`,
    'the attempt keeps its own mark of the sent boundary; the reply alone calls it definite',
  ),
]
