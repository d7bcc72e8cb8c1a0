// The runner: bounded, and never kinder than what was checked.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Case } from '../../src/conformance/case.ts'
import { createEndpointSubject, createSubject, SubjectRefused } from '../../src/conformance/create-subject.ts'
import { NothingToTest } from '../../src/conformance/probe.ts'
import type { RequirementId } from '../../src/conformance/requirements.ts'
import { RunStopped, runConformance } from '../../src/conformance/run-conformance.ts'
import type { Subject } from '../../src/conformance/subject.ts'
import { Abort } from '../../src/util/abort.ts'
import { startService, unsupported } from './service.ts'

const caseOf = (run: Case['run'], requirements: readonly RequirementId[] = ['C1.1'], id = 'a/case'): Case => {
  return { id, title: id, requirements, run }
}
const forever = () => new Promise<never>(() => {})

describe('runConformance', () => {
  let subject: Subject
  before(async () => {
    subject = await createSubject('native')
  })
  after(() => subject.close())

  const verdictOf = async (cases: readonly Case[], options = {}) => {
    const report = await runConformance(subject, { cases, ...options })
    return report.requirements.find(({ id }) => id === 'C1.1')
  }

  it('fails a requirement whose case checked nothing', async () => {
    const verdict = await verdictOf([caseOf(async () => {})])
    assert.equal(verdict?.status, 'failed')
    assert.deepEqual(verdict?.reasons, ['a/case: nothing was checked'])
  })

  it('fails a requirement whose case broke off, and keeps what it had found', async () => {
    const verdict = await verdictOf([
      caseOf(async (_subject, check) => {
        check.equal('C1.1', 'a number', 1, 2)
        throw new Error('out of order')
      }),
    ])
    assert.deepEqual(verdict?.reasons, [
      'a/case: a number: expected 2, seen 1',
      'a/case: broke off: out of order',
    ])
  })

  it('fails a case that checks what it does not declare', async () => {
    const verdict = await verdictOf([caseOf(async (_subject, check) => void check.that('C1.2', 'x', true))])
    assert.match(verdict?.reasons.join() ?? '', /does not declare C1.2/)
  })

  it('does not wait for ever for a case, nor for all of them', async () => {
    const began = performance.now()
    const one = await verdictOf([caseOf(forever)], { caseMs: 40 })
    assert.deepEqual(one?.reasons, ['a/case: did not end within 40 ms'])
    const all = await verdictOf([caseOf(forever), caseOf(forever, ['C1.1'], 'a/later')], {
      caseMs: 5_000,
      totalMs: 1_500,
    })
    assert.equal(all?.status, 'failed')
    assert.match(all?.reasons.at(-1) ?? '', /^a\/later: not reached: the time of the run was used up$/)
    assert.ok(performance.now() - began < 5_000 + 1_500)
  })

  it('leaves untested what no case is left for', async () => {
    assert.equal((await verdictOf([]))?.status, 'not-tested')
  })

  it('ends when it is told to', async () => {
    const stop = new Abort()
    const run = runConformance(subject, { stop, cases: [caseOf(forever)] })
    setTimeout(() => stop.abort('canceled'), 30)
    await assert.rejects(run, RunStopped)
  })
})

describe('a service', () => {
  it('that nobody runs gives no report', async () => {
    const service = await startService()
    await service.close()
    const subject = await createEndpointSubject(service.url)
    try {
      await assert.rejects(runConformance(subject), (error) => {
        assert.ok(error instanceof NothingToTest)
        assert.match(error.message, /cannot be reached$/)
        assert.equal(error.reasons.length, 4)
        return true
      })
    } finally {
      await subject.close()
    }
  })

  it('that offers no operation gives no report', async () => {
    const service = await startService(async (asked) => unsupported(asked))
    const subject = await createEndpointSubject(service.url)
    try {
      await assert.rejects(runConformance(subject), /offers none of the operations echo, sleep, fail, count$/)
    } finally {
      await subject.close()
      await service.close()
    }
  })

  it('at an address that no tool may have is refused', async () => {
    await assert.rejects(createEndpointSubject('http://user:password@127.0.0.1:1/'), SubjectRefused)
  })
})
