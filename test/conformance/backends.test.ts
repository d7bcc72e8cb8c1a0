// Every backend of this build, through the real code.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { BACKEND_NAMES, loadBackend } from '../../src/conformance/backend/registry.ts'
import { createSubject } from '../../src/conformance/create-subject.ts'
import { REQUIREMENTS } from '../../src/conformance/requirements.ts'
import { runConformance } from '../../src/conformance/run-conformance.ts'
import { builtTypes } from '../../src/transport/registry.ts'

// Other tests run at the same time: what is left behind shows only in a folder of our own.
process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'writ-test-'))
after(() => rmSync(tmpdir(), { recursive: true }))

it('every transport of this build is a backend of the suite', () => {
  // MCP has two ways to its servers, and each is one to be tested.
  const types = new Set(BACKEND_NAMES.map((name) => (name.startsWith('mcp-') ? 'mcp' : name)))
  assert.deepEqual([...types].sort(), [...builtTypes].sort())
})

for (const name of BACKEND_NAMES) {
  describe(`the ${name} backend`, () => {
    for (const store of ['memory', 'sqlite'] as const) {
      it(`meets every requirement but its known limitations, on ${store}`, async () => {
        const { limitations } = await loadBackend(name)
        const subject = await createSubject(name, { store })
        try {
          const report = await runConformance(subject)
          const expected = REQUIREMENTS.map(({ id }) => [id, limitations[id] ? 'limited' : 'passed'])
          const reasons = report.requirements.flatMap((one) => one.reasons).join('\n')
          assert.deepEqual(
            report.requirements.map(({ id, status }) => [id, status]),
            expected,
            reasons,
          )
          assert.equal(report.subject, name)
          for (const { id, checks } of report.requirements) assert.ok(checks > 0, `${id} was checked`)
        } finally {
          await subject.close()
        }
      })
    }
  })
}

for (const name of ['http', 'mcp-stdio'] as const) {
  it(`a subject of ${name} leaves no folder, no socket and no program behind`, async () => {
    assert.deepEqual(readdirSync(tmpdir()), [])
    const subject = await createSubject(name, { store: 'sqlite' })
    assert.equal(readdirSync(tmpdir()).length, 1)
    const other = await subject.reborn()
    await subject.start({ request_id: 'one', tool: { name: 'conformance-echo', operation: 'echo' } }).answer()
    assert.equal(other.name, name)
    await subject.close()
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(readdirSync(tmpdir()), [])
    assert.deepEqual(
      process.getActiveResourcesInfo().filter((resource) => /^(?:TCP|Process)/.test(resource)),
      [],
    )
  })
}

it('a subject refuses a timeout that its cases cannot work with', async () => {
  for (const timeoutMs of [0, 499, 10_001, Number.NaN]) {
    await assert.rejects(createSubject('native', { timeoutMs }), /timeoutMs must be from 500 to 10000/)
  }
})
