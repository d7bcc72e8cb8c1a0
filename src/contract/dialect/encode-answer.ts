// From an answer to its envelope, by dialect. Needs no compiled schema, so stored answers can be shown anywhere.
import type { JsonObject } from '../../util/json.ts'
import type { Answer } from '../answer.ts'
import type { DialectName } from '../call.ts'
import { encodeFourOutcome } from './four-outcome-encoding.ts'
import { encodeLegacy } from './legacy.ts'
import { encodeV1 } from './v1.ts'

const ENCODERS: Readonly<Record<DialectName, (answer: Answer) => JsonObject>> = {
  v1: encodeV1,
  legacy: encodeLegacy,
  'four-outcome': encodeFourOutcome,
}

export function encodeAnswer(dialect: DialectName, answer: Answer): JsonObject {
  return ENCODERS[dialect](answer)
}
