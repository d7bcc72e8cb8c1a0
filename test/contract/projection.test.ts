// What a caller is told to do, by what is known of the effect.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EFFECT_STATES } from '../../src/contract/effect.ts'
import { FAILURE_IDS, failureRow } from '../../src/contract/failures.ts'
import { createFailure, fixOf, wireDetailsOf } from '../../src/contract/projection.ts'
import { anAnswer } from './support.ts'

const AGAIN = /send it again|retry|try again/i

describe('the fix of a failure', () => {
  it('never advises to send again while it may have happened and a repeat could do harm', () => {
    for (const id of FAILURE_IDS) {
      // Not even where the case brought a hint of its own.
      for (const more of [{}, { fix: 'Retry at once.' }]) {
        const failure = createFailure(id, { harmless: false, ...more })
        assert.equal(failure.retryable, false, id)
        const fix = fixOf(failure, 'unknown')
        assert.match(fix, /find out .*from the tool/, id)
        assert.doesNotMatch(fix.replace('do not send it again until you know', ''), AGAIN, id)
      }
    }
  })

  it('S22: advises a repeat with the same key where the effect is unknown and a repeat is harmless', () => {
    const failure = createFailure('upstream-error', { harmless: true })
    assert.equal(failure.retryable, true)
    assert.match(fixOf(failure, 'unknown'), /repeat is harmless: send it again with the same key/)
    const own = createFailure('timeout', { harmless: true, fix: 'Retry with the same key and more time.' })
    assert.equal(fixOf(own, 'unknown'), 'Retry with the same key and more time.')
  })

  it('S27: where the tool is being asked, nobody is told to find out, unless the effect is known after all', () => {
    for (const id of ['timeout-unknown-commit', 'commit-unknown', 'outcome-unknown'] as const) {
      const failure = createFailure(id, { harmless: false, asking: true })
      assert.match(fixOf(failure, 'unknown'), /the tool is being asked: wait/, id)
      assert.doesNotMatch(fixOf(failure, 'not-done'), /being asked/, id)
      assert.match(fixOf(createFailure(id, { harmless: false }), 'unknown'), /find out/, id)
    }
  })

  it('says that nothing happened where that is so', () => {
    for (const id of ['interrupted', 'timeout-unknown-commit', 'callback-timeout', 'canceled'] as const) {
      for (const effect of ['none', 'not-done'] as const) {
        assert.match(fixOf(createFailure(id), effect), /^Nothing happened: send it again/, id)
      }
    }
  })

  it('S16: asks for a new key where the old one keeps its answer', () => {
    for (const id of ['timeout-unknown-commit', 'callback-timeout', 'canceled'] as const) {
      assert.equal(createFailure(id).retryable, false, id)
      assert.match(fixOf(createFailure(id), 'not-done'), /new key/, id)
    }
  })

  it('S10: says that the call goes on where only this caller has left it', () => {
    assert.match(fixOf(createFailure('canceled'), 'pending'), /goes on/)
    const { fix } = failureRow('approval-pending')
    assert.equal(fixOf(createFailure('approval-pending'), 'pending'), fix)
  })

  it('is that of the case where one was given, on the wire too, and is not part of the details', () => {
    const failure = createFailure('isolation-unavailable', { fix: 'Declare isolation_mode none.' })
    assert.deepEqual(failure.details, {})
    for (const effect of EFFECT_STATES.filter((one) => one !== 'unknown')) {
      assert.equal(
        wireDetailsOf(anAnswer({ failure, effect }), failure).fix,
        'Declare isolation_mode none.',
        effect,
      )
    }
    assert.ok(!('fix' in createFailure('isolation-unavailable')))
  })

  it('promises nothing that a runtime may not have: no command, no store of secrets, no backend to install', () => {
    for (const id of FAILURE_IDS) {
      const { fix, fixUnknown = '' } = failureRow(id)
      assert.doesNotMatch(`${fix} ${fixUnknown}`, /create the secret|install|quarantine|thaw it/i, id)
    }
  })

  it('points at a time to wait for only where there is one', () => {
    for (const id of ['upstream-throttled', 'tool-unhealthy'] as const) {
      assert.match(failureRow(id).fix, /details\.retry_after_ms where it is given/, id)
    }
  })
})
