// The suite on implementations that are wrong on purpose: it must say exactly what is wrong with them.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEndpointSubject, createSubject } from '../../src/conformance/create-subject.ts'
import type { Report } from '../../src/conformance/report.ts'
import { REQUIREMENTS } from '../../src/conformance/requirements.ts'
import { runConformance } from '../../src/conformance/run-conformance.ts'
import { createMutant } from './mutant/mutant.ts'
import { MUTANTS } from './mutant/mutants.ts'
import { startService, unsupported } from './service.ts'
import { WRONG_SERVICES } from './wrong-services.ts'

/** What a tool was shown: nobody but the tool knows. */
const UNSEEN: readonly string[] = ['C4.1', 'C4.4']

function idsOf(report: Report, status: string): readonly string[] {
  return report.requirements.filter((one) => one.status === status).map(({ id }) => id)
}

function reasonsOf(report: Report): string {
  return report.requirements.flatMap(({ id, reasons }) => reasons.map((one) => `${id}: ${one}`)).join('\n')
}

describe('a service of somebody else', { concurrency: 4 }, () => {
  it('S54: that is honest fails nothing, and leaves untested only what cannot be seen from outside', async () => {
    const service = await startService()
    const subject = await createEndpointSubject(service.url)
    try {
      const report = await runConformance(subject)
      assert.deepEqual(idsOf(report, 'failed'), [], reasonsOf(report))
      assert.deepEqual(idsOf(report, 'not-tested'), UNSEEN)
      for (const id of UNSEEN)
        assert.match(reasonsOf(report), new RegExp(`${id}: what reaches the tool cannot`))
      assert.deepEqual(idsOf(report, 'limited'), Object.keys(subject.limitations).sort())
      assert.equal(report.ready, false, 'what is limited is not met')
    } finally {
      await subject.close()
      await service.close()
    }
  })

  for (const { what, breaks, twist } of WRONG_SERVICES) {
    it(`that ${what} breaks ${breaks.join(', ')}`, async () => {
      const service = await startService(twist())
      const subject = await createEndpointSubject(service.url, { timeoutMs: 1_000 })
      try {
        const report = await runConformance(subject)
        assert.deepEqual(idsOf(report, 'failed'), breaks, reasonsOf(report))
      } finally {
        await subject.close()
        await service.close()
      }
    })
  }

  for (const lacking of ['echo', 'sleep', 'fail', 'count']) {
    it(`S54: that lacks ${lacking} is not tested where that is needed, and never passed`, async () => {
      const service = await startService((asked, honest) =>
        asked.tool.operation === lacking ? Promise.resolve(unsupported(asked)) : honest(),
      )
      const subject = await createEndpointSubject(service.url)
      try {
        const report = await runConformance(subject)
        assert.deepEqual(idsOf(report, 'failed'), [], reasonsOf(report))
        const untested = report.requirements.filter(({ status }) => status === 'not-tested')
        const lost = untested.filter(({ id }) => !UNSEEN.includes(id))
        assert.ok(lost.length > 0)
        for (const { reasons } of lost) assert.match(reasons.join(), new RegExp(`not offer '${lacking}'`))
        for (const group of report.groups) {
          const some = untested.some((one) => one.group === group.id)
          assert.equal(group.status === 'not-tested', some, group.title)
        }
      } finally {
        await subject.close()
        await service.close()
      }
    })
  }
})

describe('a runtime', { concurrency: 4 }, () => {
  for (const mutant of MUTANTS) {
    it(`that ${mutant.what} breaks ${mutant.breaks.join(', ')}`, async () => {
      const subject = await createSubject(mutant.backend ?? 'native')
      try {
        const report = await runConformance(createMutant(mutant, subject))
        assert.deepEqual(idsOf(report, 'failed'), mutant.breaks, reasonsOf(report))
      } finally {
        await subject.close()
      }
    })
  }
})

it('there is something wrong for every requirement', () => {
  const broken = new Set([...MUTANTS, ...WRONG_SERVICES].flatMap(({ breaks }) => breaks))
  assert.deepEqual(
    REQUIREMENTS.map(({ id }) => id).filter((id) => !broken.has(id)),
    [],
  )
})
