import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatProblem, readManifests } from '../../src/resource/manifest.ts'
import { planApply } from '../../src/resource/plan-apply.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { PRODUCTION } from './support.ts'

/** Held to the strictest profile: an example must not need an excuse. */
function example(name: string): ResolvedTool {
  const path = join(import.meta.dirname, '..', '..', 'examples', name)
  const { documents, problems } = readManifests(readFileSync(path), name)
  const plan = planApply([], documents, PRODUCTION)
  assert.deepEqual([...problems, ...plan.problems].map(formatProblem), [])
  assert.equal(plan.tools.length, 1)
  return plan.tools[0] as ResolvedTool
}

test('the read-only contract in the words of 001 is valid, and can be called', () => {
  const tool = example('tool-contract-read-only.yaml')
  assert.deepEqual(
    [tool.name, tool.version, tool.owner, tool.type],
    ['customer-directory.lookup', '1.2.0', 'customer-data-team', 'http'],
  )
  assert.deepEqual(tool.unenforced, [])
  const { invoke } = tool.operations
  assert.deepEqual([invoke?.effect.class, invoke?.effect.repeat], ['read-only', 'read'])
  assert.deepEqual(invoke?.retry, { maxAttempts: 3, backoffMs: 200, maxBackoffMs: 2_000, jitter: 'full' })
  assert.deepEqual(
    [invoke?.timeoutMs, tool.limits.concurrency, tool.limits.rate],
    [5_000, 16, { max: 50, perMs: 1_000 }],
  )
  assert.deepEqual(
    invoke?.approvalTriggers.map((trigger) => trigger.field),
    ['/history_days', '/purpose'],
  )
  assert.deepEqual(invoke?.harmlessErrors, ['input.invalid', 'dependency.unavailable'])
  assert.deepEqual(
    [tool.permissionClass, tool.dataClassification, tool.auditStrict],
    ['customer-data', 'confidential', true],
  )
  assert.deepEqual(tool.auditFields, ['/customer_id', '/purpose'])
})

test('the reversible write is valid, and can be called', () => {
  const tool = example('tool-contract-reversible-write.yaml')
  assert.deepEqual(tool.unenforced, [])
  const { assign, unassign, status } = tool.operations
  assert.deepEqual(
    [assign, unassign, status].map((operation) => [
      operation?.effect.class,
      operation?.effect.repeat,
      operation?.classes[0],
    ]),
    [
      ['reversible-write', 'keyed', 'write'],
      ['reversible-write', 'natural', 'write'],
      ['read-only', 'read', 'read'],
    ],
  )
  assert.deepEqual(assign?.effect.identity, {
    fields: ['/assignee', '/ticket_id'],
    windowMs: 3_600_000,
    onRepeat: 'block',
  })
  assert.deepEqual(assign?.effect.keyed, {
    header: 'Idempotency-Key',
    retentionMs: 86_400_000,
    scope: 'tool',
  })
  assert.deepEqual(unassign?.inputSchema, assign?.inputSchema)
  assert.deepEqual([assign?.timeoutMs, status?.timeoutMs, assign?.timeoutMaxMs], [10_000, 2_000, 40_000])
  assert.deepEqual(assign?.harmlessErrors, ['conflict'])
})
