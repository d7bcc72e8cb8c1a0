// Progress: for a person who waits more than a second, and for nobody else.
import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { withProgress } from '../../src/cli/progress.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

async function wait(ms: number, errIsTty: boolean, columns = 80): Promise<string> {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  try {
    let now = 0
    const clock = { now: () => now, monotonic: () => now }
    const terminal = createRecordingTerminal({ errIsTty, columns, clock })
    const work = withProgress(
      terminal,
      'calling weather',
      () => new Promise<string>((resolve) => setTimeout(resolve, ms, 'done')),
    )
    for (; now < ms; now += 100) mock.timers.tick(100)
    assert.equal(await work, 'done')
    assert.equal(terminal.written.out, '')
    return terminal.written.err
  } finally {
    mock.timers.reset()
  }
}

describe('withProgress', () => {
  it('shows one line with the time that has passed, and erases it', async () => {
    const shown = await wait(2500, true)
    assert.match(shown, /calling weather 1\.\ds/)
    assert.match(shown, /calling weather 2\.\ds/)
    assert.ok(!shown.includes('\n'))
    assert.ok(shown.endsWith('\r\u001b[2K'))
  })

  it('shows nothing for what is done within a second', async () => {
    assert.equal(await wait(900, true), '')
  })

  it('shows nothing when nobody watches', async () => {
    assert.equal(await wait(3000, false), '')
  })

  it('takes a terminal that does not tell its width for a usual one', async () => {
    assert.match(await wait(1500, true, 0), /calling weather 1\.\ds/)
  })

  it('fits on a narrow terminal', async () => {
    for (const frame of (await wait(1500, true, 10)).split('\r\u001b[2K')) assert.ok(frame.length < 10, frame)
  })

  it('erases its line and passes a failure on', async () => {
    const terminal = createRecordingTerminal({ errIsTty: true })
    await assert.rejects(
      withProgress(terminal, 'x', async () => {
        throw new Error('no')
      }),
      /no/,
    )
  })
})
