// The JUnit file: well-formed whatever a tool says, with a test for each requirement.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { toJunit } from '../../src/conformance/junit.ts'
import type { Report, RequirementReport, Status } from '../../src/conformance/report.ts'
import { GROUPS, REQUIREMENTS } from '../../src/conformance/requirements.ts'
import { parseXml, withoutForbidden } from './xml.ts'

function reportOf(status: Status, reasons: readonly string[], subject = 'native'): Report {
  const requirements = REQUIREMENTS.map((one): RequirementReport => {
    return { ...one, status, reasons, checks: 1, cases: ['a/case'], durationMs: 12 }
  })
  const count = (other: Status) => (other === status ? requirements.length : 0)
  return {
    subject,
    startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    durationMs: 1234,
    ready: status === 'passed',
    counts: {
      passed: count('passed'),
      limited: count('limited'),
      'not-tested': count('not-tested'),
      failed: count('failed'),
    },
    operations: {
      echo: { state: 'offered', why: '' },
      sleep: { state: 'offered', why: '' },
      fail: { state: 'offered', why: '' },
      count: { state: 'offered', why: '' },
    },
    groups: GROUPS.map((group) => ({ ...group, status, passed: 0, total: 1 })),
    requirements,
  }
}

describe('toJunit', () => {
  it('gives a suite for each group and a test for each requirement', () => {
    const root = parseXml(toJunit(reportOf('passed', [])))
    assert.equal(root.name, 'testsuites')
    assert.equal(root.attributes.tests, String(REQUIREMENTS.length))
    assert.equal(root.attributes.time, '1.234')
    assert.deepEqual(
      root.children.map(({ attributes }) => attributes.name),
      GROUPS.map(({ id, title }) => `${id} ${title}`),
    )
    const tests = root.children.flatMap(({ children }) => children)
    assert.deepEqual(
      tests.map(({ attributes }) => attributes.name),
      REQUIREMENTS.map(({ id, text }) => `${id} ${text}`),
    )
    assert.ok(tests.every(({ children }) => children.length === 0))
    assert.equal(root.children[0]?.attributes.timestamp, '2026-01-02T03:04:05')
  })

  it('shows failures, what was not tested and what is limited, each in its own way', () => {
    const first = (status: Status) => {
      const root = parseXml(toJunit(reportOf(status, ['one <reason>', 'another & "more"'])))
      return { root, inside: root.children[0]?.children[0]?.children[0] }
    }
    const failed = first('failed')
    assert.equal(failed.root.attributes.failures, String(REQUIREMENTS.length))
    assert.equal(failed.inside?.name, 'failure')
    assert.equal(failed.inside?.attributes.message, 'one <reason>')
    assert.equal(failed.inside?.text, 'one <reason>\nanother & "more"')
    const untested = first('not-tested')
    assert.equal(untested.root.attributes.skipped, String(REQUIREMENTS.length))
    assert.equal(untested.inside?.name, 'skipped')
    assert.equal(untested.inside?.attributes.message, 'one <reason>\nanother & "more"')
    const limited = first('limited')
    assert.equal(limited.root.attributes.failures, '0')
    assert.equal(limited.inside?.text, 'limited: one <reason>\nanother & "more"')
  })

  it('is well-formed for every text, and keeps it where XML can', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const root = parseXml(toJunit(reportOf('failed', [text], text)))
        const failure = root.children[0]?.children[0]?.children[0]
        const kept = withoutForbidden(text)
        assert.equal(failure?.text, kept)
        assert.equal(failure?.attributes.message, kept)
      }),
      { numRuns: 200 },
    )
  })
})
