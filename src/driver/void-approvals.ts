// Ends what waits for approval of a build that is no longer there: nobody is left to agree to something that cannot run.
import { createFailure } from '../contract/projection.ts'
import { endWaiting } from '../pipeline/end-waiting.ts'
import type { DriverKit } from './timers.ts'

const PAGE = 100

/** Those of a tool whose build is not live any more. What changes meanwhile is left to whoever changed it. */
export async function voidApprovals(namespace: string, tool: string, kit: DriverKit): Promise<void> {
  let before: string | undefined
  for (;;) {
    const page = await kit.store.approvals.list({
      namespace,
      tool,
      states: ['pending', 'approved'],
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    })
    for (const approval of page) {
      const entry = await kit.store.entries.get(namespace, approval.entryId)
      if (entry?.state !== 'awaiting-approval' || entry.approvalId !== approval.id) continue
      if (kit.catalog.pinned(namespace, tool, entry.digest) !== undefined) continue
      const failure = createFailure('approval-stale', {
        message: 'the build that was to be approved is no longer here',
        details: { approval_id: approval.id, changed: ['tool version'] },
      })
      await endWaiting(entry, approval, { state: 'stale', failure }, kit)
    }
    before = page.at(-1)?.id
    if (page.length < PAGE) return
  }
}
