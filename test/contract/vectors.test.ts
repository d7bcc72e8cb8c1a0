// The golden vectors hold for this implementation.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { generateVectors, VECTORS_ROOT } from '../../scripts/vectors.ts'
import { DIALECT_NAMES } from '../../src/contract/call.ts'
import { encodeAnswer } from '../../src/contract/dialect/encode-answer.ts'
import { answerRefused } from '../../src/contract/dialect/refused-answer.ts'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import type { FailureId } from '../../src/contract/failures.ts'
import { SCHEMAS } from '../../src/contract/schema/registry.ts'
import type { JsonObject, Violation } from '../../src/util/json.ts'
import { compileSchema } from '../../src/util/json-schema.ts'
import { counterMint } from './support.ts'

interface RequestVector {
  readonly name: string
  readonly request: JsonObject
  readonly expect: {
    readonly ok: boolean
    readonly call?: object
    readonly absent?: readonly string[]
    readonly failure?: FailureId
    readonly violation_paths?: readonly string[]
    readonly details?: object
    readonly missing?: readonly string[]
    readonly suggests?: string
    readonly response?: object
    readonly never_contains?: string
  }
}

const filesIn = (dialect: string, prefix: string) =>
  readdirSync(join(VECTORS_ROOT, dialect)).filter((file) => file.startsWith(prefix))

const dialects = createDialects()

describe('golden request vectors', () => {
  for (const dialect of DIALECT_NAMES) {
    for (const file of filesIn(dialect, 'request-')) {
      const vector = JSON.parse(readFileSync(join(VECTORS_ROOT, dialect, file), 'utf8')) as RequestVector
      it(vector.name, () => {
        const { expect } = vector
        assert.equal(dialects.recognise(vector.request).name, dialect)
        const decoded = dialects.decode(vector.request, counterMint())
        assert.equal(decoded.ok, expect.ok, decoded.ok ? 'was read' : decoded.failure.message)
        if (decoded.ok) {
          assert.partialDeepStrictEqual(decoded.call, expect.call)
          for (const field of expect.absent ?? []) assert.ok(!(field in decoded.call), `${field} is absent`)
          return
        }
        assert.equal(decoded.failure.id, expect.failure)
        const violations = (decoded.failure.details.violations ?? []) as unknown as readonly Violation[]
        assert.deepEqual(violations.map((one) => one.path).sort(), expect.violation_paths)
        if (expect.details) assert.partialDeepStrictEqual(decoded.failure.details, expect.details)
        for (const field of expect.missing ?? []) {
          assert.ok(
            violations.some((one) => one.message.includes(`'${field}'`)),
            `${field}: ${JSON.stringify(violations)}`,
          )
        }
        const { suggests } = expect
        if (suggests !== undefined) {
          assert.ok(
            violations.some((one) => one.message.includes(suggests)),
            JSON.stringify(violations),
          )
        }
        const response = encodeAnswer(decoded.call.dialect, answerRefused(decoded.call, decoded.failure, 1))
        assert.deepEqual(compileSchema(SCHEMAS[`${dialect}-response`]).check(response), [])
        if (expect.response) assert.partialDeepStrictEqual(response, expect.response)
        if (expect.never_contains !== undefined) {
          assert.ok(!JSON.stringify([decoded, response]).includes(expect.never_contains))
        }
      })
    }
  }
})

describe('golden response vectors', () => {
  const generated = generateVectors()

  it('are byte for byte what the sources say; after a meant change run `node scripts/vectors.ts`', () => {
    for (const [path, text] of generated) {
      assert.equal(readFileSync(join(VECTORS_ROOT, path), 'utf8'), text, path)
    }
  })

  it('has no file that nothing generates', () => {
    const found = DIALECT_NAMES.flatMap((dialect) =>
      filesIn(dialect, 'response-').map((file) => `${dialect}/${file}`),
    )
    assert.deepEqual(found.sort(), [...generated.keys()].sort())
  })

  for (const dialect of DIALECT_NAMES) {
    it(`validate against the response schema of ${dialect}`, () => {
      const schema = compileSchema(SCHEMAS[`${dialect}-response`])
      for (const [path, text] of generated) {
        if (!path.startsWith(`${dialect}/`)) continue
        assert.deepEqual(schema.check((JSON.parse(text) as { response: JsonObject }).response), [], path)
      }
    })
  }
})
