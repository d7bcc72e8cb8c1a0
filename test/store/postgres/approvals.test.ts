// Approvals over replicas of one PostgreSQL: decided anywhere, used once (S38, S45).
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Answer } from '../../../src/contract/answer.ts'
import { createRuntime } from '../../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../../src/runtime-api.ts'
import { payTool } from '../../pipeline/approval-harness.ts'
import { EVERYTHING, type SteeredTool } from '../../pipeline/harness.ts'
import { until } from '../../pipeline/until.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

interface Replica {
  readonly runtime: Runtime
  readonly agent: CallerDoor
  person(actor: string): CallerDoor
}

const DECIDES = ['approval:read', 'approval:decide', 'grant:write']

async function replicas(t: TestContext, tools: readonly SteeredTool[]): Promise<readonly [Replica, Replica]> {
  const url = await server.createDatabase()
  const start = async (): Promise<Replica> => {
    const runtime = await createRuntime({
      store: { kind: 'postgres', url, poolSize: 3 },
      tools: tools.map(({ definition }) => definition),
      onWarning: () => {},
    })
    t.after(() => runtime.close({ drainMs: 0 }))
    return {
      runtime,
      agent: runtime.as({ actor: 'agent-a', kind: 'agent', permissions: EVERYTHING }),
      person: (actor) => runtime.as({ actor, kind: 'person', permissions: DECIDES }),
    }
  }
  const both = [await start(), await start()] as const
  for (const { runtime } of both) await until(async () => (await runtime.health()).ready)
  return both
}

const pays = ({ agent }: Replica, amount: number, key: string) =>
  agent.call({ tool: 'pay', input: { amount }, idempotencyKey: key })
const idOf = (answer: Answer) => String(answer.failure?.details.approval_id)
const endOf = ({ agent }: Replica, callId: string) =>
  until(async () => {
    const call = await agent.getCall(callId)
    return call?.answer?.final === true && call.answer
  })

test('S45: asked on one replica, decided on two at once: one of them counts, and the call runs once', async (t) => {
  const pay = payTool()
  const [a, b] = await replicas(t, [pay])
  for (let round = 0; round < 5; round++) {
    const asked = await pays(a, 500 + round, `k${round}`)
    const results = await Promise.all([
      a.person('ann').approve(idOf(asked)),
      b.person('bob').approve(idOf(asked)),
      b.person('cid').deny(idOf(asked), { reason: 'no' }),
    ])
    assert.equal(results.filter(({ kind }) => kind === 'ok').length, 1, JSON.stringify(results))
    const denied = results[2]?.kind === 'ok'
    const [here, there] = await Promise.all([endOf(a, asked.callId), endOf(b, asked.callId)])
    assert.deepEqual([here.state, there.state], denied ? ['denied', 'denied'] : ['succeeded', 'succeeded'])
    assert.equal(pay.sends.filter(({ callId }) => callId === asked.callId).length, denied ? 0 : 1)
    const again = await pays(b, 500 + round, `k${round}`)
    assert.equal(again.replayed, true)
  }
})

test('S38: a grant with three uses is used three times, on whichever replica', async (t) => {
  const pay = payTool()
  const [a, b] = await replicas(t, [pay])
  const made = await a.person('ann').makeGrant({ tool: 'pay', ttlMs: 600_000, maxUses: 3 })
  assert.equal(made.kind, 'ok', JSON.stringify(made))
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => pays(index % 2 === 0 ? a : b, 500 + index, `k${index}`)),
  )
  assert.equal(answers.filter(({ state }) => state === 'succeeded').length, 3)
  assert.equal(answers.filter(({ state }) => state === 'awaiting-approval').length, 7)
  assert.equal(pay.sends.length, 3)
})

test('S10: a joiner on another replica that waits through the approval hears the end', async (t) => {
  const pay = payTool()
  const [a, b] = await replicas(t, [pay])
  const asked = await pays(a, 500, 'k')
  const request = { tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' }
  const heard = b.agent.call(request, { waitMs: 20_000, throughApproval: true })
  assert.equal((await a.person('ann').approve(idOf(asked))).kind, 'ok')
  const answer = await heard
  assert.deepEqual([answer.state, answer.output, answer.replayed], ['succeeded', 'paid', true])
})
