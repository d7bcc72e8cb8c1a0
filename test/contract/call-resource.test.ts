// The Call resource (S8).
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallRecord, DIALECT_NAMES } from '../../src/contract/call.ts'
import { encodeCallResource } from '../../src/contract/dialect/call-resource.ts'
import { createFailure } from '../../src/contract/projection.ts'
import { SCHEMAS } from '../../src/contract/schema/registry.ts'
import { compileSchema } from '../../src/util/json-schema.ts'
import { anAnswer } from './support.ts'

const record: CallRecord = {
  namespace: 'default',
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  requestId: 'req-1',
  dialect: 'v1',
  actor: 'local-admin',
  tool: 'crm.update',
  operation: 'invoke',
  state: 'running',
  effect: 'pending',
  epoch: 'e1',
  createdAt: 1_700_000_000_000,
}
const schema = compileSchema(SCHEMAS.call)

describe('S8: the Call resource', () => {
  it('shows a running call without an envelope, also where somebody was told that it runs', () => {
    const { output: _, ...told } = anAnswer({ state: 'running', final: false })
    for (const one of [record, { ...record, answer: told }]) {
      const resource = encodeCallResource(one)
      assert.deepEqual(schema.check(resource), [])
      assert.equal(resource.final, false)
      assert.ok(!('answer' in resource) && !('ended_at' in resource))
      assert.equal(resource.created_at, '2023-11-14T22:13:20.000Z')
    }
  })

  it('S26: says in every dialect until when a prepared call can be committed', () => {
    const commitBy = 1_700_000_600_000
    const answer = anAnswer({
      state: 'prepared',
      effect: 'prepared',
      final: false,
      commitToken: 't',
      commitBy,
    })
    for (const dialect of DIALECT_NAMES) {
      const resource = encodeCallResource({
        ...record,
        dialect,
        state: 'prepared',
        effect: 'prepared',
        answer,
      })
      const told = resource.answer as { commit_by?: string; provenance?: { commit_by?: string } }
      assert.equal(told.commit_by ?? told.provenance?.commit_by, '2023-11-14T22:23:20.000Z', dialect)
      assert.deepEqual(compileSchema(SCHEMAS[`${dialect}-response`]).check(told), [], dialect)
    }
  })

  it('shows how the effect stands by now, what undoes it, and why that did not', () => {
    const failure = createFailure('compensation-failed', { message: 'not any more' })
    const tried = { tool: 'crm.undo', operation: 'invoke', scope: 's', key: 'k' }
    const caller = { actor: 'a', namespace: 'default', roles: [], permissions: [], admin: false }
    const compensation = { callId: 'c-2', tries: 1, failure, caller, ...tried }
    const entry = { state: 'compensation-failed', compensation } as const
    const resource = encodeCallResource({ ...record, entry })
    assert.deepEqual(schema.check(resource), [])
    assert.equal(resource.entry_state, 'compensation-failed')
    const shown = resource.compensation as { call_id: string; error: { failure: string; message: string } }
    assert.deepEqual([shown.call_id, shown.error.failure], ['c-2', 'compensation-failed'])
    assert.equal(JSON.stringify(resource).includes('"scope"'), false)
  })

  it('shows an ended call with its envelope in its dialect', () => {
    for (const dialect of DIALECT_NAMES) {
      const ended = {
        ...record,
        dialect,
        state: 'succeeded',
        effect: 'done',
        endedAt: 1_700_000_000_500,
        entryId: 'en',
      }
      const resource = encodeCallResource({ ...ended, answer: anAnswer() } as CallRecord)
      assert.deepEqual(schema.check(resource), [])
      assert.partialDeepStrictEqual(resource, {
        final: true,
        entry_id: 'en',
        tool: { name: 'crm.update', version: '1.4.2', digest: 'sha256:ab' },
        answer: { status: dialect === 'v1' ? 'ok' : 'success' },
      })
    }
  })

  it('shows what a call waits for', () => {
    const failure = createFailure('approval-pending')
    const answer = anAnswer({ state: 'awaiting-approval', final: false, effect: 'pending', failure })
    const resource = encodeCallResource({ ...record, state: 'awaiting-approval', answer })
    assert.partialDeepStrictEqual(resource, { final: false, answer: { error: { code: 'approval_pending' } } })
  })
})
