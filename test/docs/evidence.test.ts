// The reference page of evidence says what a real runtime writes, field by field.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { EVIDENCE_TYPES } from '../../src/contract/evidence.ts'
import { FAULT_KINDS } from '../../src/ledger/audit-fault.ts'
import type { RecordLine } from '../../src/ledger/audit-line.ts'
import { createRuntime } from '../../src/runtime.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { readPointer } from '../../src/util/pointer.ts'
import { collect } from '../ledger/audit-fixture.ts'
import { EVERYTHING, READ, steeredTool, WRITE } from '../pipeline/harness.ts'
import { makeEntry, newLife } from '../store/fixture.ts'
import { textOf } from './guide.ts'

const page = textOf('docs/reference/evidence.md')

/** The rows of the table between two marks, cell by cell. */
function table(mark: string): string[][] {
  const [, text = ''] = new RegExp(`<!-- ${mark} -->([^]*)<!-- /${mark} -->`).exec(page) ?? []
  const rows = text
    .trim()
    .split('\n')
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  return rows.slice(2)
}

const FIELDS =
  'evidenceVersion eventId requestId correlationId traceId sequence occurredAtUtc eventType actorRef tenantRef ' +
  'contractVersions contextRefs modelRoute toolInvocations policyDecisions approvals sideEffects changedResources ' +
  'failures retries recoverySteps evaluationResults finalOutputRef redaction retentionPolicy'

const DECISION_FIELDS =
  'policyId policyVersion decisionId requestId evaluatedAtUtc scope inputs decision reasonCodes requiredApprovals ' +
  'approvalAuthority expiresAtUtc overridePolicy evidenceRefs redaction reviewPath'

/** What a runtime writes when everything that the table names has happened. */
async function everything(): Promise<RecordLine[]> {
  const data = createMemoryData()
  const before = newLife()
  const earlier = await createMemoryStore({ world: before, data })
  await earlier.ledger.intend({ namespace: 'default', entry: { kind: 'insert', entry: makeEntry(before) } })
  await earlier.close()

  const world = newLife()
  const good = steeredTool('good', { ...WRITE, audit_fields: ['/to'] })
  const bad = steeredTool('bad', WRITE)
  bad.behave(() => {
    throw new Error('no')
  })
  const flaky = steeredTool('flaky', { ...READ, runtime: { retry: { max_attempts: 2, backoff: '1ms' } } })
  flaky.behave(() => {
    throw new Error('no')
  })
  const asking = steeredTool('asking', { ...WRITE, approval_triggers: [{ field: '/to', op: 'exists' }] })
  const runtime = await createRuntime({
    world,
    store: { kind: 'given', store: await createMemoryStore({ world, data }) },
    tools: [good, bad, flaky, asking].map(({ definition }) => definition),
    onWarning: () => {},
  })
  try {
    const text =
      'apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: remote}\nspec: {endpoint: "http://127.0.0.1:1/", operation_classes: [read]}\n'
    const applied = await runtime.resources.apply([{ file: 'tool.yaml', text: Buffer.from(text) }])
    assert.ok(applied.ok, JSON.stringify(applied.problems))
    const door = runtime.as({ actor: 'agent-a', permissions: EVERYTHING })
    for (const tool of ['good', 'bad', 'flaky', 'asking']) {
      await door.call({ tool, input: { to: 'somebody' }, idempotencyKey: tool })
    }
    await runtime.as({ actor: 'nobody' }).call({ tool: 'good', input: {}, idempotencyKey: 'other' })
    const lines = (await collect(runtime.audit.export())).map((line) => JSON.parse(line))
    return lines.filter(({ kind }) => kind === 'record')
  } finally {
    await runtime.close()
  }
}

/** `column`, or a path in the body of a type of record. */
function assertFound(place: string, records: readonly RecordLine[]): void {
  const column = /^column `(\w+)`$/.exec(place)?.[1]
  if (column !== undefined) {
    assert.ok(records.every((record) => column in record))
    return
  }
  const [, path, type] = /^`([\w/]+)` of `([\w.-]+)`$/.exec(place) ?? []
  assert.ok(path && type, `${place} is not understood`)
  const bodies = records.filter((record) => record.type === type).map(({ body }) => JSON.parse(body))
  const types = [...new Set(records.map((record) => record.type))].join(', ')
  assert.ok(bodies.length > 0, `there is no ${type} among ${types}`)
  assert.ok(
    bodies.some((body) => readPointer(body, `/${path}`) !== undefined),
    `${path} is in no ${type}: ${JSON.stringify(bodies[0])}`,
  )
}

describe('docs/reference/evidence.md', () => {
  let records: RecordLine[]
  before(async () => {
    records = await everything()
  })

  it('has all 25 fields, and no other', () => {
    assert.deepEqual(
      table('fields').map(([name]) => name),
      FIELDS.split(' '),
    )
  })

  for (const [name = '', where = '', what = ''] of table('fields')) {
    it(`S39: says where ${name} is found, or why it is not`, () => {
      if (where === 'none') {
        assert.notEqual(what, '', 'a field that is not there needs a reason')
        return
      }
      for (const place of where.split(', ')) assertFound(place, records)
    })
  }

  it('has all 16 fields of a decision, and no other', () => {
    assert.deepEqual(
      table('decision').map(([name]) => name),
      DECISION_FIELDS.split(' '),
    )
  })

  for (const [name = '', where = '', otherwise = ''] of table('decision')) {
    it(`B3: says where ${name} of a decision is found`, () => {
      const places = where.split(', ')
      if (name !== 'overridePolicy') for (const place of places) assertFound(place, records)
      // What is left out where it says nothing has a word for that, and the others are always there.
      const [, field] = /^`decision\/(\w+)`/.exec(places[0] ?? '') ?? []
      if (field === undefined || otherwise !== 'always') return
      for (const { body } of records) {
        const { decision } = JSON.parse(body)
        if (decision !== undefined) assert.ok(field in decision, `${field} is not in ${body}`)
      }
    })
  }

  it('lists every type of record, and a runtime writes no other', () => {
    assert.deepEqual(
      table('types'),
      Object.entries(EVIDENCE_TYPES).map(([type, meaning]) => [`\`${type}\``, meaning]),
    )
    const unknown = records.filter(({ type }) => !Object.hasOwn(EVIDENCE_TYPES, type))
    assert.deepEqual(unknown, [])
  })

  it('lists every kind of fault', () => {
    assert.deepEqual(
      table('faults'),
      Object.entries(FAULT_KINDS).map(([kind, meaning]) => [`\`${kind}\``, meaning]),
    )
  })
})
