// Templates at random, here and in Go: the same text, or an error on both sides.
//
// WRIT_TEMPLATE_RUNS sets how many of each kind are tried, WRIT_TEMPLATE_SEED where to begin.
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { parseTemplate } from '../../../src/util/go-template/go-template.ts'
import type { Json } from '../../../src/util/json.ts'
import { data, values } from './arbitrary-data.ts'
import { broken, format, numberLiteral, soup, template } from './arbitrary-template.ts'
import { CASES } from './cases.ts'
import { type GoPeer, startGoPeer } from './go-peer.ts'

const RUNS = Number(process.env.WRIT_TEMPLATE_RUNS ?? 3000)
const SEED = Number(process.env.WRIT_TEMPLATE_SEED ?? 1)

/** The text, or undefined where it is refused. */
function renderHere(
  source: string,
  input: Json,
): { readonly text: string | undefined; readonly why: string } {
  const parsed = parseTemplate(source)
  if (!parsed.ok) return { text: undefined, why: `parse: ${parsed.message}` }
  const result = parsed.template.render(input, { maxSteps: 2_000_000 })
  if (result.ok) return { text: result.text, why: '' }
  // Go has no bound on steps, and none on texts that are not the result.
  fc.pre(!/takes more than|makes a text of more than/.test(result.message))
  return { text: undefined, why: result.message }
}

describe('the same as text/template', () => {
  let peer: GoPeer | string = 'not started'
  before(() => {
    peer = startGoPeer()
  })
  after(async () => {
    if (typeof peer !== 'string') await peer.close()
  })

  async function compare(go: GoPeer, source: string, input: Json): Promise<void> {
    const here = renderHere(source, input)
    const there = await go.render(source, input)
    const shown = `${JSON.stringify(source)} with ${JSON.stringify(input)}; here: ${here.why}; Go: ${there.error}`
    assert.equal(here.text, there.ok ? there.text : undefined, shown)
  }

  async function hold(t: TestContext, kind: fc.Arbitrary<[string, Json]>): Promise<void> {
    if (typeof peer === 'string') {
      t.skip(peer)
      return
    }
    const go = peer
    const property = fc.asyncProperty(kind, ([source, input]) => compare(go, source, input))
    await fc.assert(property, { numRuns: RUNS, seed: SEED, maxSkipsPerRun: 1000 })
  }

  test('for sound templates', (t) => hold(t, fc.tuple(template, data)))
  test('for templates with something wrong', (t) => hold(t, fc.tuple(broken, data)))
  test('for pieces of templates in any order', (t) => hold(t, fc.tuple(soup, data)))
  test('for numbers in every notation', (t) =>
    hold(
      t,
      fc.tuple(
        numberLiteral.map((one) => `{{printf "%v %T" ${one} ${one}}}|{{print ${one}}}`),
        data,
      ),
    ))
  test('for formats of printf', (t) =>
    hold(
      t,
      fc
        .tuple(format, values, fc.constantFrom('', '1', "'é'", '97', '-5', '(len "abc")', '(index "é" 0)'))
        .map(([one, list, constant]): [string, Json] => {
          const items = list.map((_, at) => ` (index .l ${at})`)
          return [`{{printf .f ${constant}${items.join('')}}}`, { f: one, l: list }]
        }),
    ))
  test('for the cases that are written out', async (t) => {
    if (typeof peer === 'string') {
      t.skip(peer)
      return
    }
    for (const [source, input] of CASES) await compare(peer, source, input)
  })
})
