// A budget bounds what is sent, also of reads that their caller does not wait for, or that fail (S38).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalPlace, KINDS, type Life } from './approval-harness.ts'
import { never } from './bounds-fixture.ts'
import { gate, READ, steeredTool } from './harness.ts'

/** As long as a budget can be: no test runs across its end. */
const PERIOD = '9600h'

function twoCalls(life: Life): Promise<void> {
  const budgets = [{ tools: ['look'], period: PERIOD, calls: true, max: 2 }]
  return life.apply({ kind: 'AgentPolicy', metadata: { name: 'p' }, spec: { apply_mode: 'global', budgets } })
}

for (const kind of KINDS) {
  test(`S38: who starts a read, waits for its send and cancels it sends no more than the budget has (${kind})`, async (t) => {
    const look = steeredTool('look', READ)
    const life = await approvalPlace(t, kind).open([look])
    await twoCalls(life)
    const ends: (string | undefined)[] = []
    for (let index = 0; index < 5; index++) {
      const sent = gate()
      look.behave(() => {
        sent.open()
        return never()
      })
      const handle = life.agent.start({ tool: 'look', idempotencyKey: `k${index}` })
      const answer = handle.answer()
      await Promise.race([sent.opened, answer])
      handle.cancel()
      ends.push((await answer).failure?.id)
    }
    assert.deepEqual(ends, ['canceled', 'canceled', 'quota-exhausted', 'quota-exhausted', 'quota-exhausted'])
    assert.equal(look.sends.length, 2)
  })

  test(`S16, S38: a read that failed and is continued by its key takes from the budget each time (${kind})`, async (t) => {
    const look = steeredTool('look', { ...READ, runtime: { retry: { max_attempts: 1 } } })
    const life = await approvalPlace(t, kind).open([look])
    await twoCalls(life)
    look.behave(() => {
      throw new Error('busy')
    })
    const ends: (string | undefined)[] = []
    for (let index = 0; index < 4; index++)
      ends.push((await life.agent.call({ tool: 'look', idempotencyKey: 'k' })).failure?.id)
    assert.deepEqual(
      look.sends.map(({ attempt }) => attempt),
      [1, 2],
    )
    assert.deepEqual(ends.slice(2), ['quota-exhausted', 'quota-exhausted'])
  })

  test(`S38: a read that timed out has spent its share, and one canceled before its send has not (${kind})`, async (t) => {
    const look = steeredTool('look', { ...READ, runtime: { timeout: '50ms', retry: { max_attempts: 1 } } })
    const life = await approvalPlace(t, kind).open([look])
    await twoCalls(life)
    for (let index = 0; index < 3; index++) {
      const handle = life.agent.start({ tool: 'look', idempotencyKey: `unsent${index}` })
      handle.cancel()
      assert.equal((await handle.answer()).failure?.id, 'canceled')
    }
    assert.equal(look.sends.length, 0)
    look.behave(never)
    const ends: (string | undefined)[] = []
    for (let index = 0; index < 3; index++)
      ends.push((await life.agent.call({ tool: 'look', idempotencyKey: `k${index}` })).failure?.id)
    assert.deepEqual(ends, ['timeout', 'timeout', 'quota-exhausted'])
    assert.equal(look.sends.length, 2)
  })
}
