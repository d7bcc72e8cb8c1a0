// Any single byte of an export that means something is missed when it is changed (S39).
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { threeLives, verify } from './audit-fixture.ts'

describe('S39: any byte of a record, link or checkpoint', () => {
  it('that changes what a line means is noticed', async () => {
    const lines = await threeLives()
    const places = lines.flatMap((text, at) =>
      ['record', 'link', 'checkpoint'].includes(JSON.parse(text).kind) ? [at] : [],
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...places),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (at, seed, flip) => {
          const bytes = Buffer.from(lines[at] as string)
          const index = seed % bytes.length
          bytes[index] = (bytes[index] as number) ^ flip
          fc.pre(!meansTheSame(bytes, lines[at] as string))
          const { ok } = await verify([...lines.slice(0, at), bytes, ...lines.slice(at + 1)])
          assert.equal(ok, false, `line ${at + 1}, byte ${index}: ${bytes.toString()}`)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

function meansTheSame(bytes: Buffer, text: string): boolean {
  if (!isUtf8(bytes)) return false
  try {
    return isDeepStrictEqual(JSON.parse(bytes.toString()), JSON.parse(text))
  } catch {
    return false
  }
}
