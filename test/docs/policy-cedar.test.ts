// The examples of the guide on Cedar are checked against the tool that it shows, and answer as its tables say.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import type { ActorKind } from '../../src/contract/caller.ts'
import type { DecisionKind } from '../../src/contract/decision.ts'
import { stricter } from '../../src/contract/decision.ts'
import { cedarSchema } from '../../src/governance/cedar/cedar-schema.ts'
import { checkCedar } from '../../src/governance/cedar/check-cedar.ts'
import { compileCedar } from '../../src/governance/cedar/compile-cedar.ts'
import { resolveTool } from '../../src/resource/resolve-tool.ts'
import type { ToolManifest } from '../../src/resource/tool.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { Json } from '../../src/util/json.ts'
import { engine, facts, lines, policy, role, setOf } from '../governance/cedar/support.ts'
import { LOCAL } from '../resource/support.ts'
import { pageOf, textOf } from './guide.ts'

const PATH = 'docs/guide/policy-cedar.md'
const text = textOf(PATH)
const page = pageOf(PATH)
const manifest = (kind: string) =>
  page.fences.find((fence) => fence.text.includes(`kind: ${kind}\n`))?.text ?? ''
const { tool: pay } = resolveTool(parse(manifest('Tool')) as ToolManifest, LOCAL)
const BUDGET = { tools: [], per: 'caller', periodMs: 86_400_000, sum: '/amount', max: 1_000_000_000 } as const

interface Row {
  readonly input: Json
  readonly roles?: readonly string[]
  readonly kind?: ActorKind
  readonly at?: string
  readonly spent?: number
}

/** Each example with the rows of the table after it. */
const EXAMPLES = page.fences
  .filter(({ language }) => language === 'cedar')
  .map(({ text: cedar, line }) => {
    const after = text.split('\n').slice(line + cedar.split('\n').length)
    const end = after.findIndex((one) => one.startsWith('```') || one.startsWith('#'))
    const rows = after.slice(0, end).flatMap((one) => {
      const [, call, answer] = /^\| `(\{.*\})` \| `([\w-]+)` \|$/.exec(one) ?? []
      return call === undefined || answer === undefined ? [] : [{ call: JSON.parse(call) as Row, answer }]
    })
    return { cedar, line, rows }
  })

describe('the guide on Cedar', () => {
  it('has examples, each with calls', () => {
    assert.ok(pay)
    assert.equal(EXAMPLES.length, 5)
    for (const { rows } of EXAMPLES) assert.ok(rows.length >= 2)
  })

  for (const { cedar, line, rows } of EXAMPLES) {
    it(`line ${line} is without fault and answers as the table says`, () => {
      assert.ok(pay)
      const set = setOf([policy(cedar, { name: 'payments', budgets: [BUDGET] })], role('finance'))
      assert.deepEqual(lines(checkCedar(set, [pay], engine)), [])
      const compiled = compileCedar(set, engine)
      for (const { call, answer } of rows) {
        const { input, roles = [], kind = 'agent', at = '2026-11-16T09:00:00Z', spent = 0 } = call
        const made = facts({
          tool: pay,
          input,
          caller: { roles, kind },
          now: new Date(at).getTime(),
          spent: new Map([['payments#0', Math.round(spent * 1e6)]]),
        })
        const decisions = compiled?.matches(made).map(({ decision }) => decision) ?? []
        const strictest = decisions.reduce<DecisionKind | 'none'>(
          (one, other) => (one === 'none' ? other : stricter(one, other)),
          'none',
        )
        assert.equal(strictest, answer, JSON.stringify(call))
      }
    })
  }

  it('shows manifests that apply together without a warning', async (t) => {
    const runtime = await createRuntime()
    t.after(() => runtime.close({ drainMs: 0 }))
    const both = `${manifest('Tool')}\n---\n${manifest('AgentPolicy')}`
    const applied = await runtime.resources.apply([{ text: both, file: 'guide.yaml' }])
    assert.equal(applied.ok, true, JSON.stringify(applied))
    assert.deepEqual(applied.problems, [])
  })

  it('names every attribute of the schema, every annotation and every code', () => {
    const shown = new Set(page.code.map(({ text: code }) => code))
    const { Writ } = cedarSchema(
      [{ operation: { name: 'invoke', classes: [] }, input: { kind: 'Record', fields: new Map() } }],
      [],
    )
    assert.ok(Writ)
    const attributesOf = (shape: unknown) => Object.keys((shape as { attributes: object }).attributes)
    const { Tool, Agent } = Writ.entityTypes as Record<string, { shape: unknown }>
    const context = Writ.actions.invoke?.appliesTo?.context
    const time = (context as { attributes: { time: unknown } } | undefined)?.attributes.time
    const names = [
      ...attributesOf(Tool?.shape),
      ...attributesOf(Agent?.shape),
      ...attributesOf(context).filter((name) => name !== 'time' && name !== 'spend'),
      ...attributesOf(time).map((name) => `time.${name}`),
    ]
    assert.deepEqual(
      names.filter((name) => !shown.has(name)),
      [],
    )
    for (const code of [
      'permitted',
      'not-permitted',
      'approval',
      'escalated',
      'denied',
      'unjudged',
      'failed',
    ]) {
      assert.ok(shown.has(`cedar-${code}`), code)
    }
  })
})
