// Writ inside a program: a typed tool, one caller, and what happens when a payment is asked for twice.
import assert from 'node:assert/strict'
import Type from 'typebox'
import { createRuntime, defineTool } from '../src/index.ts'

const sent: string[] = []

const pay = defineTool({
  name: 'pay',
  version: '1.0.0',
  description: 'Pays an invoice.',
  input: Type.Object({ invoice: Type.String(), amount: Type.Number({ exclusiveMinimum: 0 }) }),
  output: Type.Object({ receipt: Type.String() }),
  // Money moves: nobody can take it back, and a second payment of one invoice is a mistake.
  effect: { class: 'financial-high-impact', identity: ['/invoice'] },
  spec: { approval_triggers: [{ field: '/amount', op: 'gt', value: 100, reason: 'more than 100' }] },
  handler: ({ invoice }) => {
    sent.push(invoice)
    return { receipt: `paid-${invoice}` }
  },
})

const runtime = await createRuntime({ tools: [pay] })
const agent = runtime.as({ actor: 'billing-agent', permissions: ['tool:pay:invoke'] })

const first = await agent.call({ tool: 'pay', input: { invoice: 'i-1', amount: 20 }, idempotencyKey: 'i-1' })
assert.equal(first.state, 'succeeded')
assert.deepEqual(first.output, { receipt: 'paid-i-1' })

// The agent lost the answer and asks again: it gets the same one, and nothing is sent.
const again = await agent.call({ tool: 'pay', input: { invoice: 'i-1', amount: 20 }, idempotencyKey: 'i-1' })
assert.equal(again.replayed, true)

// A new key does not help it: the invoice is the identity of the effect.
const sly = await agent.call({ tool: 'pay', input: { invoice: 'i-1', amount: 20 }, idempotencyKey: 'try-2' })
assert.equal(sly.failure?.id, 'effect-repeated')

// Too large to pay without a person, too small a number to be one, and a caller who may not pay at all.
const large = await agent.call({ tool: 'pay', input: { invoice: 'i-2', amount: 5_000 } })
assert.equal(large.state, 'awaiting-approval')
const invalid = await agent.call({ tool: 'pay', input: { invoice: 'i-3', amount: -1 } })
assert.equal(invalid.failure?.id, 'input-invalid')
const stranger = await runtime
  .as({ actor: 'somebody' })
  .call({ tool: 'pay', input: { invoice: 'i-4', amount: 1 } })
assert.equal(stranger.state, 'denied')

assert.deepEqual(sent, ['i-1'])
const answers = [first, again, sly, large, invalid, stranger]
console.log(`${answers.length} calls, ${sent.length} payment sent: ok`)
await runtime.close()
