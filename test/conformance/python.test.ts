// examples/python-service, as a user would run it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it, type TestContext } from 'node:test'
import { createEndpointSubject } from '../../src/conformance/create-subject.ts'
import { runConformance } from '../../src/conformance/run-conformance.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'examples', 'python-service')

/** Its address, or undefined where there is no Python. */
async function startPython(t: TestContext): Promise<string | undefined> {
  const child = spawn('python3', [join(FOLDER, 'service.py'), '0'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const started = await once(child, 'spawn').then(
    () => true,
    () => false,
  )
  if (!started) return undefined
  t.after(async () => {
    child.kill()
    await ended
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  return String(line).replace('listening on ', '')
}

it('the Python example has at most 60 lines and nothing but the standard library', () => {
  const text = readFileSync(join(FOLDER, 'service.py'), 'utf8')
  assert.ok(text.trimEnd().split('\n').length <= 60)
  const imported = [...text.matchAll(/^(?:from (\S+) )?import (.*)$/gm)].flatMap(([, from, names = '']) => {
    return from === undefined ? names.split(',').map((name) => name.trim()) : [from]
  })
  assert.deepEqual(imported.sort(), ['contextlib', 'http.server', 'json', 'sys', 'threading', 'time'])
})

it('the Python example fails nothing, and leaves untested only what cannot be seen from outside', async (t) => {
  const url = await startPython(t)
  if (url === undefined) {
    t.skip('python3 is not installed; install it (apt-get install python3) to run this test')
    return
  }
  const subject = await createEndpointSubject(url)
  try {
    const report = await runConformance(subject)
    const notPassed = report.requirements.filter(
      ({ status }) => status === 'failed' || status === 'not-tested',
    )
    assert.deepEqual(
      notPassed.map(({ id, status }) => [id, status]),
      [
        ['C4.1', 'not-tested'],
        ['C4.4', 'not-tested'],
      ],
      JSON.stringify(notPassed, null, 2),
    )
  } finally {
    await subject.close()
  }
  const answer = await fetch(url, { method: 'POST', body: 'no envelope' })
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /not an envelope/)
})
