// Decisions as evidence keeps them, and the codes that they give.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { generateReasonCodesDoc, REASON_CODES_DOC } from '../../scripts/reason-codes-doc.ts'
import { decisionRecord } from '../../src/governance/decision-record.ts'
import { REASON_CODES } from '../../src/governance/reason-code.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { decisionFields } from './decision-fields.ts'
import { budget, decide, policy, rule, transform } from './support.ts'

const FACTS = { decisionId: 'd-1', at: Date.UTC(2026, 0, 2, 3, 4, 5) }

/** An evidence record that a decision is part of. */
function evidence(decision: JsonObject) {
  const body = { request_id: 'r-1', tool: 'pay', operation: 'invoke', decision }
  return { namespace: 'default', at: FACTS.at, body }
}

const SECRET = 'IBAN-of-somebody'
const set = {
  policies: [
    policy({
      rules: [
        rule('require-approval', { when: [{ field: '/to', op: 'ne', value: 'home' }] }),
        rule('escalate'),
      ],
      approval: { role: 'finance', quorum: 2, ttlMs: 60_000 },
      escalateTo: 'security',
      transforms: [transform({ kind: 'clamp', field: '/amount', max: 100 })],
      budgets: [budget({ sum: '/amount' })],
    }),
    policy({ name: 'watching', mode: 'monitor', rules: [rule('deny')] }),
  ],
}

test('A decision on record has its sixteen fields, names what was read, and holds no value of the input', () => {
  const kept = decisionRecord(decide(set, { input: { to: SECRET, amount: 123_456 } }), FACTS)
  const record = decisionFields(evidence(kept))
  assert.deepEqual(record, {
    policy_id: 'AgentPolicy/guard',
    policy_version: record.policy_version,
    decision_id: 'd-1',
    request_id: 'r-1',
    evaluated_at_utc: '2026-01-02T03:04:05.000Z',
    scope: { namespace: 'default', tool: 'pay', operation: 'invoke' },
    inputs: ['/to', '/amount'],
    decision: 'escalate',
    reason_codes: [
      'policy-escalated',
      'policy-approval',
      'input-clamped',
      'permitted',
      'monitored:policy-denied',
    ],
    required_approvals: [
      { role: 'finance', quorum: 2, escalated: false },
      { role: 'security', quorum: 2, escalated: true },
    ],
    approval_authority: ['finance', 'security'],
    expires_at_utc: '2026-01-02T03:05:05.000Z',
    override_policy: null,
    evidence_refs: record.evidence_refs,
    redaction: 'names-only',
    review_path: 'escalation',
  })
  assert.equal(Object.keys(record).length, 16)
  assert.match(String(record.policy_version), /^[\w-]{16}$/)
  assert.ok((record.evidence_refs as string[]).includes('AgentPolicy/guard@1-guard#rules[1]'))
  assert.doesNotMatch(JSON.stringify(record), /IBAN|123456/)
})

test('A decision that nobody has to agree to expires nowhere; an override names what it overrides', () => {
  const kept = decisionRecord(decide({}), { ...FACTS, overrides: 'd-0', evidenceRefs: ['grant:g-1'] })
  const record = decisionFields(evidence(kept))
  assert.equal(Object.keys(record).length, 16)
  assert.deepEqual([record.decision, record.expires_at_utc, record.review_path], ['allow', null, 'none'])
  assert.deepEqual([record.approval_authority, record.required_approvals], [[], []])
  assert.equal(record.override_policy, 'd-0')
  assert.ok((record.evidence_refs as string[]).includes('grant:g-1'))
})

test('A decision repeats nothing that its evidence record has, and has no field that says nothing', () => {
  const kept = decisionRecord(decide({}), FACTS)
  const names = 'policy_id policy_version decision_id decision reason_codes evidence_refs redaction'
  assert.deepEqual(Object.keys(kept), names.split(' '))
  assert.equal(decisionRecord(decide({}), { ...FACTS, requestId: 'r-2' }).request_id, 'r-2')
})

test('What an earlier version kept, with all sixteen fields in the decision, reads the same', () => {
  const fields = decisionFields(evidence(decisionRecord(decide(set), FACTS)))
  const { at } = FACTS
  assert.deepEqual(decisionFields({ namespace: 'default', at, body: { decision: fields } }), fields)
})

test('docs/reference/reason-codes.md is what the table says', () => {
  assert.equal(readFileSync(REASON_CODES_DOC, 'utf8'), generateReasonCodesDoc())
})

test('Codes are words in kebab-case, each with a sentence', () => {
  for (const [code, sentence] of Object.entries(REASON_CODES)) {
    assert.match(code, /^[a-z]+(-[a-z]+)*$/)
    assert.match(sentence, /^[A-Z].*\.$/)
  }
})
