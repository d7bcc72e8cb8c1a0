// Stops as they are kept: what cannot be read of one never makes it weaker.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readStop, type Stop, stopBody, stopsGuard } from '../../src/contract/stop.ts'
import { stopFacts } from '../../src/pipeline/permit.ts'

const REVOKED: Stop = {
  namespace: 'default',
  name: 'tokens:agent-7',
  kind: 'revocation',
  reason: 'leaked',
  by: 'ann',
  at: 1_000,
  inFlight: 'end',
  before: 1_000,
  until: 5_000,
}

describe('a stop', () => {
  it('is read as it was kept', () => {
    assert.deepEqual(readStop('default', REVOKED.name, stopBody(REVOKED)), REVOKED)
    const { before: _, until: __, ...rest } = REVOKED
    const frozen: Stop = { ...rest, name: 'tool:pay', kind: 'freeze' }
    assert.deepEqual(readStop('default', 'tool:pay', stopBody(frozen)), frozen)
  })

  for (const broken of [{}, { kind: 'freeze' }, { reason: 7 }, { at: 'noon' }, { kind: undefined }]) {
    it(`of tokens that is damaged stays a revocation, for every token and for good: ${JSON.stringify(broken)}`, () => {
      const body = Object.keys(broken).length === 0 ? {} : { ...stopBody(REVOKED), ...broken }
      const stop = readStop('default', REVOKED.name, body as ReturnType<typeof stopBody>)
      assert.deepEqual([stop.kind, stop.damaged], ['revocation', true])
      assert.equal(stopsGuard(stop, { stop: REVOKED.name, issuedAt: 4_000 }, 9_000), true)
      const [failure, { message, details }] = stopFacts(stop)
      assert.deepEqual([failure, details?.code], ['permission-denied', 'token-revoked'])
      assert.match(message ?? '', /damaged/)
    })
  }

  it('that froze something and is damaged stays a freeze, and says so', () => {
    const stop = readStop('default', 'tool:pay', { kind: 'revocation', reason: 'x' })
    assert.deepEqual([stop.kind, stop.damaged], ['freeze', true])
    const [failure, { message }] = stopFacts(stop)
    assert.equal(failure, 'frozen')
    assert.match(message ?? '', /tool pay is stopped: its record is damaged/)
  })

  it('keeps no word of the damage when it is written again', () => {
    const stop = readStop('default', 'tool:pay', {})
    assert.equal('damaged' in stopBody(stop), false)
  })
})
