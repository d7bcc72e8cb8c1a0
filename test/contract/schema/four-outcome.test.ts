// The four-outcome schemas are seed 004's, and its types are theirs.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type FourOutcomeRequest,
  FourOutcomeRequestSchema,
  type FourOutcomeResponse,
  FourOutcomeResponseSchema,
} from '../../../src/contract/schema/four-outcome.ts'
import type { ToolRequest, ToolResponse } from '../../../src/toolkit.ts'
import seedRequest from '../fixtures/seed-004-request.json' with { type: 'json' }
import seedResponse from '../fixtures/seed-004-response.json' with { type: 'json' }

/** As plain JSON, without what we add. */
function ours(schema: object) {
  const { $id, title, ...rest } = JSON.parse(JSON.stringify(schema))
  assert.match($id, /^https:\/\/writ\.dev\/schema\/four-outcome\//)
  assert.equal(typeof title, 'string')
  return rest
}

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Flat<T> = T extends (infer I)[]
  ? Flat<I>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { [K in keyof T]: Flat<T[K]> }
    : T

describe('S6: the four-outcome schemas', () => {
  it("are seed 004's request schema, field by field, with its input reference opened", () => {
    const { properties } = seedRequest
    assert.deepEqual(properties.input, { $ref: 'input.json#' })
    assert.deepEqual(ours(FourOutcomeRequestSchema), {
      ...seedRequest,
      properties: { ...properties, input: {} },
    })
  })

  it("are seed 004's response schema, field by field, with its output reference opened", () => {
    const { properties } = seedResponse
    assert.deepEqual(properties.output, { $ref: 'output.json#' })
    assert.deepEqual(ours(FourOutcomeResponseSchema), {
      ...seedResponse,
      properties: { ...properties, output: {} },
    })
  })

  it('have the static types that writ/toolkit exports: this compiles', () => {
    const same: [
      Equal<Flat<FourOutcomeRequest>, Flat<ToolRequest>>,
      Equal<Flat<FourOutcomeResponse>, Flat<ToolResponse>>,
    ] = [true, true]
    assert.deepEqual(same, [true, true])
  })
})
