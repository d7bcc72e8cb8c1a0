// A person who watches approvals sees the list as it is; a server that is away for a moment is waited for.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { watchApprovals } from '../../src/cli/watch-approvals.ts'
import type { ApprovalPage } from '../../src/client/approvals.ts'
import { ClientError } from '../../src/client/client-error.ts'
import { createRecordingTerminal, type RecordingTerminal } from './recording-terminal.ts'

const EMPTY: ApprovalPage = { approvals: [], next_cursor: null }

/** Stops by itself once `list` was asked often enough. */
async function watch(lists: readonly (() => Promise<ApprovalPage>)[]): Promise<RecordingTerminal> {
  const terminal = createRecordingTerminal({ outIsTty: true })
  const listeners: (() => void)[] = []
  const stoppable = {
    ...terminal,
    onStop(listener: () => void) {
      listeners.push(listener)
      return () => {}
    },
  }
  let asked = 0
  await watchApprovals(stoppable as unknown as RecordingTerminal, false, () => {
    const list = lists[asked++]
    if (asked >= lists.length) for (const stop of listeners) stop()
    return list === undefined ? Promise.resolve(EMPTY) : list()
  })
  return terminal
}

const away = () => Promise.reject(new ClientError('no Writ server', { kind: 'unreachable', retryable: true }))

describe('watching approvals', () => {
  it('draws the list anew each time', async () => {
    const { written } = await watch([async () => EMPTY, async () => EMPTY])
    assert.equal(written.out.split('\u001b[2J').length - 1, 2)
    assert.match(written.out, /Nothing waits\.[\s\S]*Ctrl-C ends this\./)
  })

  it('says once that the server is away, and goes on when it is back', async () => {
    const { written } = await watch([away, away, async () => EMPTY])
    assert.equal(written.err, 'no Writ server; trying again\n')
    assert.match(written.out, /Nothing waits/)
  })

  it('ends where it is refused', async () => {
    const refused = () =>
      Promise.reject(new ClientError('lacks approval:read', { kind: 'refused', status: 403 }))
    await assert.rejects(watch([refused, refused]), /lacks approval:read/)
  })
})
