// The dialects of one runtime, and the choice between them by shape.
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { DIALECT_NAMES, type DialectName } from '../call.ts'
import { refuseShape } from './decoding.ts'
import type { Decoded, Dialect, ExpectedReply, Mint, ToolReply } from './dialect.ts'
import { createFourOutcome } from './four-outcome.ts'
import { createLegacy } from './legacy.ts'
import { createV1 } from './v1.ts'

export interface DialectRegistry {
  /** The dialect a request is written in; v1 where nothing says otherwise. */
  recognise(body: JsonObject): Dialect
  get(name: DialectName): Dialect
  /** Recognises and decodes a parsed body, whatever it is. */
  decode(body: Json, mint: Mint): Decoded
  /** Reads a tool's reply in whichever dialect it came (S7). */
  decodeReply(body: Json, expected: ExpectedReply): ToolReply
  /** Whether a body is an envelope rather than a third party's JSON that happens to have a `status`. */
  looksLikeEnvelope(body: Json, expected: ExpectedReply): boolean
}

/** Holds the compiled envelope schemas, each compiled on first use. A runtime makes this once. */
export function createDialects(): DialectRegistry {
  const byName: Readonly<Record<DialectName, Dialect>> = {
    v1: createV1(),
    legacy: createLegacy(),
    'four-outcome': createFourOutcome(),
  }
  // The dialects with marks of their own first; v1 takes the rest.
  const inOrder = [byName['four-outcome'], byName.legacy]
  const recognise = (body: JsonObject) => inOrder.find((dialect) => dialect.recognises(body)) ?? byName.v1

  return {
    recognise,
    get: (name) => byName[name],
    decode(body, mint) {
      if (isJsonObject(body)) return recognise(body).decode(body, mint)
      return refuseShape('v1', mint, { idField: 'request_id' }, [
        { path: '', message: 'must be a JSON object' },
      ])
    },
    decodeReply(body, expected) {
      if (!isJsonObject(body)) {
        return { kind: 'malformed', violations: [{ path: '', message: 'must be a JSON object' }] }
      }
      const dialect = inOrder.find((candidate) => candidate.recognisesReply(body)) ?? byName.v1
      return dialect.decodeReply(body, expected)
    },
    looksLikeEnvelope: (body, expected) =>
      isJsonObject(body) && DIALECT_NAMES.some((name) => byName[name].looksLikeEnvelope(body, expected)),
  }
}
