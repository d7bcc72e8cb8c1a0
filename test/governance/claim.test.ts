// What a request says about who is calling is compared with the token, never trusted.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallerIdentity, createCaller, createLocalAdmin } from '../../src/contract/caller.ts'
import { claimMismatch } from '../../src/governance/claim.ts'

const caller = (kind: CallerIdentity['kind'], agents?: readonly string[]) =>
  createCaller({ actor: 'me', ...(kind && { kind }), ...(agents && { agents }) })

/** [kind, agents, claim, whether it holds] */
const TABLE: [CallerIdentity['kind'], string[] | undefined, { agent?: string; actor?: string }, boolean][] = [
  ['agent', undefined, {}, true],
  ['agent', undefined, { agent: 'me' }, true],
  ['agent', undefined, { agent: 'you' }, false],
  ['agent', ['you', '*'], { agent: 'you' }, false],
  ['agent', undefined, { actor: 'me' }, true],
  ['agent', undefined, { actor: 'you' }, false],
  ['service', undefined, { agent: 'me' }, true],
  ['service', undefined, { agent: 'you' }, false],
  ['service', ['you'], { agent: 'you' }, true],
  ['service', ['worker-*'], { agent: 'worker-7' }, true],
  ['service', ['worker-*'], { agent: 'worker' }, false],
  ['service', ['worker-*'], { agent: 'Worker-7' }, false],
  ['service', ['*'], { agent: 'anybody' }, true],
  ['service', [], { agent: 'you' }, false],
  ['service', ['you'], { actor: 'you' }, true],
  ['service', undefined, { actor: 'you' }, false],
  ['service', ['you'], { agent: 'you', actor: 'him' }, false],
  ['person', undefined, { agent: 'me' }, false],
  ['person', undefined, { actor: 'me' }, true],
  ['person', ['you'], { agent: 'you' }, true],
  ['person', undefined, { agent: 'you' }, false],
  [undefined, undefined, { agent: 'you' }, false],
]

describe('the claims of a request', () => {
  for (const [kind, agents, claims, holds] of TABLE) {
    it(`${kind ?? 'unnamed kind'} ${agents ? `for ${agents} ` : ''}${JSON.stringify(claims)}: ${holds}`, () => {
      assert.equal(claimMismatch(caller(kind, agents), claims) === undefined, holds)
    })
  }

  it('of the local admin may be any', () => {
    assert.equal(claimMismatch(createLocalAdmin(), { agent: 'x', actor: 'y' }), undefined)
  })
})
